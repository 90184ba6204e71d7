/** The promises about one directive: one end, no hidden repeat, budgets kept, cancellations honest, results its own.
 *  It must never judge by how long something took, except against the directive's own deadline. */
import {
  type Case,
  during,
  ENDS_AN_ATTEMPT,
  errorType,
  MAX_REDELIVERIES,
  servedMs,
  stopsDuring,
  TOOL_FAULTS,
} from './directive-case.ts';
import type { Evidence } from './evidence.ts';
import { notInTime } from './judgement.ts';
import { checkLater, deadlineAt } from './later-rules.ts';
import { checkModelCall, modelErrorIsExplained } from './model-rules.ts';
import { checkQuestions, checkTask, roundsOf } from './question-rules.ts';
import { TERMINAL_TYPES, type WireDirective, type WireSignal } from './wire.ts';

/** All processes share one clock; only roundings differ. */
/** Errors that a claim may record where it makes no attempt. */
const ENDS_WITHOUT_ATTEMPT: ReadonlySet<string> = new Set([
  'worker_lost',
  'outcome_unknown',
  'cancelled',
  'deadline_exceeded',
]);
const ROUNDING_MS = 20;
/** How long after its deadline a directive may end: Redis may have been away, and a sweeper must take over. */
const LATE_MS = 30_000;

/** The longest call, a lease, and ample time to notice its end. */
const LONGEST_ALONE_MS = 25_000;

export function checkDirective(evidence: Evidence, view: WireDirective): string[] {
  const planned = evidence.planned.get(view.id);
  if (planned === undefined) return [];
  const signals = evidence.signals.filter(
    ({ causationid, type }) => causationid === view.id && type !== 'ai.tool.approval_decided',
  );
  const terminals = signals.filter(({ type }) => TERMINAL_TYPES.has(type));
  const [terminal] = terminals;
  const named = (sentence: string): string => `${view.id}: ${sentence}`;
  if (terminal === undefined) {
    const missing = named('no terminal signal');
    return [view.ended_at === null ? notInTime(missing) : missing];
  }
  const found = terminals.length > 1 ? [named(`${terminals.length} terminal signals`)] : [];
  const result = terminal.data.result ?? null;
  const executions = evidence.executions.get(view.id) ?? [];
  const tasks = evidence.tasks.get(view.id) ?? [];
  const all: Case = { evidence, view, planned, signals, terminal, result, executions, tasks };
  const rules = [
    checkModelCall,
    checkOrder,
    checkWaits,
    checkAttempts,
    checkExecutions,
    checkUnknownOutcome,
    checkTakeover,
    checkResult,
    checkTrace,
    checkLateness,
    checkLater,
    checkOwnView,
    checkCancels,
    checkVerdicts,
    checkTask,
    checkQuestions,
  ];
  return [...found, ...rules.flatMap((rule) => rule(all)).map(named)];
}

/** `ai.tool.started` at most once and first, the terminal signal last. */
function checkOrder({ view, planned, signals, terminal, result, executions }: Case): string[] {
  const found: string[] = [];
  const started = signals.filter(({ type }) => type === 'ai.tool.started');
  if (started.length > 1) found.push(`${started.length} started signals`);
  const first = signals.find(({ type }) => type !== 'directive.waiting');
  if (started.length === 1 && first?.type !== 'ai.tool.started') found.push('a signal before it started');
  const isCall = planned.model === null;
  if (!isCall && started.length > 0) found.push('a model call with a started signal');
  if (isCall && started.length === 0 && executions.length > 0)
    found.push('executed, and never said to have started');
  if (signals.at(-1) !== terminal) found.push(`${signals.at(-1)?.type} after the terminal signal`);
  const succeeded = result === null || result.ok || terminal.data.metadata?.['operation'] === undefined;
  if (view.status !== (succeeded ? 'succeeded' : 'failed')) found.push(`its status is ${view.status}`);
  return found;
}

/** Each reason to wait is logged once, counted pauses when their number has doubled, and none of them by an attempt. */
function checkWaits({ signals }: Case): string[] {
  const waits = signals.filter(({ type }) => type === 'directive.waiting');
  const counted = waits.filter(({ data }) => data['pauses'] !== undefined);
  const reasons = waits
    .filter(({ data }) => data['pauses'] === undefined)
    .map(({ data }) => String(data['reason']));
  const found = waits.some(({ attempt }) => attempt !== undefined) ? ['an attempt says that it waits'] : [];
  if (counted.some(({ data }) => !Number.isInteger(Math.log2(Number(data['pauses'])))))
    found.push('a pause is logged that does not double the number of the one before');
  if (new Set(reasons).size === reasons.length) return found;
  return [...found, `said more than once why it waits: ${reasons.join(', ')}`];
}

