/** Rows as aligned columns.
 *  It must never cut a value: the terminal wraps, a pipe gets all of it. */
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
