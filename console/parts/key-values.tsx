/** Names and their values, one a line.
 *  It must never guess a value: an unknown value is shown as unknown. */
import { Fragment, type ReactNode } from 'react';
import './key-values.css';

export function KeyValues({ rows }: { rows: readonly (readonly [name: string, value: ReactNode])[] }) {
  return (
    <dl className="key-values">
      {rows.map(([name, value]) => (
        <Fragment key={name}>
          <dt>{name}</dt>
          <dd>{value ?? <span className="faint">unknown</span>}</dd>
        </Fragment>
      ))}
    </dl>
  );
}
