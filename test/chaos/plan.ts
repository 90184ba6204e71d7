/** What the driver will do with one request, drawn from the seed before anything is sent.
 *  It must never depend on what the service answers: the same seed plans the same requests. */
import { CALL_KINDS, type CallKind, shapeOf } from './call-shape.ts';
import { planFlow, type PlannedFlow } from './flow-plan.ts';
import type { PlannedWait } from './later-rules.ts';
import { isModelKind, MODEL_KINDS, planModelCall, type PlannedModel } from './model-plan.ts';
import { chanceOf, type Chance } from './random.ts';

export type Effect = 'read' | 'idempotent' | 'once';

/**
 * What may become of a directive beside the faults of the run.
 * `answer`: the sum; `tool_failure`: the tool's own error; `immediate`: its own words, at once; `turn`: the model's words or
 * vectors; `model_failure`: the model's own error; `hostile`: an error that says what the other side did.
 */
export type Expectation =
  | 'answer'
  | 'tool_failure'
  | 'timeout'
  | 'deadline'
  | 'expired'
  | 'unknown_tool'
  | 'immediate'
  | 'turn'
  | 'model_failure'
  | 'unknown_model'
  | 'hostile';

export interface PlannedDirective {
  readonly id: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly kind: string;
  readonly expect: Expectation;
  /** null: it calls no tool. */
  readonly effect: Effect | null;
  readonly label: string;
  /** Its tool asks a person. */
  readonly asks?: boolean;
  readonly sum: number;
  /** Executions that fail before one succeeds. */
  readonly toolFailures: number;
  /** Of each model, if it calls one. */
  readonly maxRetries: number;
  readonly timeoutMs: number | null;
  readonly deadlineMs: number;
  /** Absent: it may begin at once. */
  readonly wait?: PlannedWait;
  /** Its end is delivered to the receiver. */
  readonly notifies?: boolean;
  /** Absent, or null: it asks for no turn and no limit. */
  readonly flow?: PlannedFlow | null;
  /** null: it calls no model. */
  readonly model: PlannedModel | null;
}

export type FollowUp =
  | { readonly kind: 'repeat'; readonly afterMs: number; readonly single: boolean }
  | { readonly kind: 'conflict'; readonly afterMs: number; readonly bystanders: readonly PlannedDirective[] }
  | { readonly kind: 'invalid'; readonly afterMs: number; readonly bystanders: readonly PlannedDirective[] };

export interface PlannedCancel {
  /** From the first attempt of the submission. */
  readonly afterMs: number;
  /** null: the whole request. */
  readonly id: string | null;
  /** How many at the same time. */
  readonly copies: number;
}

/** Another priority for what may wait. */
export interface PlannedChange {
  readonly afterMs: number;
  readonly directive: PlannedDirective;
  readonly priority: number;
}

/** One submission with what follows it. */
export interface Act {
  readonly atMs: number;
  readonly directives: readonly PlannedDirective[];
  readonly traceparent: string | null;
  /** How many times at the same time. */
  readonly copies: number;
  /** The first attempt is cut off after this long; null: it is not. */
  readonly cutAfterMs: number | null;
  /** A lost answer is not requested again. */
  readonly givesUp: boolean;
  /** `wait_ms` of the submission; null: none. */
  readonly waitMs: number | null;
  readonly followUps: readonly FollowUp[];
  readonly cancels: readonly PlannedCancel[];
  readonly changes: readonly PlannedChange[];
}

export interface Plan {
  readonly requestId: string;
  readonly acts: readonly Act[];
  /** A reader follows the log live. */
  readonly followed: boolean;
}

/** Of those some ask for a turn, or are under a limit. */
const FLOWING: ReadonlySet<CallKind> = new Set([
  'quick',
  'steady',
  'flaky',
  'failing',
  'timing_out',
  'large',
]);
const SERVERS = ['alpha', 'beta', 'gamma'] as const;
const TOOL_EFFECTS = { read: 'read', idempotent: 'idempotent', once: 'once', plain: 'idempotent' } as const;
const KINDS = {
  ...CALL_KINDS,
  tool_error: 3,
  request_error: 2,
  ...MODEL_KINDS,
} as const;
/** From the acceptance on. */
export const LONGEST_DEADLINE_MS = 65_000;
const LONGEST_WORK_MS = 60_000;
/** The endpoint that is notified of ends. */
export const RECEIVER = 'chaos';
const SHORTEST_DEADLINE_MS = 45_000;

