/** Beside the views: what is selected, and what waits for a person.
 *  It must never decide by itself, nor by Enter. */
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { RequestTimeline, TimelineDirective } from '../../../src/contract/request/request-timeline.ts';
import type { DirectiveSummary, RequestView } from '../../../src/contract/request/request-view.ts';
import type { Signal } from '../../../src/contract/signal/signal.ts';
import type { Wait } from '../../../src/contract/request/waiting.ts';
import { durationText } from '../../data/shown.ts';
import { useUrlState } from '../../data/url-state.ts';
import { Button } from '../../parts/button.tsx';
import { Json } from '../../parts/code.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Instant } from '../../parts/instant.tsx';
import { KeyValues } from '../../parts/key-values.tsx';
import { Status } from '../../parts/status.tsx';
import { Text } from '../../parts/text.tsx';
import { ApprovalBox, type OpenApproval } from './approval-box.tsx';
import type { ModelStep, ToolCall } from './conversation.ts';
import { ErrorView } from './conversation-view.tsx';
import { NoticeList } from './notice-list.tsx';
import { QuestionBox } from './question-box.tsx';
import { RedriveDialog } from './redrive-dialog.tsx';
import type { RequestData } from './request-data.ts';
import { waitWord } from './timeline-rows.ts';

interface InspectorProps {
  readonly view: RequestView;
  readonly timeline: RequestTimeline | undefined;
  readonly data: RequestData;
}

export function Inspector({ view, timeline, data }: InspectorProps) {
  const [step, select] = useUrlState('step');
  const [number, selectSignal] = useUrlState('signal');
  const approvals = approvalsOf(view, data.log.signals);
  const asked = view.directives.flatMap(({ inputs = [] }) => inputs);
  const signal = number === '' ? undefined : data.log.signals[Number(number) - 1];
  const isEmpty = step === '' && signal === undefined && approvals.length === 0 && asked.length === 0;
  if (isEmpty) return null;
  const close = (): void => {
    select('');
    selectSignal('');
  };
  return (
    <aside className="inspector" aria-label="Inspector">
      {approvals.map((approval) => (
        <ApprovalBox key={approval.callId} requestId={view.request_id} approval={approval} />
      ))}
      {asked.map((question) => (
        <QuestionBox key={question.input_id} requestId={view.request_id} question={question} />
      ))}
      {(step !== '' || signal !== undefined) && (
        <Button look="ghost" className="inspector-close" aria-label="Close what is selected" onClick={close}>
          <Icon name="cross" />
        </Button>
      )}
      {signal !== undefined && <SignalFacts signal={signal} />}
      {step !== '' && timeline !== undefined && <Selected step={step} timeline={timeline} data={data} />}
    </aside>
  );
}

/** What the view says is open, with the arguments as the log has them. */
function approvalsOf({ run }: RequestView, signals: readonly Signal[]): OpenApproval[] {
  const open = run?.waiting_for.filter(({ kind }) => kind === 'approval' || kind === 'budget') ?? [];
  return open.map(({ id, kind, name, until }) => {
    const asked = signals.findLast(
      (signal) => signal.type === 'ai.tool.approval_requested' && signal.data.call_id === id,
    );
    const data = asked?.type === 'ai.tool.approval_requested' ? asked.data : undefined;
    return {
      callId: id,
      isBudget: kind === 'budget',
      name: name ?? data?.tool_name ?? id,
      until: until ?? data?.deadline_at ?? null,
      reason: data?.reason ?? null,
      arguments: data?.arguments,
    };
  });
}

function SignalFacts({ signal }: { signal: Signal }) {
  return (
    <section className="stack">
      <h2>
        <Text>{signal.type}</Text>
      </h2>
      <Json value={signal} label={`signal ${signal.sequence}`} />
    </section>
  );
}

interface SelectedProps {
  readonly step: string;
  readonly timeline: RequestTimeline;
  readonly data: RequestData;
}

function Selected({ step, timeline, data }: SelectedProps) {
  const [requestId = '', id = '', childId] = step.split('/');
  if (id === 'child' && childId !== undefined) return <ChildFacts requestId={childId} timeline={timeline} />;
  const directive = timeline.directives.find((each) => each.id === id);
  if (requestId !== timeline.request_id)
    return (
      <Link to="/requests/$requestId" params={{ requestId } as never} search={{ step } as never}>
        Open the request of this step
      </Link>
    );
  if (directive === undefined) return <CallFacts callId={id} timeline={timeline} />;
  return <DirectiveFacts directive={directive} timeline={timeline} data={data} />;
}

function ChildFacts({ requestId, timeline }: { requestId: string; timeline: RequestTimeline }) {
  const child = timeline.children.find((each) => each.request_id === requestId);
  return (
    <section className="stack">
      <h2>
        child <Text>{child?.tag ?? requestId}</Text>
      </h2>
      <KeyValues
        rows={[
          ['Status', child && <Status of={child.status} />],
          ['Request', <code key="id">{requestId}</code>],
        ]}
      />
      <Link className="button button-plain" to="/requests/$requestId" params={{ requestId } as never}>
        Open its page
      </Link>
    </section>
  );
}

