/** The head of a request: what was asked, how it stands, what it waits for, what it took and cost.
 *  It must never guess what is unknown. */
import { Link } from '@tanstack/react-router';
import type { RequestTimeline } from '../../../src/contract/request/request-timeline.ts';
import { redrivenAs } from '../../../src/contract/directive/redriven.ts';
import type { RequestView } from '../../../src/contract/request/request-view.ts';
import type { RunWait } from '../../../src/contract/run/run.ts';
import { clockText, countText, durationText, moneyText } from '../../data/shown.ts';
import { safeText } from '../../data/safe-text.ts';
import { Status } from '../../parts/status.tsx';
import { Text } from '../../parts/text.tsx';
import { NoticeList } from './notice-list.tsx';
import { useNow } from './request-data.ts';

const LONGEST_TITLE = 140;

interface HeadProps {
  readonly view: RequestView;
  readonly timeline: RequestTimeline | undefined;
}

/** The question, or what it does. */
export function titleOf(
  { request_id: id, run, directives }: RequestView,
  timeline?: RequestTimeline,
): string {
  if (run !== undefined) return cut(run.query.trim().split('\n')[0] ?? id);
  const name = timeline?.directives[0]?.name ?? directives[0]?.type ?? id;
  return directives.length > 1 ? `${name} and ${directives.length - 1} more` : name;
}

function cut(text: string): string {
  return text.length > LONGEST_TITLE ? `${text.slice(0, LONGEST_TITLE)}…` : text;
}

export function RequestHead({ view, timeline }: HeadProps) {
  const { run } = view;
  const now = useNow(timeline?.read_at, view.status === 'open');
  const until = view.closed_at === null ? now : Date.parse(view.closed_at);
  return (
    <div className="request-head">
      <h1>
        <Text>{titleOf(view, timeline)}</Text>
      </h1>
      <div className="request-facts">
        <Status of={stateOf(view, now)} text={stateText(view, now)} />
        {run !== undefined && (
          <span>
            agent{' '}
            <Link to="/agents/$agentName" params={{ agentName: run.agent } as never}>
              <b>{run.agent}</b>
            </Link>
          </span>
        )}
        <span>
          {view.closed_at === null ? 'for' : 'took'}{' '}
          <b>{durationText(Math.max(0, until - Date.parse(view.created_at)))}</b>
        </span>
        {run !== undefined && <RunFacts run={run} />}
        <span>
          <b>{countText(view.directives.length)}</b> {view.directives.length === 1 ? 'step' : 'steps'}
        </span>
        <Parent timeline={timeline} />
        <OfSchedule requestId={view.request_id} />
        <NoticeList notices={noticesOf(view)} />
      </div>
    </div>
  );
}

/** Of the run; of a lone directive, which has no other place to be seen at once. */
function noticesOf({ notices, directives }: RequestView): RequestView['notices'] {
  return notices ?? (directives.length === 1 ? directives[0]?.notices : undefined);
}

function RunFacts({ run }: { run: NonNullable<RequestView['run']> }) {
  const { input_tokens: input, output_tokens: output } = run.usage;
  return (
    <>
      <span title="tokens read and written">
        <b>{countText(input)}</b> → <b>{countText(output)}</b> tokens
      </span>
      <span title={run.cost === null ? 'The price of a used model is unknown.' : 'US dollars'}>
        cost <b>{run.cost === null ? 'unknown' : moneyText(run.cost)}</b>
      </span>
    </>
  );
}

function Parent({ timeline }: { timeline: RequestTimeline | undefined }) {
  const parent = timeline?.run?.parent_request_id ?? null;
  if (parent === null) return null;
  return (
    <span>
      child of{' '}
      <Link to="/requests/$requestId" params={{ requestId: parent } as never}>
        <code>{parent}</code>
      </Link>
    </span>
  );
}

/** As the service names the requests of a schedule. */
const OF_SCHEDULE = /^schedule\.([A-Za-z0-9._:-]{1,64})\.(?:trigger\..+|\d{8}T\d{6}Z)$/;

function OfSchedule({ requestId }: { requestId: string }) {
  const schedule = OF_SCHEDULE.exec(requestId)?.[1];
  if (schedule === undefined) return null;
  return (
    <span>
      schedule{' '}
      <Link to="/schedules" search={{ schedule } as never}>
        <code>{schedule}</code>
      </Link>
    </span>
  );
}

/** When a run, or the first directive of what only waits, begins; null: it may begin now, or has begun. */
function beginOf({ run, status, directives }: RequestView, now: number): string | null {
  if (status !== 'open') return null;
  if (run !== undefined) return isToCome(run.begins_at, now) ? (run.begins_at ?? null) : null;
  const open = directives.filter((each) => each.status !== 'succeeded' && each.status !== 'failed');
  if (!open.every(({ waiting }) => waiting?.reason === 'later')) return null;
  return open.flatMap(({ waiting }) => waiting?.until ?? []).toSorted()[0] ?? null;
}

const isToCome = (at: string | undefined, now: number): boolean => at !== undefined && Date.parse(at) > now;

/** Something goes on: what else waits shows it at its own row. */
function isRunning({ directives }: RequestView): boolean {
  return directives.some(({ status }) => status === 'running');
}

function stateOf(view: RequestView, now: number): string {
  const { status, run, directives } = view;
  if (beginOf(view, now) !== null) return 'waiting';
  if (run !== undefined)
    return run.status === 'timeout' ? 'failed' : run.status === 'pending' ? 'queued' : run.status;
  const isWaiting = !isRunning(view) && directives.some((each) => each.status === 'waiting');
  if (status === 'open') return isWaiting ? 'waiting' : 'running';
  const stands = directives.filter(({ id }) => redrivenAs(id, directives) === null);
  return stands.some((each) => each.status === 'failed') ? 'failed' : 'succeeded';
}

function waitText({ kind, name, id }: RunWait): string {
  if (kind === 'turn' && name === 'singleton') return `the end of ${id}`;
  return name === undefined ? kind : `${kind} of ${name}`;
}

function stateText(view: RequestView, now: number): string {
  const { run, directives } = view;
  const begins = beginOf(view, now);
  if (begins !== null) return `begins at ${clockText(begins)}`;
  if (run === undefined) {
    const waits = directives.find(
      ({ waiting, status }) => waiting !== undefined && status !== 'failed',
    )?.waiting;
    return waits === undefined || isRunning(view) ? stateOf(view, now) : safeText(`waits: ${waits.message}`);
  }
  if (run.termination_reason !== null) return `${run.status} (${run.termination_reason})`;
  const waits = run.waiting_for.map(waitText);
  if (waits.length === 0) return run.status;
  const rest = waits.length > 2 ? ` and ${waits.length - 2} more` : '';
  return safeText(`waiting for ${waits.slice(0, 2).join(', ')}${rest}`);
}