export function planRequest(seed: string, number: number): Plan {
  const chance = chanceOf(`${seed}/request/${number}`);
  const requestId = `chaos-${seed}-${number}`;
  const ids = { last: 0 };
  const acts = Array.from({ length: chance.between(1, 4) }, () => planAct(chance, requestId, ids));
  return { requestId, acts, followed: chance.percent(15) };
}

interface Ids {
  last: number;
}

function planAct(chance: Chance, requestId: string, ids: Ids): Act {
  const size = chance.percent(55) ? 1 : chance.between(2, 12);
  const directives = Array.from({ length: size }, () => planDirective(chance, requestId, ids));
  const givesUp = chance.percent(5);
  return {
    atMs: chance.between(0, 6_000),
    directives,
    traceparent: chance.percent(50) ? traceparent(chance) : null,
    copies: chance.percent(12) ? chance.between(2, 4) : 1,
    cutAfterMs: givesUp || chance.percent(6) ? chance.between(0, 30) : null,
    givesUp,
    waitMs: chance.percent(12) ? chance.between(50, 5_000) : null,
    followUps: givesUp ? [] : planFollowUps(chance, requestId, ids, directives),
    cancels: planCancels(chance, directives),
    changes: planChanges(chance, directives),
  };
}

function planFollowUps(
  chance: Chance,
  requestId: string,
  ids: Ids,
  directives: readonly PlannedDirective[],
): FollowUp[] {
  const followUps: FollowUp[] = [];
  const bystanders = () =>
    Array.from({ length: chance.between(0, 3) }, () => planDirective(chance, requestId, ids));
  if (chance.percent(20))
    followUps.push({
      kind: 'repeat',
      afterMs: chance.between(0, 4_000),
      single: chance.percent(50),
    });
  if (chance.percent(8))
    followUps.push({ kind: 'conflict', afterMs: chance.between(0, 3_000), bystanders: bystanders() });
  if (chance.percent(4) && directives.length > 0)
    followUps.push({ kind: 'invalid', afterMs: chance.between(0, 3_000), bystanders: bystanders() });
  return followUps;
}

function planCancels(chance: Chance, directives: readonly PlannedDirective[]): PlannedCancel[] {
  const cancels: PlannedCancel[] = [];
  const copies = (): number => (chance.percent(20) ? 2 : 1);
  if (chance.percent(18))
    cancels.push({ afterMs: chance.between(0, 4_000), id: chance.pick(directives).id, copies: copies() });
  if (chance.percent(5)) cancels.push({ afterMs: chance.between(0, 5_000), id: null, copies: copies() });
  return cancels;
}

function planChanges(chance: Chance, directives: readonly PlannedDirective[]): PlannedChange[] {
  return directives
    .filter(({ flow }) => (flow ?? null) !== null && chance.percent(40))
    .map((directive) => ({
      afterMs: chance.between(0, 1_500),
      directive,
      priority: chance.between(0, 9),
    }));
}

function traceparent(chance: Chance): string {
  const hex = (length: number): string =>
    Array.from({ length }, () => chance.between(0, 15).toString(16)).join('');
  return `00-1${hex(31)}-1${hex(15)}-01`;
}

function planDirective(chance: Chance, requestId: string, ids: Ids): PlannedDirective {
  ids.last += 1;
  const kind = chance.weighted(KINDS);
  const id = `${kind}-${ids.last}`;
  if (kind === 'tool_error' || kind === 'request_error') return planImmediate(requestId, id, kind);
  const deadlineMs = chance.between(SHORTEST_DEADLINE_MS, LONGEST_WORK_MS);
  if (isModelKind(kind)) return planModelCall(chance, { requestId, id, kind, deadlineMs });
  return planCall(chance, { requestId, id, kind, deadlineMs });
}

