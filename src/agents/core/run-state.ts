// The state that a run stores between its turns, and the working copy that one transition changes. Never changed below
// its first level: documents of earlier turns share those objects.
import type { AgentDefinition } from '../../contract/run/agent-definition.ts';
import type { ErrorEnvelope } from '../../contract/error-envelope.ts';
import { isObject } from '../../contract/json/json-object.ts';
import type { Message, ToolCall } from '../../contract/model/message.ts';
import type { RunOverrides, RunStatus, UnknownDecision } from '../../contract/run/run.ts';
import { SIGNAL_SOURCES } from '../../contract/signal/signal.ts';
import type { Usage } from '../../contract/model/usage.ts';
import type { AnyStrategy, StrategySignal, ToolCallDirective, WorkRequest } from '../strategies/strategy.ts';
import type {
  EmittedSignal,
  JsonObject,
  LogEntry,
  OutboxEntry,
  RunDocument,
  RunSetup,
  RunSpec,
  Transition,
} from '../turn/transition.ts';
import { limitsOf, mayLoosen } from '../overrides.ts';
import type { CustomDirectiveType } from './directive-exec.ts';

/** A directive that was accepted and has no answer yet. */
export interface OpenCall {
  type: string;
  name?: string;
  /** Tokens reserved for it. */
  tokens?: number;
  /** The strategy's request, by which a resume makes the call again. Absent: a custom directive. */
  request?: WorkRequest;
}

/** A call that was open at the end, and whose answer the resumed run has not read yet. */
export interface ReopenedCall {
  /** A person's decision, where its outcome is unknown. */
  decision: UnknownDecision | null;
  /** The run failed of its answer, which it has read and counted. */
  isFailed: boolean;
}

/** A tool call that waits for approval. */
export interface HeldCall {
  call: ToolCallDirective;
  deadline_at: number;
}

/** A limit that was reached, where the policy is to ask for approval to go on. */
export interface BudgetQuestion {
  id: string;
  limit: BudgetLimit;
  message: string;
  deadline_at: number;
}

export type BudgetLimit = 'max_iterations' | 'max_tool_calls' | 'max_tokens' | 'max_cost';

export interface Timer {
  id: string;
  due_at: number;
  message: unknown;
}

export interface Child {
  tag: string;
  request_id: string;
  agent: string;
  /** `starting`, `running`, or the status its run ended with. */
  status: string;
}

export interface Input {
  id: string;
  content: string;
}

/** An answer that did not end the run, because an input had arrived that no model call had read. */
export interface AnswerInHand {
  result: unknown;
  details?: JsonObject | undefined;
  /** Inputs that a model call has read since, still without an answer. */
  inputs: readonly string[];
}

/** Counters for readers and tests; the last four decide nothing. */
export interface Counters {
  iterations: number;
  tool_calls: number;
  errors: number;
  /** Directives, questions, timers and children named so far: gives each its next name. */
  named: number;
  stale: number;
  late_decisions: number;
  ignored: number;
  compactions: number;
}

/** `is_past`: a newer answer has come, or the model has called the tool without arguments beside it. */
export type UnusableCall = ToolCall & { readonly is_past?: true };

type Restored =
  | 'strategy'
  | 'anchors'
  | 'agent_state'
  | 'open'
  | 'waiting'
  | 'held'
  | 'timers'
  | 'inputs'
  | 'awaits_input'
  | 'answer'
  | 'unusable';

/** State that the end of a run interrupted, and a resume restores. */
export interface Interrupted extends Pick<RunState, Restored> {
  /** The first `kept` messages of the final history, then these. */
  messages: { kept: number; rest: readonly Message[] };
  /** The call of whose answer the run failed; null: it did not fail of an answer. */
  failed: string | null;
  /** Sequence of the signal that is read again, where the run failed of one that is no answer; null: none. */
  signal: number | null;
}

