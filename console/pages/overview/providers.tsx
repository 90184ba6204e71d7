/** The model providers: the load of each, and the end of its cool-down.
 *  Never calls a provider reachable that has not been called: it is idle. */
import type { ListedLane } from '../../../src/contract/request/lane-listing.ts';
import { clockText, countText, durationText } from '../../data/shown.ts';
import { Empty } from '../../parts/empty.tsx';
import { Status } from '../../parts/status.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Text } from '../../parts/text.tsx';
import { coolDownOf, isStuck, providerOf } from './trouble.ts';

export function Providers({ lanes, at }: { lanes: readonly ListedLane[]; at: number }) {
  const providers = lanes.filter((lane) => providerOf(lane) !== null);
  return (
    <div>
      <h2>Model providers</h2>
      {providers.length === 0 ? (
        <Empty title="No model provider is known.">
          A provider appears when its key is set, or when <code>adjutant.json</code> names it.
        </Empty>
      ) : (
        <Table label="Model providers" columns={columnsAt(at)} rows={providers} keyOf={({ name }) => name} />
      )}
    </div>
  );
}

/** `now`: when they were read, milliseconds. */
function columnsAt(now: number): readonly Column<ListedLane>[] {
  return [
    { name: 'Provider', cell: (lane) => <Text>{providerOf(lane) ?? ''}</Text> },
    {
      name: 'Calls a minute',
      cell: ({ recent }) => (recent === undefined ? '–' : countText(recent.attempts)),
      isNumber: true,
    },
    { name: 'State', cell: (lane) => <State lane={lane} now={now} />, isWide: true },
  ];
}

function State({ lane, now }: { lane: ListedLane; now: number }) {
  const until = coolDownOf(lane);
  if (until !== null)
    return (
      <span>
        <Status of="paused" text="cools down" />{' '}
        <span className="muted">
          until {clockText(until)}, {durationText(Math.max(0, Date.parse(until) - now))} more
        </span>
      </span>
    );
  if (isStuck(lane)) return <Status of="blocked" text={lane.waits?.message ?? 'held up'} />;
  return lane.active > 0 ? <Status of="running" text="is asked" /> : <span className="faint">idle</span>;
}
