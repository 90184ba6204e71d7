/** The ratios of the last committed run, bench/last-run.json: what a row is compared with beside its baseline.
 *  It must hold ratios and figures per operation only: rates of another machine say nothing. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import * as z from 'zod';
import type { Figures } from './goals.ts';
import type { Measurement } from './measurement.ts';

const FILE = new URL('./last-run.json', import.meta.url);

const rowSchema = z.strictObject({
  fsync: z.string(),
  scenario: z.string(),
  in_flight: z.int(),
  /** To the baseline of the same run; null: the row is a baseline, or ran without it. */
  rate: z.number().nullable(),
  p50: z.number().nullable(),
  /** Microseconds of processor time of all processes, for one operation. */
  cpu_us: z.number(),
  memory_bytes: z.number(),
  file_bytes: z.number(),
});

const fileSchema = z.strictObject({
  measured: z.iso.date(),
  rows: z.array(rowSchema),
  /** Of the table of goals, by name. */
  figures: z.record(z.string(), z.number()).default({}),
});

export type LastRow = z.infer<typeof rowSchema>;

function lastRun(): Pick<z.infer<typeof fileSchema>, 'rows' | 'figures'> {
  if (!existsSync(FILE)) return { rows: [], figures: {} };
  return fileSchema.parse(JSON.parse(readFileSync(FILE, 'utf8')));
}

export const lastRows = (): LastRow[] => lastRun().rows;
export const lastFigures = (): Figures => lastRun().figures;

const isSame = (one: LastRow, other: LastRow): boolean =>
  one.fsync === other.fsync && one.scenario === other.scenario && one.in_flight === other.in_flight;

/** Replaces what was measured; the rest stays. */
export function saveRun(rows: readonly LastRow[], figures: Figures, measured: string): void {
  const last = lastRun();
  const kept = last.rows.filter((one) => !rows.some((row) => isSame(row, one)));
  const exact = Object.entries(figures).map(([name, figure]) => [name, rounded(figure, 2)] as const);
  const all = { ...last.figures, ...Object.fromEntries(exact) };
  writeFileSync(FILE, `${JSON.stringify({ measured, rows: [...kept, ...rows], figures: all }, null, 2)}\n`);
}

export function rowOf(fsync: string, measurement: Measurement, baseline: Measurement | null): LastRow {
  const { scenario, concurrency, costs, memoryBytes, fileBytes, perSecond, p50Ms } = measurement;
  const own = costs.filter(({ name }) => name !== 'others');
  return {
    fsync,
    scenario,
    in_flight: concurrency,
    rate: baseline && rounded(perSecond / baseline.perSecond, 2),
    p50: baseline && rounded(p50Ms / baseline.p50Ms, 2),
    cpu_us: rounded(own.reduce((sum, { perOperationUs }) => sum + perOperationUs, 0)),
    memory_bytes: rounded(memoryBytes),
    file_bytes: rounded(fileBytes),
  };
}

export function lastOf(row: LastRow, rows: readonly LastRow[]): LastRow | null {
  return rows.find((last) => isSame(row, last)) ?? null;
}

function rounded(value: number, digits = 0): number {
  return Number(value.toFixed(digits));
}
