/** One schedule whole: how it fires, its content, its last instants with their requests, and the ways to change it.
 *  Never shows the answer for another id. */
import { useState } from 'react';
import type { Firing, ScheduleView } from '../../../src/contract/schedule/schedule.ts';
import { path } from '../../data/api.ts';
import { useRead } from '../../data/queries.ts';
import { useWhyNot } from '../../data/session.ts';
import { ReadError } from '../../parts/banner.tsx';
import { Button } from '../../parts/button.tsx';
import { Json } from '../../parts/json.tsx';
import { Instant } from '../../parts/instant.tsx';
import { KeyValues } from '../../parts/key-values.tsx';
import { Status } from '../../parts/status.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Text } from '../../parts/text.tsx';
import { Outcome } from './outcome.tsx';
import { type ScheduleAct, ScheduleDialog } from './schedule-dialog.tsx';
import { useFired } from './fired.ts';
import { ScheduleForm } from './schedule-form.tsx';
import { countWords, lengthWords, OVERLAP_WORDS, whenWords } from './schedule-words.ts';

const EVERY_MS = 2_000;
const FIRST = 20;

interface DetailsProps {
  readonly id: string;
  readonly onDeleted: () => void;
}

export function ScheduleDetails({ id, onDeleted }: DetailsProps) {
  const { data, error } = useRead<ScheduleView>(path`/v1/schedules/${id}`, {
    everyMs: EVERY_MS,
    keepOld: false,
  });
  const [act, ask] = useState<ScheduleAct | 'edit' | null>(null);
  const close = (): void => ask(null);
  return (
    <section className="stack schedules-one" aria-label={`Schedule ${id}`}>
      <div className="row">
        <h2>
          <Text>{id}</Text>
        </h2>
        {data !== undefined && error === null && <Ways schedule={data} onAsk={ask} />}
      </div>
      {error !== null && <ReadError error={error} />}
      {data !== undefined && <Whole schedule={data} />}
      {act === 'edit' && data !== undefined && (
        <ScheduleForm schedule={data} onClose={close} onSaved={close} />
      )}
      {act !== null && act !== 'edit' && (
        <ScheduleDialog id={id} act={act} onClose={close} onDeleted={onDeleted} />
      )}
    </section>
  );
}

interface WaysProps {
  readonly schedule: ScheduleView;
  readonly onAsk: (act: ScheduleAct | 'edit') => void;
}

function Ways({ schedule: { status }, onAsk }: WaysProps) {
  const why = useWhyNot('submit');
  return (
    <>
      <Button why={why} onClick={() => onAsk('trigger')}>
        Trigger…
      </Button>
      {status === 'active' && (
        <Button why={why} onClick={() => onAsk('pause')}>
          Pause…
        </Button>
      )}
      {status === 'paused' && (
        <Button why={why} onClick={() => onAsk('resume')}>
          Resume…
        </Button>
      )}
      <Button why={why} onClick={() => onAsk('edit')}>
        Edit…
      </Button>
      <Button look="danger" why={why} onClick={() => onAsk('delete')}>
        Delete…
      </Button>
    </>
  );
}

function Whole({ schedule }: { schedule: ScheduleView }) {
  const { next_at: next, queued_at: queued, overlap, catch_up_ms: catchUp, history } = schedule;
  const { edited_at: edited } = schedule;
  const statuses = new Map(useFired(schedule.id).map((each) => [each.request_id, each.status]));
  return (
    <>
      <KeyValues
        rows={[
          ['When', <Text key="when">{whenWords(schedule)}</Text>],
          ['Next', <Instant key="next" at={next} />],
          ...(queued === null ? [] : [['Queued', <Instant key="queued" at={queued} />] as const]),
          ['While one is open', OVERLAP_WORDS[overlap]],
          ['Catches up', lengthWords(catchUp)],
          ['Fires as', <Text key="as">{schedule.fires_as ?? 'no key: none was required'}</Text>],
          ...(edited === null ? [] : [['Changed', <Instant key="edited" at={edited} />] as const]),
          ['So far', countWords(schedule)],
        ]}
      />
      {history.length > 0 && (
        <Table
          label="Last instants"
          columns={columnsOf(statuses)}
          rows={history.slice(0, FIRST)}
          keyOf={(firing) => `${firing.scheduled_at} ${firing.at} ${firing.request_id}`}
        />
      )}
      <Json value={schedule.template} label="what it submits" />
    </>
  );
}

/** `statuses`: of requests, by their ids. */
function columnsOf(statuses: ReadonlyMap<string, string>): readonly Column<Firing>[] {
  return [
    { name: 'Instant', cell: ({ scheduled_at: at }) => <Instant at={at} /> },
    { name: 'Outcome', cell: (firing) => <Outcome of={firing} /> },
    {
      name: 'Its request',
      cell: ({ request_id: request }) => <RequestStatus status={statuses.get(request ?? '')} />,
    },
    {
      name: 'Why',
      cell: ({ reason }) => (
        <span className="muted">
          <Text>{reason ?? ''}</Text>
        </span>
      ),
      isWide: true,
    },
    { name: 'Recorded', cell: ({ at }) => <Instant at={at} />, isNumber: true, isMinor: true },
  ];
}

function RequestStatus({ status }: { status: string | undefined }) {
  return status === undefined ? <span className="faint">–</span> : <Status of={status} />;
}
