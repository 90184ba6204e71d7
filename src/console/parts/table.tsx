/** A short table: a header, and rows that are there at once. Long lists have their own virtual grid.
 *  It must never hold more than some hundred rows. */
import type { ReactNode } from 'react';
import './table.css';

export interface Column<Row> {
  readonly name: string;
  readonly cell: (row: Row) => ReactNode;
  /** Numbers stand right, in figures of one width. */
  readonly isNumber?: boolean;
  /** Left out below 760 px. */
  readonly isMinor?: boolean;
  /** Takes the room that is left. */
  readonly isWide?: boolean;
}

export interface TableProps<Row> {
  /** What it lists, for readers of the screen. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
}

export function Table<Row>({ label, columns, rows, keyOf }: TableProps<Row>) {
  return (
    <table className="table" aria-label={label}>
      <thead>
        <tr>
          {columns.map((column) => (
            <th key={column.name} scope="col" className={classOf(column)}>
              {column.name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)}>
            {columns.map((column) => (
              <td key={column.name} className={classOf(column)}>
                {column.cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function classOf<Row>({ isNumber, isMinor, isWide }: Column<Row>): string {
  return [isNumber && 'num', isMinor && 'table-minor', isWide && 'table-wide'].filter(Boolean).join(' ');
}
