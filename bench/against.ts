/** `npm run bench -- --against <commit>`: the same scenarios of that commit and of this tree, in turns, and their ratios.
 *  It must never measure both at once, nor hide how far the rounds lie apart. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { table } from '../src/cli/table.ts';
import { checkOut } from '../test/support/checkout.ts';
import { middle } from './report.ts';

export interface Against {
  readonly commit: string;
  /** Names of scenarios, as `--only` takes them. */
  readonly only: string;
  readonly rounds: number;
  /** More options of both runs. */
  readonly options: readonly string[];
}

/** One row of a run's table: what an operation takes. */
interface Row {
  readonly rate: number;
  readonly p50Ms: number;
  readonly cpuUs: number;
}

/** Columns of a run's table that have a ratio, and whether more of it is better. */
const COLUMNS = { rate: 'ops/s', p50Ms: 'p50 ms', cpuUs: 'CPU µs' } as const satisfies Record<
  keyof Row,
  string
>;

/** Throws where the commit is unknown, or one of its runs fails. Both use the packages that are installed here. */
export function compare({ commit, only, rounds, options }: Against): string {
  const before = checkOut(commit);
  const args = ['--only', only, '--rounds', '1', '--fsync', 'everysec', ...options];
  const pairs = Array.from({ length: rounds }, (_, round) => {
    console.log(`… round ${round + 1}: ${commit}, then this tree`);
    return { before: run(before.folder, args), now: run(process.cwd(), args) };
  });
  return ratios(pairs, before.sha.slice(0, 8));
}

function run(tree: string, args: readonly string[]): ReadonlyMap<string, Row> {
  const program = ['--conditions=adjutant-source', join(tree, 'bench/main.ts'), ...args];
  const { stdout, stderr, status } = spawnSync(process.execPath, program, { cwd: tree, encoding: 'utf8' });
  if (status !== 0) throw new Error(`the bench in ${tree} ended with ${status}: ${stderr || stdout}`);
  return rowsIn(stdout);
}

/** The rows of the printed table, by scenario and number in flight. */
export function rowsIn(printed: string): ReadonlyMap<string, Row> {
  const lines = printed.split('\n').map((line) => line.trim().split(/ {2,}/));
  const header = lines.find((cells) => Object.values(COLUMNS).every((name) => cells.includes(name)));
  if (header === undefined) throw new Error(`a run printed no table: ${printed}`);
  // The column of the names has no heading.
  const of = (cells: readonly string[], name: string): number =>
    Number.parseFloat(cells[header.indexOf(name) + 1] ?? '');
  const rows = lines
    .filter((cells) => cells.length > header.length - 1 && !cells.includes(COLUMNS.rate))
    .map((cells) => {
      const row = { rate: of(cells, 'ops/s'), p50Ms: of(cells, 'p50 ms'), cpuUs: of(cells, 'CPU µs') };
      return [`${cells[0]}, ${cells[1]} in flight`, row] as const;
    });
  return new Map(rows.filter(([, row]) => Object.values(row).every(Number.isFinite)));
}

interface Pair {
  readonly before: ReadonlyMap<string, Row>;
  readonly now: ReadonlyMap<string, Row>;
}

/** This tree by the commit, as median (lowest to highest round). What only one of them measures has no ratio. */
function ratios(pairs: readonly Pair[], sha: string): string {
  const names = [...(pairs[0]?.now.keys() ?? [])].filter((name) =>
    pairs.every(({ before, now }) => before.has(name) && now.has(name)),
  );
  const cell = (name: string, column: keyof Row): string => {
    const found = pairs.map(
      ({ before, now }) => (now.get(name)?.[column] ?? 0) / (before.get(name)?.[column] ?? 0),
    );
    const shown = (value: number): string => value.toFixed(2);
    return `${shown(middle(found, Number))} (${shown(Math.min(...found))} to ${shown(Math.max(...found))})`;
  };
  const columns = Object.keys(COLUMNS) as (keyof Row)[];
  const rows = names.map((name) => [name, ...columns.map((column) => cell(name, column))]);
  return [`\nthis tree by ${sha}, median (lowest to highest) of ${pairs.length} rounds`]
    .concat(table([['', ...Object.values(COLUMNS)], ...rows]))
    .join('\n');
}
