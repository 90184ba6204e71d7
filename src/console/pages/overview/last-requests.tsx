/** The last requests of a status, and the way to all of them.
 *  It must never show more than a few. */
import { Link } from '@tanstack/react-router';
import type { ListedRequest, RequestListing } from '../../../contract/request-listing.ts';
import { countText, shortId } from '../../data/shown.ts';
import { Empty } from '../../parts/empty.tsx';
import { Instant } from '../../parts/instant.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Text } from '../../parts/text.tsx';

export interface LastRequestsProps {
  readonly title: string;
  readonly status: 'failed' | 'waiting';
  readonly listing: RequestListing;
  /** Whether it stands in the narrow column. */
  readonly isNarrow?: boolean;
}

export function LastRequests({ title, status, listing, isNarrow = false }: LastRequestsProps) {
  const { requests, counts } = listing;
  const total = counts.status[status];
  return (
    <div>
      <h2>
        {title}{' '}
        {total > 0 && (
          <Link to="/requests" search={{ filter: `status:${status}` } as never} className="overview-all">
            {countText(total)}
          </Link>
        )}
      </h2>
      {requests.length === 0 ? (
        <Empty title={status === 'failed' ? 'Nothing has failed.' : 'Nobody is asked for anything.'} />
      ) : (
        <Table
          label={title}
          columns={isNarrow ? NARROW : WIDE}
          rows={requests}
          keyOf={({ request_id: id }) => id}
        />
      )}
    </div>
  );
}

const REQUEST: Column<ListedRequest> = {
  name: 'Request',
  cell: ({ request_id: id }) => (
    <Link to="/requests/$requestId" params={{ requestId: id } as never} className="mono" title={id}>
      {shortId(id)}
    </Link>
  ),
};

const WHAT: Column<ListedRequest> = {
  name: 'What',
  cell: ({ agent, tools, text }) => (
    <>
      <Text>{agent ?? tools[0] ?? ''}</Text>{' '}
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

const WIDE: readonly Column<ListedRequest>[] = [
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

const NARROW: readonly Column<ListedRequest>[] = [
  REQUEST,
  {
    name: 'For',
    cell: ({ waiting_for: asked }) => <span className="overview-wait">{asked.join(', ')}</span>,
    isWide: true,
  },
  { ...AT, name: 'Since' },
];
