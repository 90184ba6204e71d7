/** The head of a request: its task, its state, what it waits for, its time, tokens and cost, and the requests it belongs to.
 *  Never guesses a value that is unknown. */
import { Link } from '@tanstack/react-router';
import type { RequestTimeline } from '../../../src/contract/request/request-timeline.ts';
import { redrivenAs } from '../../../src/contract/directive/redriven.ts';
import { isObject } from '../../../src/contract/json/json-object.ts';
import type { DirectiveView, RequestView } from '../../../src/contract/request/request-view.ts';
import type { RunWait } from '../../../src/contract/run/run.ts';
import { path } from '../../data/api.ts';
import { useRead } from '../../data/queries.ts';
import { scheduleOf } from '../../data/schedule-of.ts';
import { clockText, countText, durationText, moneyText } from '../../data/shown.ts';
import { safeText } from '../../data/safe-text.ts';
import { Status } from '../../parts/status.tsx';
import { Text } from '../../parts/text.tsx';
import { ForeignRunFact } from './foreign-run.tsx';
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
        {view.archived === true && <span className="request-tag">archived</span>}
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
        <ForeignRunFact requestId={view.request_id} />
        <Origin view={view} />
        <Descendants view={view} />
        <OfSchedule requestId={view.request_id} />
        <NoticeList notices={noticesOf(view)} />
      </div>
    </div>
  );
}

/** Notices of the run, or of a lone directive, which has no other place to be seen at once. */
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
      child of <RequestLink id={parent} />
    </span>
  );
}

/** The request that this one repeats or was forked from, and the comparison with it. */
function Origin({ view: { request_id: id, run, directives } }: { view: RequestView }) {
  const first = run === undefined && directives.length === 1 ? directives[0] : undefined;
  const { data } = useRead<DirectiveView>(path`/v1/requests/${id}/directives/${first?.id ?? ''}`, {
    enabled: first !== undefined,
    keepOld: false,
  });
  const of = data?.directive.metadata?.['again_of'];
  const from = run?.origin?.request_id ?? (isObject(of) ? of['request_id'] : undefined);
  if (typeof from !== 'string') return null;
  const turn = run?.origin?.turn;
  return (
    <span>
      {turn === undefined ? 'run again from' : `forked at turn ${turn} of`} <RequestLink id={from} />
      {run !== undefined && (
        <>
          {' '}
          · <CompareLink a={from} b={id} />
        </>
      )}
    </span>
  );
}

/** Requests that run this one again or were forked from it. */
function Descendants({ view: { request_id: id, run, descendants = [] } }: { view: RequestView }) {
  const [last] = descendants.slice(-1);
  if (last === undefined) return null;
  const others = descendants.slice(0, -1);
  return (
    <span>
      copied to <RequestLink id={last} />
      {run !== undefined && (
        <>
          {' '}
          · <CompareLink a={id} b={last} />
        </>
      )}
      {others.length > 0 && (
        <details className="request-copies">
          <summary>
            {others.length} earlier {others.length === 1 ? 'copy' : 'copies'}
          </summary>
          {others.map((each) => (
            <RequestLink key={each} id={each} />
          ))}
        </details>
      )}
    </span>
  );
}

function RequestLink({ id }: { id: string }) {
  return (
    <Link to="/requests/$requestId" params={{ requestId: id } as never}>
      <code>{id}</code>
    </Link>
  );
}

function CompareLink({ a, b }: { a: string; b: string }) {
  return (
    <Link className="request-compare" to="/compare" search={{ a, b } as never}>
      compare
    </Link>
  );
}

function OfSchedule({ requestId }: { requestId: string }) {
  const schedule = scheduleOf(requestId);
  if (schedule === null) return null;
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
  return directives.some(({ status, waiting }) => status === 'running' && waiting === undefined);
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
  // A model call without a name of its own has that of its type.
  if (kind === 'model' && name?.startsWith('llm_') === true) return 'the model';
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