/** The log has the attempts in order, and agrees with the counters. */
function checkAttempts(all: Case): string[] {
  const { view, planned, signals, terminal, result } = all;
  const found: string[] = [];
  const attempts = signals.flatMap(({ attempt }) => attempt ?? []);
  if (attempts.some((attempt, index) => attempt < (attempts[index - 1] ?? 1)))
    found.push(`attempts speak out of turn: ${attempts.join(' ')}`);
  // Given up after a worker's death: the attempt that died was the last one.
  const givenUp =
    view.redeliveries > 0 && ['outcome_unknown', 'worker_lost'].includes(errorType(result) ?? '');
  const last = view.failures + view.redeliveries + (givenUp ? 0 : 1);
  // An attempt that had reported something when its worker was stopped keeps its number.
  const left = stopsDuring(all) + roundsOf(all);
  const { attempt = last } = terminal;
  // A claim that was cancelled before its call made no attempt.
  const unbegun = errorType(result) === 'cancelled' ? 1 : 0;
  if (attempt < last - unbegun || attempt > last + left)
    found.push(`attempt ${attempt} ended it, the last one was ${last}`);
  if (terminal.attempt !== undefined && view.attempts !== attempt)
    found.push(`${view.attempts} attempts are counted, the last one was ${attempt}`);
  const retries = signals.filter(({ type }) => type === 'directive.retry_scheduled');
  const counted = retries.map(({ data }) => Number(data['failures']));
  if (counted.some((failures, index) => failures !== index + 1) || view.failures !== retries.length)
    found.push(`${view.failures} failures, retries say ${counted.join(' ')}`);
  const mostRetries = (planned.maxRetries + 1) * Math.max(planned.model?.chain.length ?? 1, 1) - 1;
  if (retries.length > mostRetries) found.push(`${retries.length} retries of ${mostRetries}`);
  // When no further attempt is allowed, a claim only records the end; its worker may die during that, too.
  const recorded = planned.effect === 'once' || ENDS_WITHOUT_ATTEMPT.has(errorType(result) ?? '');
  if (view.redeliveries > MAX_REDELIVERIES && !recorded) found.push(`${view.redeliveries} redeliveries`);
  return found;
}

function checkExecutions(all: Case): string[] {
  const { view, planned, signals, executions } = all;
  const found: string[] = [];
  const keys = new Set(executions.map(({ key }) => key));
  if (keys.size > 1 || keys.has('undefined')) found.push(`executions with the keys ${[...keys].join(', ')}`);
  const answered = answeredRetries(signals);
  if (planned.effect === 'once' && executions.length > 1 + answered)
    found.push(`a once tool was executed ${executions.length} times, ${answered} retries were due`);
  // What a stopped worker leaves goes to another one, and counts as no failure.
  const stops = stopsDuring(all);
  const budget = 1 + view.failures + Math.min(view.redeliveries, MAX_REDELIVERIES) + stops;
  // A call that must wait has not been served.
  const made = executions.filter(({ fault }) => fault !== 'limit').length;
  if (made > budget)
    found.push(
      `${made} executions, the budget is ${budget} (${view.failures} failures, ${view.redeliveries} redeliveries, ${stops} stops)`,
    );
  if (view.redeliveries > 0 && during(all, ENDS_AN_ATTEMPT).length === 0)
    // A worker that waits longer for a processor than its lease lasts counts as one that died.
    found.push(notInTime('redelivered, and no worker had died'));
  return found;
}

/** Retries because of the tool's own answer. */
function answeredRetries(signals: readonly WireSignal[]): number {
  const retries = signals.filter(({ type }) => type === 'directive.retry_scheduled');
  return retries.filter(({ data }) => (data['error'] as { type?: string }).type === 'execution_error').length;
}

function checkResult(all: Case): string[] {
  const { planned, result, terminal } = all;
  if (planned.expect === 'immediate') return checkImmediate(all);
  if (planned.model !== null) return result === null || result.ok ? [] : checkError(all, result.error.type);
  if (terminal.type !== 'ai.tool.result' || result === null) return [`ended in ${terminal.type}`];
  return result.ok ? checkAnswer(all, result.payload) : checkError(all, result.error.type);
}

function checkImmediate({ planned, terminal, result }: Case): string[] {
  const said = result === null ? terminal.data['message'] : !result.ok && result.error.message;
  return said === planned.id ? [] : [`says ${JSON.stringify(said)}`];
}

