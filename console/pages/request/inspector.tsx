/** Beside the views: the selected step or signal, and the approvals and questions that wait for a person.
 *  Never decides by itself, nor by Enter. */
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type {
  RequestTimeline,
  TimelineAttempt,
  TimelineDirective,
} from '../../../src/contract/request/request-timeline.ts';
import type { DirectiveSummary, RequestView } from '../../../src/contract/request/request-view.ts';
import type { Signal } from '../../../src/contract/signal/signal.ts';
import type { Wait } from '../../../src/contract/request/waiting.ts';
import { useWhyNot } from '../../data/session.ts';
import { durationText } from '../../data/shown.ts';
import { useUrlState } from '../../data/url-state.ts';
import { Button } from '../../parts/button.tsx';
import { Json } from '../../parts/json.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Instant } from '../../parts/instant.tsx';
import { KeyValues } from '../../parts/key-values.tsx';
import { ResultView } from '../../parts/result-view.tsx';
import { Status } from '../../parts/status.tsx';
import { Text } from '../../parts/text.tsx';
import { ApprovalBox, type OpenApproval } from './approval-box.tsx';
import type { ModelStep, ToolCall } from './conversation.ts';
import { ErrorView, Recorded } from './conversation-view.tsx';
import { FindOut } from './find-out.tsx';
import { ModelFacts } from './model-facts.tsx';
import { NoticeList } from './notice-list.tsx';
import { QuestionBox } from './question-box.tsx';
import { RedriveDialog } from './redrive-dialog.tsx';
import type { Act } from './request-actions.tsx';
import { type RequestData, whyArchived } from './request-data.ts';
import { waitWord } from './timeline-rows.ts';

interface InspectorProps {
  readonly view: RequestView;
  readonly timeline: RequestTimeline | undefined;
  readonly data: RequestData;
  /** Directive whose error is under the title; null: none. */
  readonly failedId: string | null;
  readonly onAsk: (act: Act) => void;
}

export function Inspector({ view, timeline, data, failedId, onAsk }: InspectorProps) {
  const [step, select] = useUrlState('step');
  const [number, selectSignal] = useUrlState('signal');
  const approvals = approvalsOf(view, data.log.signals);
  const asked = view.directives.flatMap(({ inputs = [] }) =>
    inputs.filter(({ key }) => key !== APPROVAL_KEY),
  );
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
      {step !== '' && timeline !== undefined && (
        <Selected {...{ step, view, timeline, data, failedId, onAsk }} />
      )}
    </aside>
  );
}

/** Key of the question with which the service asks whether a call is approved, as src/contract/tool/tool-question.ts has it. */
const APPROVAL_KEY = '@approval';

/** Calls and budgets that wait for a decision: those of the run, and calls that the policy of their server holds. */
function approvalsOf({ run, directives }: RequestView, signals: readonly Signal[]): OpenApproval[] {
  const open = run?.waiting_for.filter(({ kind }) => kind === 'approval' || kind === 'budget') ?? [];
  const ofRun = open.map(({ id, kind, name, until }) => {
    const asked = signals.findLast(
      (signal) => signal.type === 'ai.tool.approval_requested' && signal.data.call_id === id,
    );
    const data = asked?.type === 'ai.tool.approval_requested' ? asked.data : undefined;
    return {
      callId: id,
      isEditable: kind === 'approval',
      name: name ?? data?.tool_name ?? id,
      until: until ?? data?.deadline_at ?? null,
      reason: data?.reason ?? null,
      arguments: data?.arguments,
    };
  });
  const ofServers = directives.flatMap(({ id, inputs = [] }) =>
    inputs
      .filter(({ key }) => key === APPROVAL_KEY)
      .map(({ input_id: inputId, message, deadline_at: until }) => {
        const name = askingTool(signals, inputId) ?? id;
        return { callId: id, isEditable: false, name, until, reason: message, arguments: undefined };
      }),
  );
  return [...ofRun, ...ofServers];
}

