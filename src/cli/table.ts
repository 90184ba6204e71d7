/** Rows as aligned columns.
 *  It must never cut a value: the terminal wraps, a pipe gets all of it. */
import { stripVTControlCharacters } from 'node:util';

const GAP = '  ';

/** Lines of the table; the last column is not padded. */
export function table(rows: readonly (readonly string[])[]): string[] {
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
