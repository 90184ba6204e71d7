/** Pending approvals and questions, the oldest deadline first, with links to their decision.
 *  It must never decide: that has its own page. */
import { Link } from '@tanstack/react-router';
import type { ApprovalListing, OpenApproval } from '../../../src/contract/run/approval-listing.ts';
import { countText } from '../../data/shown.ts';
import { Empty } from '../../parts/empty.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Text } from '../../parts/text.tsx';
import { inOrder, isUrgent, itemKey, leftWords } from '../approvals/inbox.ts';

const SHOWN = 6;

/** `requests`: that wait. `at`: when it was read, milliseconds. */
export function Waiting({
  listing,
  requests,
  at,
}: {
  listing: ApprovalListing;
  requests: number;
  at: number;
}) {
  const items = inOrder([listing]);
  return (
    <div>
      <h2>
        Waiting for a person{' '}
        {requests > 0 && (
          <Link to="/approvals" className="overview-all">
            {countText(requests)}
          </Link>
        )}
      </h2>
      {items.length === 0 ? (
        <Empty
          title={listing.incomplete === true ? 'No pending approvals are known yet.' : 'No pending approvals'}
        />
      ) : (
        <Table
          label="Waiting for a person"
          columns={columnsAt(at)}
          rows={items.slice(0, SHOWN)}
          keyOf={itemKey}
        />
      )}
    </div>
  );
}

function columnsAt(now: number): readonly Column<OpenApproval>[] {
  return [
    {
      name: 'What',
      cell: (item) => (
        <Link to="/approvals" search={{ item: itemKey(item) } as never} className="overview-link">
          <Text>{item.tool}</Text>
        </Link>
      ),
      isWide: true,
    },
    { name: 'For', cell: ({ kind }) => <span className="overview-wait">{kind}</span> },
    {
      name: 'Until',
      cell: ({ deadline_at: until }) => (
        <span className={isUrgent(until, now) ? 'overview-wait' : 'muted'}>{leftWords(until, now)}</span>
      ),
      isNumber: true,
    },
  ];
}
