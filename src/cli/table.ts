/** Rows as columns, and instants as a terminal shows them. */
import { stripVTControlCharacters } from 'node:util';

const GAP = '  ';
const BREAKS = /[\t-\r\u0085\u2028\u2029]+/g;

/** Lines of the table; the last column is not padded. A cell is one line: a line break in a tool's name could fake a row. */
export function table(cells: readonly (readonly string[])[]): string[] {
  const rows = cells.map((row) => row.map((cell) => cell.replaceAll(BREAKS, ' ')));
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, width(cell));
  }
  return rows.map((row) => row.map((cell, column) => padded(cell, column, row.length, widths)).join(GAP));
}

function padded(cell: string, column: number, columns: number, widths: readonly number[]): string {
  return column === columns - 1 ? cell : cell + ' '.repeat((widths[column] ?? 0) - width(cell));
}

function width(cell: string): number {
  return stripVTControlCharacters(cell).length;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

export function timeText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < MINUTE_MS) return `${(ms / 1_000).toFixed(1)} s`;
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min ${Math.floor((ms % MINUTE_MS) / 1_000)} s`;
  return `${Math.floor(ms / HOUR_MS)} h ${Math.floor((ms % HOUR_MS) / MINUTE_MS)} min`;
}

/** RFC 3339, UTC, as `2027-01-31 12:00:00`; `to` minutes without the seconds. */
export function instantText(instant: string, to: 'seconds' | 'minutes' = 'seconds'): string {
  return instant.slice(0, to === 'seconds' ? 19 : 16).replace('T', ' ');
}

/** The same instant on the clocks of a time zone; null: where it is known here only by another name, or is UTC. */
export function zonedText(instant: string, zone: string): string | null {
  if (zone === 'UTC') return null;
  try {
    const form = { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' } as const;
    return `${new Intl.DateTimeFormat('sv-SE', form).format(new Date(instant))} in ${zone}`;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}
