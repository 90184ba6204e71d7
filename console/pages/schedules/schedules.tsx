/** The schedules: when each fires next, what became of its last instants, and the chosen one whole.
 *  Never acts by itself: each way opens a dialog. */
import { useState } from 'react';
import type { ListedSchedule, ScheduleListing } from '../../../src/contract/schedule/schedule.ts';
import { useRead } from '../../data/queries.ts';
import { useWhyNot } from '../../data/session.ts';
import { useUrlState } from '../../data/url-state.ts';
import { ReadError } from '../../parts/banner.tsx';
import { Button } from '../../parts/button.tsx';
import { Chip } from '../../parts/chip.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Instant } from '../../parts/instant.tsx';
import { Page } from '../../parts/page.tsx';
import { Status } from '../../parts/status.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Text } from '../../parts/text.tsx';
import { failuresOf, useFired } from './fired.ts';
import { Outcome } from './outcome.tsx';
import { ScheduleDetails } from './schedule-details.tsx';
import { ScheduleForm } from './schedule-form.tsx';
import { whenWords } from './schedule-words.ts';
import './schedules.css';

const EVERY_MS = 5_000;
const MOST = 200;

export function SchedulesPage() {
  const { data, error, refetch } = useRead<ScheduleListing>(`/v1/schedules?limit=${MOST}`, {
    everyMs: EVERY_MS,
  });
  const [chosen, choose] = useUrlState('schedule');
  const [isNew, setNew] = useState(false);
  const failures = failuresOf(useFired());
  const toggle = (id: string): void => choose(id === chosen ? '' : id);
  return (
    <Page title="Schedules" isPlace actions={<NewButton onNew={() => setNew(true)} />}>
      {error !== null && <ReadError error={error} onRetry={() => void refetch()} />}
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
          columns={columnsOf(chosen, toggle, failures)}
          rows={data.schedules}
          keyOf={({ id }) => id}
          noteOf={(schedule) => noteOf(schedule, failures)}
        />
      )}
      {typeof data?.next === 'string' && (
        <p className="muted">
          The first {MOST} are here; <code>npx adjutant schedule list</code> has all.
        </p>
      )}
      {chosen !== '' && <ScheduleDetails key={chosen} id={chosen} onDeleted={() => choose('')} />}
      {isNew && (
        <ScheduleForm
          schedule={null}
          onClose={() => setNew(false)}
          onSaved={(id) => {
            setNew(false);
            choose(id);
          }}
        />
      )}
    </Page>
  );
}

function NewButton({ onNew }: { onNew: () => void }) {
  const why = useWhyNot('submit');
  return (
    <Button look="primary" why={why} onClick={onNew}>
      New schedule…
    </Button>
  );
}

/** Number of the last requests of each schedule that failed, by its id. */
type Failures = ReadonlyMap<string, number>;

function columnsOf(
  chosen: string,
  toggle: (id: string) => void,
  failures: Failures,
): readonly Column<ListedSchedule>[] {
  return [
    {
      name: 'Schedule',
      cell: ({ id }) => (
        <Chip isOn={id === chosen} onToggle={() => toggle(id)}>
          {id}
        </Chip>
      ),
    },
    {
      name: 'State',
      cell: ({ id, status, failures_in_a_row: refused }) =>
        status === 'active' && (failures.has(id) || refused > 0) ? (
          <Status of="failed" text="active, failing" />
        ) : (
          <Status of={status} />
        ),
    },
    { name: 'When', cell: (schedule) => <Text>{whenWords(schedule)}</Text>, isWide: true, isMinor: true },
    { name: 'Last', cell: ({ last }) => <Outcome of={last} />, isMinor: true },
    { name: 'Next', cell: ({ next_at: next }) => <Instant at={next} />, isNumber: true },
  ];
}

/** The pause or the failures of a schedule; null: neither. */
function noteOf({ id, paused, failures_in_a_row: refused }: ListedSchedule, failures: Failures) {
  if (paused !== null)
    return (
      <span className="muted">
        paused {paused.by === null ? '' : 'by '}
        <Text>{paused.by ?? ''}</Text> <Instant at={paused.at} />
        {paused.note !== null && ': '}
        <Text>{paused.note ?? ''}</Text>
      </span>
    );
  const failed = failures.get(id) ?? 0;
  const notes = [
    refused > 0 ? `the last ${refused === 1 ? 'submission was' : `${refused} submissions were`} refused` : '',
    failed > 0 ? `its last ${failed === 1 ? 'request' : `${failed} requests`} failed` : '',
  ].filter((note) => note !== '');
  return notes.length === 0 ? null : <span className="schedules-failed">{notes.join(', ')}</span>;
}
