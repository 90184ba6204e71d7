/** Rows as aligned columns of text, for a terminal or a file.
 *  It must not colour or cut what it is given. */

/** The first and the last column are text, to the left; those between are numbers, to the right. */
export function renderTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const table = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...table.map((cells) => (cells[column] ?? '').length)));
  const align = (cell: string, column: number): string =>
    column === 0 || column === header.length - 1
      ? cell.padEnd(widths[column] ?? 0)
      : cell.padStart(widths[column] ?? 0);
  return table.map((cells) => cells.map(align).join('  ').trimEnd()).join('\n');
}