export interface RunState {
  /** The strategy's own state; undefined until it has begun. */
  strategy: unknown;
  options: JsonObject;
  messages: readonly Message[];
  anchors: Readonly<Record<string, string>>;
  agent_state: JsonObject;
  /** Number of changes of `agent_state`. */
  revision: number;
  open: Readonly<Record<string, OpenCall>>;
  /** Calls that a limit holds back, in order. */
  waiting: readonly WorkRequest[];
  held: Readonly<Record<string, HeldCall>>;
  question: BudgetQuestion | null;
  grants: Partial<Record<BudgetLimit, number>>;
  inputs: readonly Input[];
  awaits_input: boolean;
  /** The result of the run if a limit ends it. */
  answer: AnswerInHand | null;
  timers: readonly Timer[];
  children: readonly Child[];
  /** Whether the run knows that its parent has ended, and goes on without one. */
  orphan: boolean;
  /** Calls of the last answers whose arguments cannot be used. Default: none. */
  unusable?: readonly UnusableCall[];
  /** Tool and digest of arguments → how many such calls were answered from the record of a fork. Default: none. */
  recorded?: Readonly<Record<string, number>>;
  /** Every directive id that the run has used. */
  used: Readonly<Record<string, 1>>;
  usage: Usage;
  /** USD; null: the price of a used model is unknown. */
  cost: number | null;
  /** Model calls that reported a cost; their mean is reserved for each one under way. */
  priced_calls: number;
  counters: Counters;
  started_at: number;
  deadline_at: number;
  /** Since when something waits for a person's decision: meanwhile the deadline of the run does not pass. Default: nothing does. */
  asking_since?: number | undefined;
  ended: Extract<RunStatus, 'completed' | 'failed' | 'cancelled' | 'timeout'> | null;
  result: unknown;
  /** Details beside the result. */
  details?: JsonObject | undefined;
  error: ErrorEnvelope | null;
  termination_reason: string | null;
  /** Inputs that the run never read. */
  unread_inputs: readonly string[];
  /** State that the end interrupted. Absent or null: the run goes on, has its final answer, or never began. */
  left?: Interrupted | null;
  /** Number of resumes. Absent: 0. */
  resumed?: number;
  /** Changes of the agent by resumes, beside the overrides of the start. Absent: nothing. */
  changes?: RunOverrides;
  /** Id of each call that was made again → the id by which the strategy knows it. Absent: none. */
  aliases?: Readonly<Record<string, string>>;
  /** Absent: none. */
  reopened?: Readonly<Record<string, ReopenedCall>>;
}

/** The parts that the core is built from, the same for every run. */
export interface CoreParts {
  readonly strategies: ReadonlyMap<string, AnyStrategy>;
  readonly customTypes: ReadonlyMap<string, CustomDirectiveType>;
  /** Strategies whose directives need no check. */
  readonly trusted: ReadonlySet<AnyStrategy>;
  /** Model aliases that `tier_change` may choose; null = any. */
  readonly modelAliases: ReadonlySet<string> | null;
}

/** The working copy of one transition: its members are replaced, their old values stay unchanged. */
export interface Run {
  readonly parts: CoreParts;
  readonly spec: RunSpec;
  readonly setup: RunSetup;
  /** With the overrides applied. */
  readonly agent: AgentDefinition;
  readonly now: number;
  /** The signal that is being read, by the strategy too; null = none: the clock, before a timer fires. */
  signal: StrategySignal | null;
  /** The event's signal, as it is in the log; null = none. */
  readonly read: (StrategySignal & { sequence?: number }) | null;
  /** The state before the event; null: the run begins. */
  readonly before: RunState | null;
  /** The same while the strategy takes a step, for a step that fails; undefined: it takes none. */
  undo: RunState | null | undefined;
  /** The work that the end interrupts, where the history has changed since; null: as at the end. */
  left: Interrupted | null;
  readonly state: RunState;
  outbox: OutboxEntry[];
  readonly signals: EmittedSignal[];
  /** Signals that the service added to the strategy's step: allowed, whatever their type. */
  readonly granted: Set<EmittedSignal>;
  readonly directives: Transition['directives'];
  readonly log: LogEntry[];
}

export interface RunInput {
  parts: CoreParts;
  spec: RunSpec;
  setup: RunSetup;
  now: number;
  signal: StrategySignal | null;
}

const NO_USAGE: Usage = { input_tokens: 0, output_tokens: 0, total_tokens: 0 };

const NO_COUNTS: Counters = {
  iterations: 0,
  tool_calls: 0,
  errors: 0,
  named: 0,
  stale: 0,
  late_decisions: 0,
  ignored: 0,
  compactions: 0,
};

/** A run before its first event. */
export function newRun(input: RunInput): Run {
  const agent = effectiveAgent(input.spec, input.setup.agent);
  const state: RunState = {
    strategy: undefined,
    options: agent.options,
    messages: [],
    anchors: {},
    agent_state: {},
    revision: 0,
    open: {},
    waiting: [],
    held: {},
    question: null,
    grants: {},
    inputs: [],
    awaits_input: false,
    answer: null,
    timers: [],
    children: [],
    orphan: false,
    used: {},
    usage: NO_USAGE,
    cost: 0,
    priced_calls: 0,
    counters: NO_COUNTS,
    started_at: input.now,
    deadline_at: input.now + agent.limits.deadline_ms,
    ended: null,
    result: null,
    error: null,
    termination_reason: null,
    unread_inputs: [],
  };
  return working(input, agent, state, [], null);
}

/** Adds a signal to the turn. Those of the service whose data have `metadata` name the run in it, and its iteration. */
export function emitSignal(run: Run, signal: EmittedSignal): void {
  const { metadata } = signal.data;
  const isNamed = Object.hasOwn(SIGNAL_SOURCES, signal.type) && isObject(metadata);
  run.signals.push(
    isNamed ? { ...signal, data: { ...signal.data, metadata: { ...metadata, ...namesOf(run) } } } : signal,
  );
}

