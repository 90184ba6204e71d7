/** The last requests that failed, and the way to all of them.
 *  It must never show more than a few. */
import { Link } from '@tanstack/react-router';
import type { ListedRequest, RequestListing } from '../../../src/contract/request/request-listing.ts';
import { countText, shortId } from '../../data/shown.ts';
import { keyOf, placeOf } from '../../data/tenant.ts';
import { Empty } from '../../parts/empty.tsx';
import { Instant } from '../../parts/instant.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Text } from '../../parts/text.tsx';

const SHOWN = 6;

export function LastFailures({
  listing: { requests, counts, incomplete = false },
}: {
  listing: RequestListing;
}) {
  const total = counts.status.failed;
  return (
    <div>
      <h2>
        Last failures{' '}
        {total > 0 && (
          <Link to="/requests" search={{ filter: 'status:failed' } as never} className="overview-all">
            {countText(total)}
          </Link>
        )}
      </h2>
      {requests.length === 0 ? (
        <Empty title={incomplete ? 'No failures are known yet.' : 'No failures'} />
      ) : (
        <Table
          label="Last failures"
          columns={COLUMNS}
          rows={newestFirst(requests).slice(0, SHOWN)}
          keyOf={keyOf}
        />
      )}
    </div>
  );
}

/** The order of their ends; the list is in the order of their beginnings. */
function newestFirst(requests: readonly ListedRequest[]): readonly ListedRequest[] {
  const endOf = ({ closed_at: closed, created_at: created }: ListedRequest): string => closed ?? created;
  return requests.toSorted((one, other) => endOf(other).localeCompare(endOf(one)));
}

const REQUEST: Column<ListedRequest> = {
  name: 'Request',
  cell: (row) => (
    <Link {...placeOf(row)} className="mono" title={row.request_id}>
      {shortId(row.request_id)}
    </Link>
  ),
};

const WHAT: Column<ListedRequest> = {
  name: 'What',
  cell: ({ agent, tools, models, types, text }) => (
    <>
      <Text>{agent ?? tools[0] ?? models[0] ?? types[0] ?? ''}</Text>{' '}
      <span className="muted overview-text">{text !== '' && <Text>{text}</Text>}</span>
    </>
  ),
  isWide: true,
};

const AT: Column<ListedRequest> = {
  name: 'At',
  cell: ({ closed_at: closed, created_at: created }) => <Instant at={closed ?? created} />,
  isNumber: true,
};

const COLUMNS: readonly Column<ListedRequest>[] = [
  REQUEST,
  {
    name: 'Error',
    cell: ({ error_types: types }) => (
      <span className="overview-error">{types[0] !== undefined && <Text>{types[0]}</Text>}</span>
    ),
  },
  { ...WHAT, isMinor: true },
  AT,
];
