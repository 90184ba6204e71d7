/** The schedules: when each fires next, what became of its last instants, and the chosen one whole.
 *  It must never act without being asked: each way opens a dialog. */
import type { ListedSchedule, ScheduleListing } from '../../../src/contract/schedule/schedule.ts';
import { useRead } from '../../data/queries.ts';
import { useUrlState } from '../../data/url-state.ts';
import { ErrorBanner } from '../../parts/banner.tsx';
import { Chip } from '../../parts/chip.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Instant } from '../../parts/instant.tsx';
import { Page } from '../../parts/page.tsx';
import { Status } from '../../parts/status.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Text } from '../../parts/text.tsx';
import { Outcome } from './outcome.tsx';
import { ScheduleDetails } from './schedule-details.tsx';
import { whenWords } from './schedule-words.ts';
import './schedules.css';

const EVERY_MS = 5_000;
const MOST = 200;

export function SchedulesPage() {
  const { data, error, refetch } = useRead<ScheduleListing>(`/v1/schedules?limit=${MOST}`, {
    everyMs: EVERY_MS,
  });
  const [chosen, choose] = useUrlState('schedule');
  const toggle = (id: string): void => choose(id === chosen ? '' : id);
  return (
    <Page title="Schedules">
      {error !== null && <ErrorBanner error={error} onRetry={() => void refetch()} />}
      {data?.schedules.length === 0 && (
        <Empty
          title="There is no schedule."
          command="npx adjutant schedule create digest --every 6h --agent default --query 'What is new?'"
        >
          A schedule submits directives, or starts a run, again and again.
        </Empty>
      )}
      {data !== undefined && data.schedules.length > 0 && (
        <Table
          label="Schedules"
          columns={columnsOf(chosen, toggle)}
          rows={data.schedules}
          keyOf={({ id }) => id}
          noteOf={noteOf}
        />
      )}
      {typeof data?.next === 'string' && (
        <p className="muted">
          The first {MOST} are here; <code>npx adjutant schedule list</code> has all.
        </p>
      )}
      {chosen !== '' && <ScheduleDetails key={chosen} id={chosen} />}
    </Page>
  );
}

function columnsOf(chosen: string, toggle: (id: string) => void): readonly Column<ListedSchedule>[] {
  return [
    {
      name: 'Schedule',
      cell: ({ id }) => (
        <Chip isOn={id === chosen} onToggle={() => toggle(id)}>
          {id}
        </Chip>
      ),
    },
    { name: 'State', cell: ({ status }) => <Status of={status} /> },
    { name: 'When', cell: (schedule) => <Text>{whenWords(schedule)}</Text>, isWide: true, isMinor: true },
    { name: 'Last', cell: ({ last }) => <Outcome of={last} />, isMinor: true },
    { name: 'Next', cell: ({ next_at: next }) => <Instant at={next} />, isNumber: true },
  ];
}

/** What a person should know of it; null: nothing. */
function noteOf({ paused, failures_in_a_row: failures }: ListedSchedule) {
  if (paused !== null)
    return (
      <span className="muted">
        paused {paused.by === null ? '' : 'by '}
        <Text>{paused.by ?? ''}</Text> <Instant at={paused.at} />
        {paused.note !== null && ': '}
        <Text>{paused.note ?? ''}</Text>
      </span>
    );
  if (failures === 0) return null;
  return <span className="schedules-failed">the last {failures === 1 ? 'one' : failures} failed</span>;
}