/** The vocabulary of metadata (contract.md §5), as far as it is a run's. */
function namesOf({ spec, state, agent }: Run): JsonObject {
  const { request_id, run_id } = spec;
  return { request_id, run_id, iteration: state.counters.iterations, strategy: agent.strategy };
}

/** The working copy of a document; the document stays as it is. */
export function openRun(input: Omit<RunInput, 'setup'>, document: RunDocument): Run {
  const before = stateOf(document);
  const spec = specOf(input.spec, document);
  const agent = effectiveAgent(spec, document.setup.agent);
  return working({ ...input, spec, setup: document.setup }, agent, { ...before }, document.outbox, before);
}

/** Start of the run, as resumes have changed it. */
function specOf(spec: RunSpec, document: RunDocument): RunSpec {
  const { changes } = stateOf(document);
  if (changes === undefined) return spec;
  const { model: _model, model_alias: _alias, ...others } = spec.overrides;
  const isOtherModel = changes.model !== undefined || changes.model_alias !== undefined;
  const limits = { ...spec.overrides.limits, ...changes.limits };
  return { ...spec, overrides: { ...(isOtherModel ? others : spec.overrides), ...changes, limits } };
}

export function stateOf(document: RunDocument): RunState {
  return document.inner as unknown as RunState;
}

function working(
  input: RunInput,
  agent: AgentDefinition,
  state: RunState,
  outbox: OutboxEntry[],
  before: RunState | null,
): Run {
  const { parts, spec, setup, now, signal } = input;
  return {
    parts,
    spec,
    setup,
    agent,
    now,
    signal,
    read: signal,
    before,
    undo: undefined,
    left: null,
    state,
    outbox,
    signals: [],
    granted: new Set(),
    directives: [],
    log: [],
  };
}

/** The result of the transition, as the shell writes it. */
export function sealRun(run: Run): Transition {
  countAsking(run);
  const document: RunDocument = {
    status: statusOf(run.state),
    setup: run.setup,
    wake_at: wakeAt(run.state),
    outbox: run.outbox,
    inputs: run.state.inputs.length,
    inner: run.state as unknown as JsonObject,
  };
  return { document, signals: run.signals, directives: run.directives, log: run.log };
}

/** The time in which people were asked is added to the deadline of the run. */
function countAsking({ state, now }: Run): void {
  const isAsking = state.question !== null || !isEmpty(state.held);
  if (isAsking) state.asking_since ??= now;
  else if (state.asking_since !== undefined) {
    state.deadline_at += now - state.asking_since;
    state.asking_since = undefined;
  }
}

/** A transition that changes nothing. */
export function unchanged(document: RunDocument): Transition {
  return { document, signals: [], directives: [], log: [] };
}

/** `running` while a call is under way; `waiting` for people, timers and children. */
function statusOf(state: RunState): RunStatus {
  return state.ended ?? (isEmpty(state.open) ? 'waiting' : 'running');
}

function wakeAt(state: RunState): number | null {
  if (state.ended) return null;
  let at = state.asking_since === undefined ? state.deadline_at : Infinity;
  if (state.question) at = Math.min(at, state.question.deadline_at);
  for (const held of Object.values(state.held)) at = Math.min(at, held.deadline_at);
  for (const timer of state.timers) at = Math.min(at, timer.due_at);
  return at;
}

export function isEmpty(record: object): boolean {
  for (const _key in record) return false;
  return true;
}

/** `record` without one of its members. */
export function without<T>(record: Readonly<Record<string, T>>, key: string): Record<string, T> {
  const { [key]: _left, ...rest } = record;
  return rest;
}

export function count(run: Run, name: keyof Counters, by = 1): number {
  const next = run.state.counters[name] + by;
  run.state.counters = { ...run.state.counters, [name]: next };
  return next;
}

/** The agent with the overrides of this run. */
function effectiveAgent(spec: RunSpec, agent: AgentDefinition): AgentDefinition {
  const { overrides } = spec;
  if (isEmpty(overrides)) return agent;
  const {
    limits: _limits,
    approvals,
    busy,
    allowed_tools: _tools,
    output_schema: _schema,
    tool_context,
    ...same
  } = overrides;
  const { policies } = agent;
  return {
    ...agent,
    ...present(same),
    ...(overrides.model_alias !== undefined && overrides.model === undefined ? { model: undefined } : {}),
    tool_context: { ...agent.tool_context, ...tool_context },
    limits: limitsOf(agent, overrides),
    policies: {
      ...policies,
      busy: busy ?? policies.busy,
      // Where a run may only tighten them, each call compares them with the agent's own.
      approvals: mayLoosen(agent) ? { ...policies.approvals, ...approvals } : policies.approvals,
    },
  } as AgentDefinition;
}

function present<T extends object>(members: T): Partial<T> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Partial<T>;
}
