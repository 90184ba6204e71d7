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
  /** Takes the width that is left. */
  readonly isWide?: boolean;
}

export interface TableProps<Row> {
  /** Name of the list for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  /** Note below a row, over its whole width; null: none. Default: none. */
  readonly noteOf?: (row: Row) => ReactNode;
}

export function Table<Row>({ label, columns, rows, keyOf, noteOf = () => null }: TableProps<Row>) {
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
          <Row key={keyOf(row)} columns={columns} row={row} note={noteOf(row)} />
        ))}
      </tbody>
    </table>
  );
}

interface RowProps<Row> {
  readonly columns: readonly Column<Row>[];
  readonly row: Row;
  readonly note: ReactNode;
}

function Row<Row>({ columns, row, note }: RowProps<Row>) {
  const hasNote = note !== null;
  return (
    <>
      <tr className={hasNote ? 'table-noted' : undefined}>
        {columns.map((column) => (
          <td key={column.name} className={classOf(column)}>
            {column.cell(row)}
          </td>
        ))}
      </tr>
      {hasNote && (
        <tr className="table-note">
          <td colSpan={columns.length}>{note}</td>
        </tr>
      )}
    </>
  );
}

function classOf<Row>({ isNumber, isMinor, isWide }: Column<Row>): string {
  return [isNumber && 'num', isMinor && 'table-minor', isWide && 'table-wide'].filter(Boolean).join(' ');
}