/** How a call to a hostile server or provider may end: too much, too late, or unavailable. */
const HOSTILE_ENDS: ReadonlySet<string> = new Set([
  'invalid_result',
  'provider_error',
  'executor',
  'network',
  'timeout',
]);

interface Answer {
  readonly label: string;
  readonly sum: number;
  /** null: the answer does not show it. */
  readonly execution: number | null;
}

/** The tool's own answer to this directive, from an execution that was counted. */
function checkAnswer({ planned, executions }: Case, payload: unknown): string[] {
  const { label, sum, execution } = readAnswer(payload);
  if (label !== planned.label || sum !== planned.sum)
    return [
      `its result is ${JSON.stringify({ label, sum })}, expected ${JSON.stringify({ label: planned.label, sum: planned.sum })}`,
    ];
  const found: string[] = [];
  if (planned.expect === 'tool_failure' || planned.expect === 'unknown_tool') found.push('succeeded');
  if (execution === null)
    return executions.length > 0 ? found : [...found, 'succeeded, and was never executed'];
  if (!executions.some((line) => line.execution === execution))
    found.push(`execution ${execution} was not counted`);
  if (execution <= planned.toolFailures) found.push(`execution ${execution} should have failed`);
  if (planned.effect === 'once' && executions.length !== execution)
    found.push(`execution ${execution} of ${executions.length} succeeded`);
  return found;
}

function readAnswer(payload: unknown): Answer {
  const nothing = { label: String(payload), sum: Number.NaN, execution: null };
  try {
    const value: unknown = typeof payload === 'string' ? JSON.parse(payload) : payload;
    return typeof value === 'object' && value !== null ? { ...nothing, ...value } : nothing;
  } catch {
    return nothing;
  }
}

/** Ends that come from outside, at any point of an attempt. */
const ENDS_FROM_OUTSIDE: ReadonlySet<string> = new Set(['deadline_exceeded', 'cancelled']);

/** A call that was executed, and did not fail by its own answer, may have happened: its end reports that. */
function checkUnknownOutcome({ planned, signals, result, executions, tasks }: Case): string[] {
  if (result === null || result.ok || planned.effect !== 'once') return [];
  // Its server may have said that it stopped in time.
  if (tasks.some(({ what }) => what === 'cancelled')) return [];
  const { type, details } = result.error;
  if (planned.model === null && details?.['outcome'] === 'unknown' && !hasBegun({ signals }))
    return [`ended as ${type}, may have happened, and was never said to have started`];
  const failed = Math.max(planned.toolFailures, answeredRetries(signals));
  if (!ENDS_FROM_OUTSIDE.has(type) || executions.length <= failed) return [];
  return details?.['outcome'] === 'unknown'
    ? []
    : [`executed ${executions.length} times, and ended as ${type} without a word that it may have happened`];
}

/** Only of such a call may somebody say that it may have happened. */
function hasBegun({ signals }: Pick<Case, 'signals'>): boolean {
  return signals.some(({ type }) => type === 'ai.tool.started');
}

/** A worker's death is noticed long before the deadline of its work. */
function checkTakeover({ planned, view, result, executions, evidence }: Case): string[] {
  if (result === null || result.ok || result.error.type !== 'deadline_exceeded') return [];
  const { status, attempts } = result.error.details;
  const last = executions.at(-1);
  if (last === undefined || status !== 'running' || attempts !== executions.length) return [];
  const aloneMs = servedMs(evidence.faults, last.at, deadlineAt(view, planned));
  if (planned.expect !== 'answer' || aloneMs < LONGEST_ALONE_MS) return [];
  return [
    notInTime(
      `its worker was gone, and nobody took it over in ${aloneMs} ms with workers until its deadline`,
    ),
  ];
}