function CallFacts({ callId, timeline }: { callId: string; timeline: RequestTimeline }) {
  const found = timeline.calls.find((each) => each.call_id === callId);
  return (
    <section className="stack">
      <h2>
        <Text>{found?.name ?? callId}</Text>
      </h2>
      <p className="muted">
        {found?.waits.at(-1)?.open === true
          ? 'It waits for a decision: no directive has been made of it yet.'
          : 'No directive was made of this call.'}
      </p>
    </section>
  );
}

type DirectiveProps = { readonly directive: TimelineDirective } & Omit<SelectedProps, 'step'>;

function DirectiveFacts(props: DirectiveProps) {
  const { id, name, type, status, error, attempts } = props.directive;
  const [isRedriving, setRedriving] = useState(false);
  const { waiting, notices } = props.data.view?.directives.find((each) => each.id === id) ?? {};
  return (
    <section className="stack">
      <div>
        <h2>
          <Text>{name ?? type}</Text>
        </h2>
        <code className="muted">{id}</code>
      </div>
      <DirectiveTimes {...props} />
      {waiting !== undefined && <Waits waiting={waiting} />}
      <NoticeList notices={notices} />
      <DirectiveOutput {...props} />
      {status === 'failed' && attempts.length > 0 && (
        <Button onClick={() => setRedriving(true)}>Redrive…</Button>
      )}
      <RedriveDialog
        requestId={props.timeline.request_id}
        directiveId={id}
        error={error}
        isOpen={isRedriving}
        onClose={() => setRedriving(false)}
      />
    </section>
  );
}

function Waits({ waiting: { reason, message, until } }: { waiting: Wait }) {
  return (
    <p className="inspector-waits">
      {reason === 'later' ? 'It begins at ' : <Text>{message}</Text>}
      {reason !== 'later' && until !== null && (reason === 'limit' ? ', next ' : ', tried again ')}
      {until !== null && <Instant at={until} />}
    </p>
  );
}

/** When its caller said that it begins, and by when at the latest. */
function beginRows({ begins_at: at, start_by_at: by }: Partial<DirectiveSummary>) {
  return [
    ...(at === undefined ? [] : [['May begin', <Instant key="begins" at={at} />] as const]),
    ...(by === undefined ? [] : [['Begins by', <Instant key="by" at={by} />] as const]),
  ];
}

function DirectiveTimes({ directive, timeline, data }: DirectiveProps) {
  const { status, lane, accepted_at: accepted, ended_at: ended, attempts } = directive;
  const until = Date.parse(ended ?? timeline.read_at);
  const workers = attempts.flatMap(({ worker }) => (worker === undefined ? [] : [worker]));
  const worker = workers.length === 0 ? null : workers.join(', ');
  return (
    <KeyValues
      rows={[
        ['Status', <Status key="status" of={status} />],
        ['Took', durationText(until - Date.parse(accepted))],
        ['Accepted', <Instant key="accepted" at={accepted} />],
        ...beginRows(data.view?.directives.find(({ id }) => id === directive.id) ?? {}),
        ['Lane', lane],
        ...timesOf(directive, timeline.read_at),
        ...(attempts.length === 0 ? [] : [['Worker', worker] as const]),
      ]}
    />
  );
}

/** What it was given, what came of it, and what that means. */
function DirectiveOutput({ directive: { id, error }, data }: DirectiveProps) {
  const { entries } = data.conversation;
  const tool = entries.find((entry): entry is ToolCall => entry.kind === 'tool' && entry.callId === id);
  const step = entries.find((entry): entry is ModelStep => entry.kind === 'step' && entry.callId === id);
  const known = tool?.error ?? step?.error ?? null;
  const failure = known ?? (error === null ? null : { type: error, message: '' });
  return (
    <>
      {failure !== null && <ErrorView error={failure} />}
      {tool?.arguments !== undefined && <Json value={tool.arguments} label="arguments" />}
      {tool?.result && <Json value={tool.result.payload} label="result" />}
    </>
  );
}

/** Waits and attempts in their order, each with its length. */
function timesOf({ waits, attempts }: TimelineDirective, readAt: string): (readonly [string, string])[] {
  const lasted = (from: string | null, until: string | null): string =>
    from === null || until === null
      ? 'unknown'
      : durationText(Math.max(0, Date.parse(until) - Date.parse(from)));
  const spans = [
    ...waits.map((wait) => ({
      from: wait.from,
      name: waitWord(wait),
      text: `${lasted(wait.from, wait.open ? readAt : wait.until)}${wait.open ? ' so far' : ''}`,
    })),
    ...attempts.map(({ n, claimed_at: from, ended_at: until, outcome, reason }) => ({
      from,
      name: `attempt ${n}`,
      text: `${lasted(from, until ?? (outcome === 'running' ? readAt : null))} · ${reason ?? outcome}`,
    })),
  ];
  const sorted = spans.toSorted((left, right) => (left.from ?? '').localeCompare(right.from ?? ''));
  return sorted
    .slice(-MOST_TIMES)
    .map(({ name, text }, place) => [repeated(sorted, name, place), text] as const);
}

const MOST_TIMES = 24;

/** Names are keys: the second one of a kind has a number. */
function repeated(spans: readonly { name: string }[], name: string, place: number): string {
  const before = spans.slice(0, place).filter((each) => each.name === name).length;
  return before === 0 ? name : `${name} (${before + 1})`;
}
