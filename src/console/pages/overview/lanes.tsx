/** The lanes: how much waits and runs in each, and why one does not go on.
 *  It must never show more than a screen unasked. */
import { useState } from 'react';
import type { ListedLane } from '../../../contract/lane-listing.ts';
import { clockText, countText } from '../../data/shown.ts';
import { Button } from '../../parts/button.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Status } from '../../parts/status.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Text } from '../../parts/text.tsx';
import { isStuck, lanesInOrder } from './trouble.ts';

const FIRST = 14;

const COLUMNS: readonly Column<ListedLane>[] = [
  { name: 'Lane', cell: ({ name }) => <Text mono>{name}</Text> },
  { name: 'Waiting', cell: ({ waiting }) => countText(waiting), isNumber: true },
  {
    name: 'Running',
    cell: ({ active, concurrency }) =>
      `${countText(active)}${concurrency === null ? '' : ` of ${concurrency}`}`,
    isNumber: true,
  },
  { name: 'Later', cell: ({ delayed }) => countText(delayed), isNumber: true, isMinor: true },
  { name: 'Workers', cell: ({ workers }) => countText(workers), isNumber: true, isMinor: true },
  { name: 'State', cell: (lane) => <State lane={lane} />, isWide: true },
];

export function Lanes({ lanes }: { lanes: readonly ListedLane[] }) {
  const [isOpen, open] = useState(false);
  const all = lanesInOrder(lanes);
  const shown = isOpen ? all : all.slice(0, FIRST);
  return (
    <div>
      <h2>Lanes</h2>
      {all.length === 0 ? (
        <Empty title="No lane is known." command="npx adjutant worker">
          A worker makes one for each MCP server and model provider.
        </Empty>
      ) : (
        <Table label="Lanes" columns={COLUMNS} rows={shown} keyOf={({ name }) => name} />
      )}
      {shown.length < all.length && (
        <Button look="ghost" onClick={() => open(true)}>
          {all.length - shown.length} more
        </Button>
      )}
    </div>
  );
}

function State({ lane }: { lane: ListedLane }) {
  const { paused, waits, blocked_until: blocked, active } = lane;
  if (!isStuck(lane)) return active > 0 ? <Status of="running" /> : <span className="faint">idle</span>;
  const until = waits?.until ?? blocked;
  return (
    <span>
      <Status of={paused ? 'paused' : 'blocked'} text={paused ? 'paused' : 'held up'} />{' '}
      {waits !== undefined && <Text>{waits.message}</Text>}
      {until !== null && <span className="faint"> until {clockText(until)}</span>}
    </span>
  );
}
