/** One row of the list.
 *  It must never be drawn anew unless its request changed. */
import { Link } from '@tanstack/react-router';
import { memo } from 'react';
import type { ListedRequest } from '../../../src/contract/request/request-listing.ts';
import { clockText, durationText, moneyText, shortId } from '../../data/shown.ts';
import { placeOf } from '../../data/tenant.ts';
import { Instant } from '../../parts/instant.tsx';
import { Status } from '../../parts/status.tsx';
import { Text } from '../../parts/text.tsx';

export interface RequestRowProps {
  readonly row: ListedRequest;
  /** From the beginning of the list, 0-based. */
  readonly index: number;
  /** Pixels from the top. */
  readonly top: number;
  readonly isActive: boolean;
  readonly isSelected: boolean;
  /** It may have changed since, milliseconds; null: it was read just now. */
  readonly readAt: number | null;
  readonly onSelect: (index: number, isRange: boolean) => void;
}

export const RequestRow = memo(function RequestRow(props: RequestRowProps) {
  const { row, index, top, isActive, isSelected, readAt, onSelect } = props;
  const { request_id: id, status } = row;
  return (
    <div
      id={`request-${index}`}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      className={isActive ? 'request-row active' : 'request-row'}
      style={{ transform: `translateY(${top}px)` }}
    >
      <span role="gridcell" className="request-check">
        <label className="check">
          <input
            type="checkbox"
            tabIndex={-1}
            aria-label={`Select ${id}`}
            checked={isSelected}
            onClick={({ shiftKey }) => onSelect(index, shiftKey)}
            onChange={() => {}}
          />
        </label>
      </span>
      <span role="gridcell">
        <Status of={status} />
      </span>
      <span role="gridcell" className="mono">
        <Link {...placeOf(row)} tabIndex={-1} title={id}>
          {shortId(id)}
        </Link>
      </span>
      <Facts row={row} readAt={readAt} />
    </div>
  );
});

function Facts({ row, readAt }: Pick<RequestRowProps, 'row' | 'readAt'>) {
  const { agent, tools, created_at: created, cost } = row;
  return (
    <>
      <span role="gridcell" className="request-what">
        <Text>{agent ?? tools[0] ?? row.models[0] ?? row.types[0] ?? ''}</Text>
      </span>
      <span role="gridcell" className="request-asked">
        {readAt !== null && (
          <span className="faint">as of {clockText(new Date(readAt).toISOString())} · </span>
        )}
        <Asked row={row} />
      </span>
      <span role="gridcell" className="num muted request-at">
        <Instant at={created} />
      </span>
      <span role="gridcell" className="num request-minor request-took">
        {tookText(row)}
      </span>
      <span role="gridcell" className="num request-minor request-cost">
        {cost === null ? <span className="faint">–</span> : moneyText(cost)}
      </span>
    </>
  );
}

function Asked({ row }: { row: ListedRequest }) {
  const { error_types: errors, waiting_for: asked, begins_at: begins, text, status, tags } = row;
  return (
    <>
      {status === 'failed' && errors[0] !== undefined && (
        <span className="request-error">
          <Text>{errors[0]}</Text>
          {text !== '' && ' · '}
        </span>
      )}
      {begins !== undefined && status === 'open' && Date.parse(begins) > Date.now() && (
        <span className="request-wait">
          begins at {clockText(begins)}
          {text !== '' && ' · '}
        </span>
      )}
      {asked.length > 0 && (
        <span className="request-wait">
          {asked.join(', ')}
          {text !== '' && ' · '}
        </span>
      )}
      <Text>{text}</Text>
      {row.tenant !== undefined && <span className="request-tag">tenant {row.tenant}</span>}
      {row.archived === true && <span className="request-tag">archived</span>}
      {(row.scores ?? []).map(({ name, value, passed }) => (
        <span key={name} className="request-tag">
          <Text>{`${name} ${passed === undefined ? value : passed ? 'passed' : 'failed'}`}</Text>
        </span>
      ))}
      {tags.map((tag) => (
        <span key={tag} className="request-tag">
          <Text>{tag}</Text>
        </span>
      ))}
    </>
  );
}

function tookText({ created_at: created, closed_at: closed }: ListedRequest): string {
  return closed === null ? '' : durationText(Date.parse(closed) - Date.parse(created));
}