/** null: an error of this type may be the end; otherwise a sentence. */
function checkError(all: Case, type: string): string[] {
  const { planned, evidence, view, terminal, executions } = all;
  const unless = (allowed: boolean, why: string): string[] => (allowed ? [] : [`ended as ${type}, ${why}`]);
  if (planned.expect === 'hostile' && HOSTILE_ENDS.has(type)) return [];
  const explained = modelErrorIsExplained(all, type);
  if (explained !== null) return unless(explained, 'and the model had done nothing of the kind');
  switch (type) {
    case 'cancelled': {
      const asked = evidence.history.cancels.some(({ target }) => target === null || target === view.id);
      return unless(asked, 'and nobody had cancelled it');
    }
    case 'deadline_exceeded': {
      const endedAt = Date.parse(terminal.time);
      const earlyMs = deadlineAt(view, planned) - endedAt;
      return unless(earlyMs <= ROUNDING_MS, `${earlyMs} ms before its deadline`);
    }
    case 'outcome_unknown':
      return [
        // A worker that dies over a tool nobody has leaves a call of a tool whose effect nobody knows.
        ...unless(planned.effect === 'once' || planned.expect === 'unknown_tool', 'and may be repeated'),
        ...unless(during(all, ENDS_AN_ATTEMPT).length > 0, notInTime('and no worker had died')),
        ...unless(hasBegun(all), 'and was never said to have started'),
      ];
    case 'worker_lost':
      return unless(
        view.redeliveries > MAX_REDELIVERIES && (planned.effect !== 'once' || executions.length === 0),
        `after ${view.redeliveries}`,
      );
    case 'network':
      return unless(during(all, TOOL_FAULTS).length > 0, 'and no server had died');
    case 'timeout':
      return unless(planned.timeoutMs !== null, 'and had none of its own');
    case 'execution_error':
      return unless(planned.toolFailures > 0 && executions.length > 0, 'and the tool had not failed');
    case 'expired':
      return unless((planned.wait?.startByMs ?? null) !== null, 'and might begin whenever');
    case 'unknown_tool':
      return unless(planned.expect === 'unknown_tool', 'and the tool is there');
    default:
      return [`ended as ${type}`];
  }
}

/** One trace from the submission to the end, if the submission had one. */
function checkTrace({ evidence, view, signals }: Case): string[] {
  const traces = new Set(signals.map(({ traceparent }) => traceparent?.split('-')[1]));
  if (traces.size > 1) return [`${traces.size} traces`];
  const sent = evidence.history.submissions.find(({ directives }) =>
    directives.some(({ id }) => id === view.id),
  );
  const wanted = sent?.traceparent?.split('-')[1];
  return wanted === undefined || traces.has(wanted) ? [] : ['another trace than its submission'];
}

/** Nothing waits for ever. */
function checkLateness({ planned, view, terminal }: Case): string[] {
  const lateMs = Date.parse(terminal.time) - deadlineAt(view, planned);
  return lateMs > LATE_MS ? [notInTime(`ended ${lateMs} ms after its deadline`)] : [];
}

/** A reader of the directive alone gets the same end. */
function checkOwnView({ evidence, view, terminal }: Case): string[] {
  const { single } = evidence;
  if (single === null || single.id !== view.id || single.resultId === terminal.id) return [];
  return [`asked for alone it ended with ${single.resultId}, the log says ${terminal.id}`];
}

/** The answer to a cancellation agrees with what happened. */
function checkCancels({ evidence, view, terminal, result, executions }: Case): string[] {
  const found: string[] = [];
  const answers = evidence.history.cancels.flatMap(({ verdicts, answeredAt }) => {
    const verdict = verdicts.get(view.id);
    return verdict === undefined ? [] : [{ ...verdict, answeredAt }];
  });
  const ended = answers.filter(({ status }) => status === 'cancelled');
  if (ended.length > 1) found.push(`${ended.length} cancellations were told that they ended it`);
  for (const { answeredAt } of ended) {
    if (result === null || result.ok || result.error.type !== 'cancelled')
      found.push('said to be cancelled, and is not');
    const late = executions.filter(({ at }) => at > answeredAt);
    if (late.length > 0)
      found.push(
        `executed ${late.map(({ at }) => at - answeredAt).join(', ')} ms after it was said to be cancelled`,
      );
  }
  for (const { status, resultId } of answers) {
    if (status === 'ended' && resultId !== null && resultId !== terminal.id)
      found.push('a cancellation was told of another end');
  }
  return found;
}

/** New once, existing from then on. */
function checkVerdicts({ evidence, view }: Case): string[] {
  const answers = evidence.history.submissions.flatMap(({ verdicts, sentAt, answeredAt }) => {
    const verdict = verdicts.get(view.id);
    return verdict === undefined ? [] : [{ verdict, sentAt, answeredAt }];
  });
  const accepted = answers.filter(({ verdict }) => verdict === 'accepted');
  if (accepted.length > 1) return [`accepted ${accepted.length} times`];
  const [first] = accepted;
  if (first === undefined) return [];
  const before = answers.some(
    ({ verdict, answeredAt }) => verdict === 'existing' && answeredAt < first.sentAt,
  );
  return before ? ['existed before it was accepted'] : [];
}