function planImmediate(
  requestId: string,
  id: string,
  kind: 'tool_error' | 'request_error',
): PlannedDirective {
  const words =
    kind === 'tool_error'
      ? { type: 'emit_tool_error', tool_name: 'alpha.read', error: { type: 'tool_error', message: id } }
      : { type: 'emit_request_error', reason: 'chaos', message: id };
  const nothing = {
    effect: null,
    label: '',
    sum: 0,
    toolFailures: 0,
    maxRetries: 0,
    timeoutMs: null,
    model: null,
  };
  const body = { ...words, id, request_id: requestId };
  return { id, body, kind, expect: 'immediate', ...nothing, deadlineMs: LONGEST_DEADLINE_MS };
}

interface Asked<K> {
  readonly requestId: string;
  readonly id: string;
  readonly kind: K;
  readonly deadlineMs: number;
}

function planCall(chance: Chance, { requestId, id, kind, deadlineMs }: Asked<CallKind>): PlannedDirective {
  const tool = chance.pick(['read', 'idempotent', 'once', 'plain'] as const);
  const said = chance.percent(15) ? chance.pick(['read', 'idempotent', 'once'] as const) : undefined;
  const [a, b] = [chance.between(0, 1_000_000), chance.between(0, 1_000_000)];
  const { args, fields, toolName, server: wanted = chance.pick(SERVERS), expect } = shapeOf(chance, kind);
  const flow = FLOWING.has(kind) ? planFlow(chance) : null;
  const server = flow?.server ?? wanted;
  const label = `${requestId}/${id}`;
  const wait = planWait(chance, kind);
  const notifies = chance.percent(12);
  const policy = {
    ...retryPolicy(chance),
    deadline_ms: deadlineMs,
    ...fields,
  };
  const body = {
    type: 'tool_exec',
    id,
    request_id: requestId,
    tool_name: toolName ?? `${server}.${tool}`,
    arguments: { label, a, b, ...args, ...flow?.args },
    ...policy,
    ...flow?.fields,
    ...(said === undefined ? {} : { effect: said }),
    ...waitFields(wait),
    ...(notifies ? { on_end: RECEIVER } : {}),
  };
  return {
    id,
    body,
    kind,
    expect,
    // The hostile tools do not declare whether a repeat is safe.
    effect: said ?? (expect === 'hostile' ? 'once' : TOOL_EFFECTS[tool]),
    label,
    asks: args['asks'] === true,
    sum: a + b,
    toolFailures: Number(args['failures'] ?? 0),
    maxRetries: policy.max_retries,
    timeoutMs: 'timeout_ms' in body ? Number(body['timeout_ms']) : null,
    deadlineMs: Number(body.deadline_ms),
    ...(wait === undefined ? {} : { wait }),
    notifies,
    flow,
    model: null,
  };
}

/** Some begin later, some of those must begin in time; what nobody serves never does. */
function planWait(chance: Chance, kind: CallKind): PlannedWait | undefined {
  const delayMs = chance.between(200, 5_000);
  const startByMs = chance.between(100, 2_000);
  if (kind === 'expiring') return { delayMs: chance.percent(50) ? delayMs : 0, startByMs };
  if (kind === 'short_deadline' || kind === 'orphan' || !chance.percent(15)) return undefined;
  return { delayMs, startByMs: chance.percent(50) ? startByMs : null };
}

function waitFields(wait: PlannedWait | undefined): Record<string, number> {
  if (wait === undefined) return {};
  return {
    ...(wait.delayMs > 0 ? { delay_ms: wait.delayMs } : {}),
    ...(wait.startByMs === null ? {} : { start_by_ms: wait.startByMs }),
  };
}

function retryPolicy(chance: Chance) {
  return {
    max_retries: chance.percent(60) ? chance.between(1, 4) : 0,
    retry_backoff_ms: chance.between(0, 600),
    backoff: chance.pick(['fixed', 'exponential']),
    max_backoff_ms: 3_000,
    jitter: chance.pick([0, 0, 0.5, 1]),
  };
}
