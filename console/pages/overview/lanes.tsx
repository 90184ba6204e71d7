/** The lanes: how much waits and runs in each, and why one does not go on.
 *  It must never show more than a screen unasked. */
import { type ReactNode, useState } from 'react';
import type { ListedLane } from '../../../src/contract/request/lane-listing.ts';
import { clockText, countText, durationText, instantTitle } from '../../data/shown.ts';
import { Button } from '../../parts/button.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Status } from '../../parts/status.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Text } from '../../parts/text.tsx';
import { isStuck, lanesInOrder } from './trouble.ts';

const FIRST = 14;

/** `now`: when they were read, milliseconds. */
function columnsAt(now: number): readonly Column<ListedLane>[] {
  return [
    { name: 'Lane', cell: ({ name }) => <Text mono>{name}</Text> },
    { name: 'Waiting', cell: ({ waiting, gated = 0 }) => countText(waiting + gated), isNumber: true },
    { name: 'Oldest', cell: (lane) => <Oldest lane={lane} now={now} />, isNumber: true },
    {
      name: 'Running',
      cell: ({ active, concurrency }) =>
        `${countText(active)}${concurrency === null ? '' : ` of ${concurrency}`}`,
      isNumber: true,
    },
    { name: 'Retries', cell: ({ delayed }) => countText(delayed), isNumber: true, isMinor: true },
    { name: 'Limited', cell: ({ gated = 0 }) => countText(gated), isNumber: true, isMinor: true },
    { name: 'Delayed', cell: ({ later = 0 }) => countText(later), isNumber: true, isMinor: true },
    { name: 'Per minute', cell: (lane) => rateText(lane), isNumber: true, isMinor: true },
    { name: 'Failed', cell: (lane) => <Failed lane={lane} />, isNumber: true, isMinor: true },
    { name: 'State', cell: (lane) => <State lane={lane} />, isWide: true },
  ];
}

export function Lanes({ lanes, at }: { lanes: readonly ListedLane[]; at: number }) {
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
        <Table
          label="Lanes"
          columns={columnsAt(at)}
          rows={shown}
          keyOf={({ name }) => name}
          noteOf={noteOf}
        />
      )}
      {shown.length < all.length && (
        <Button look="ghost" onClick={() => open(true)}>
          {all.length - shown.length} more
        </Button>
      )}
    </div>
  );
}

function Oldest({ lane: { oldest_at: at }, now }: { lane: ListedLane; now: number }) {
  if (at === null || at === undefined) return <span className="faint">–</span>;
  return <span title={instantTitle(at)}>{durationText(now - Date.parse(at))}</span>;
}

/** Attempts that ended in the last minute. */
function rateText({ recent }: ListedLane): string {
  return recent === undefined ? '–' : countText(recent.attempts);
}

function Failed({ lane: { recent } }: { lane: ListedLane }) {
  if (recent === undefined || recent.attempts === 0) return <span className="faint">–</span>;
  const { attempts, failed } = recent;
  if (failed === 0) return '0';
  const share = Math.max(1, Math.round((100 * failed) / attempts));
  return (
    <span className="overview-error" title={`${failed} of ${attempts} attempts of the last minute`}>
      {share} %
    </span>
  );
}

function State({ lane }: { lane: ListedLane }) {
  const { paused, active } = lane;
  if (!isStuck(lane)) return active > 0 ? <Status of="running" /> : <span className="faint">idle</span>;
  return <Status of={paused ? 'paused' : 'blocked'} text={paused ? 'paused' : 'held up'} />;
}

/** Why it does not go on, over the whole width. */
function Why({ waits, blocked_until: blocked }: ListedLane) {
  const until = waits?.until ?? blocked;
  return (
    <span className="muted">
      {waits !== undefined && <Text>{waits.message}</Text>}
      {until !== null && ` until ${clockText(until)}`}
    </span>
  );
}

const noteOf = (lane: ListedLane): ReactNode =>
  isStuck(lane) && (lane.waits !== undefined || lane.blocked_until !== null) ? <Why {...lane} /> : null;