/** null: the signal is not read yet. */
function askingTool(signals: readonly Signal[], inputId: string): string | null {
  for (const { type, data } of signals)
    if (type === 'ai.tool.input_requested' && data.input_id === inputId) return data.tool_name;
  return null;
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

interface SelectedProps extends InspectorProps {
  readonly step: string;
  readonly timeline: RequestTimeline;
}

function Selected({ step, ...props }: SelectedProps) {
  const { timeline } = props;
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
  return <DirectiveFacts {...props} directive={directive} />;
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
  const { directive, timeline, view } = props;
  const { id, name, type } = directive;
  const { waiting, notices } = view.directives.find((each) => each.id === id) ?? {};
  return (
    <section className="stack" aria-label={`Step ${id}`}>
      <div>
        <h2>
          <Text>{name ?? type}</Text>
        </h2>
        <code className="muted">{id}</code>
      </div>
      <DirectiveActions {...props} />
      {type === 'tool_exec' && directive.error === 'outcome_unknown' && view.archived !== true && (
        <FindOut requestId={timeline.request_id} directiveId={id} />
      )}
      <DirectiveTimes {...props} />
      {waiting !== undefined && <Waits waiting={waiting} />}
      <NoticeList notices={notices} />
      <DirectiveOutput {...props} />
      {MODEL_TYPES.has(type) && <ModelFacts requestId={timeline.request_id} directive={directive} />}
    </section>
  );
}

const MODEL_TYPES: ReadonlySet<string> = new Set(['llm_stream', 'llm_generate']);
/** Id of the model call of a turn of a run. */
const MODEL_CALL = /^model-(?<turn>\d{1,7})$/;

/** Ways to make the step again. */
function DirectiveActions({ directive, timeline, view, onAsk }: DirectiveProps) {
  const { id, type, name, status, error, attempts, ended_at: ended } = directive;
  const [isRedriving, setRedriving] = useState(false);
  const why = useWhyNot('submit');
  const turn = view.run === undefined ? undefined : MODEL_CALL.exec(id)?.groups?.['turn'];
  const isAlone = view.run === undefined && view.directives.length === 1;
  if (ended === null) return null;
  return (
    <div className="row">
      {turn !== undefined && (
        <Button why={why} onClick={() => onAsk({ kind: 'fork', at: Number(turn) })}>
          Fork here…
        </Button>
      )}
      {!isAlone && (type === 'tool_exec' || MODEL_TYPES.has(type)) && (
        <Button why={why} onClick={() => onAsk({ kind: 'again', directiveId: id })}>
          Run this again…
        </Button>
      )}
      {type === 'tool_exec' && name !== null && (
        <Link
          className="button button-plain"
          to="/tools/$toolName"
          params={{ toolName: name } as never}
          search={{ from: `${timeline.request_id}/${id}` } as never}
        >
          Open in the tool's form
        </Link>
      )}
      {status === 'succeeded' && (
        <Link
          className="button button-plain"
          to="/differences"
          search={{ a: `${timeline.request_id}/${id}` } as never}
        >
          Compare its result
        </Link>
      )}
      {status === 'failed' && attempts.length > 0 && view.run === undefined && !isAlone && (
        <Button why={why ?? whyArchived(view)} onClick={() => setRedriving(true)}>
          Redrive…
        </Button>
      )}
      <RedriveDialog
        requestId={timeline.request_id}
        directiveId={id}
        error={error}
        isOpen={isRedriving}
        onClose={() => setRedriving(false)}
      />
    </div>
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

function DirectiveTimes({ directive, timeline, view }: DirectiveProps) {
  const { status, lane, accepted_at: accepted, ended_at: ended } = directive;
  const until = Date.parse(ended ?? timeline.read_at);
  return (
    <KeyValues
      rows={[
        ['Status', <Status key="status" of={status} />],
        ['Took', durationText(until - Date.parse(accepted))],
        ['Accepted', <Instant key="accepted" at={accepted} />],
        ...beginRows(view.directives.find(({ id }) => id === directive.id) ?? {}),
        ['Lane', lane],
        ...timesOf(directive, timeline.read_at),
      ]}
    />
  );
}

/** The error, the arguments and the result of a step. */
function DirectiveOutput({ directive: { id, error }, timeline, data, failedId }: DirectiveProps) {
  const { entries } = data.conversation;
  const tool = entries.find((entry): entry is ToolCall => entry.kind === 'tool' && entry.callId === id);
  const step = entries.find((entry): entry is ModelStep => entry.kind === 'step' && entry.callId === id);
  const known = tool?.error ?? step?.error ?? null;
  const failure = known ?? (error === null ? null : { type: error, message: '' });
  return (
    <>
      {failure !== null && failedId !== id && <ErrorView error={failure} />}
      <Recorded of={tool?.recorded ?? null} />
      {tool?.arguments !== undefined && <Json value={tool.arguments} label="arguments" />}
      {tool?.result && (
        <ResultView payload={tool.result.payload} requestId={timeline.request_id} callId={id} />
      )}
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
    ...attempts.map((attempt) => ({
      from: attempt.claimed_at,
      name: `attempt ${attempt.n}`,
      text: attemptText(attempt, lasted(attempt.claimed_at, endOf(attempt, readAt))),
    })),
  ];
  const sorted = spans.toSorted((left, right) => (left.from ?? '').localeCompare(right.from ?? ''));
  return sorted
    .slice(-MOST_TIMES)
    .map(({ name, text }, place) => [repeated(sorted, name, place), text] as const);
}

const MOST_TIMES = 24;

const endOf = ({ ended_at: until, outcome }: TimelineAttempt, readAt: string): string | null =>
  until ?? (outcome === 'running' ? readAt : null);

/** How long it took and how it ended; the first output, the model and the worker where they are known. */
function attemptText(attempt: TimelineAttempt, length: string): string {
  const { claimed_at: from, first_output_at: first, outcome, reason, model, worker } = attempt;
  const isStreamed = from !== null && first !== null && model !== null;
  return [
    length,
    reason ?? outcome,
    isStreamed ? `first token after ${durationText(Math.max(0, Date.parse(first) - Date.parse(from)))}` : '',
    model ?? '',
    worker === undefined ? '' : `on ${worker}`,
  ]
    .filter((part) => part !== '')
    .join(' · ');
}

/** Names are keys: the second one of a kind has a number. */
function repeated(spans: readonly { name: string }[], name: string, place: number): string {
  const before = spans.slice(0, place).filter((each) => each.name === name).length;
  return before === 0 ? name : `${name} (${before + 1})`;
}
