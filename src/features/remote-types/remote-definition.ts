/** Executor of a remote directive type: parks the work of an attempt for a program, and waits for the program that ends it.
 *  It must never park work twice that may have been begun: its id is recorded before it is parked. */
import { isObject } from '../../contract/json/json-object.ts';
import { errorEnvelope } from '../../contract/error-envelope.ts';
import { errorResult, normalizeResult } from '../../contract/result.ts';
import { partedContext } from '../../contract/directive/custom-directive.ts';
import type { Directive } from '../../contract/directive/directive.ts';
import { type Wait, waitOf } from '../../contract/request/waiting.ts';
import type { RepeatPolicy } from '../../contract/directive/work-directive.ts';
import { isRedisAway } from '../../platform/redis/unavailable.ts';
import { randomHex } from '../../platform/telemetry/random-pool.ts';
import type {
  Execution,
  ExecutionContext,
  QueuedDefinition,
  TaskKeeping,
} from '../../worker/executors/definition.ts';
import type { ParkedWork, Watch, WorkState, WorkStore } from './work-store.ts';

/** A remote type, as the configuration declares it. */
export interface RemoteType {
  readonly type: string;
  readonly schema: QueuedDefinition['schema'];
  readonly effect: RepeatPolicy;
  /** Milliseconds. */
  readonly leaseMs: number;
}

/** An announcement can be lost, and nothing announces the end of a lease. Milliseconds. */
const READ_EVERY_MS = 1_000;

export function remoteDefinition(remote: RemoteType, store: WorkStore): QueuedDefinition {
  const { type, schema, effect } = remote;
  return {
    mode: 'queued',
    type: type as QueuedDefinition['type'],
    schema,
    repeatPolicy: async () => effect,
    started: () => null,
    async execute(directive, context) {
      const { tasks } = context;
      if (tasks === undefined) throw new TypeError('Remote work needs a record of its id.');
      return executeRemotely(remote, store, directive, { ...context, tasks });
    },
    async withdraw(directive, _lane, workId) {
      try {
        await store.withdraw(type, workId, longestMs(directive));
        return { kind: 'cancelled' };
      } catch (error) {
        if (!isRedisAway(error)) throw error;
        return { kind: 'away', reason: 'Redis does not answer' };
      }
    },
  };
}

/** The deadline of a directive that names none. */
const DEADLINE_MS = 900_000;

/** Longest time until the deadline of a directive, milliseconds. */
function longestMs(directive: Directive): number {
  const { deadline_ms }: { deadline_ms?: unknown } = directive as object;
  return typeof deadline_ms === 'number' ? deadline_ms : DEADLINE_MS;
}

type Context = ExecutionContext & { readonly tasks: TaskKeeping };

async function executeRemotely(
  remote: RemoteType,
  store: WorkStore,
  directive: Directive,
  context: Context,
): Promise<Execution> {
  const { tasks } = context;
  const workId = tasks.task ?? randomHex(16);
  if (tasks.task === null) {
    const isKept = await untilStopped(tasks.keep(workId), context.signal);
    // Nothing is parked yet.
    if (isKept !== true) return stopped(false);
  }
  const watch = store.watch([workId]);
  try {
    return await untilEnded(remote, store, { directive, workId, watch }, context);
  } finally {
    watch.close();
  }
}

interface Awaited {
  readonly directive: Directive;
  readonly workId: string;
  readonly watch: Watch;
}

async function untilEnded(
  remote: RemoteType,
  store: WorkStore,
  { directive, workId, watch }: Awaited,
  context: Context,
): Promise<Execution> {
  const { tasks, signal, lane, report } = context;
  const undrained = AbortSignal.any([signal, tasks.draining]);
  let isNew = tasks.task === null;
  let absence: Wait | undefined;
  let isReported = false;
  for (;;) {
    if (signal.aborted) {
      const left = await leave(remote, store, { directive, workId }, context);
      return absence === undefined || left.ambiguous ? left : { ...left, notBegun: absence.message };
    }
    try {
      const { now, remainingMs } = tasks.clock();
      const deadlineAt = now + remainingMs;
      const answer = isNew
        ? store.park(remote.type, workId, parkedOf(remote, directive, deadlineAt, context))
        : store.read(remote.type, workId, deadlineAt);
      const found = await untilStopped(answer, signal);
      if (found === null) {
        withdrawLate(remote, store, { directive, workId }, answer);
        continue;
      }
      isNew = false;
      const execution = executionOf(found) ?? interruptedOf(found, context) ?? leftOf(found, context);
      if (execution !== null) return execution;
      // Work that was parked just now is taken next, where a program runs.
      const isAbsent = found.state === 'waiting' && !found.isServed && !found.isParked;
      absence = isAbsent ? absenceOf(lane) : undefined;
      // Once in an attempt.
      if (absence !== undefined && !isReported)
        report('directive.waiting', { call_id: directive.id, lane, ...absence, metadata: {} });
      isReported ||= isAbsent;
    } catch (error) {
      if (!isRedisAway(error)) throw error;
    }
    await watch.changed(READ_EVERY_MS, tasks.draining.aborted ? signal : undrained);
  }
}

const absenceOf = (lane: string) => waitOf(lane, { reason: 'no_program', untilAt: null });

/** null: the attempt was stopped before Redis has answered. A stop must not wait for a Redis that is slow. */
async function untilStopped<T>(answer: Promise<T>, signal: AbortSignal): Promise<T | null> {
  const { promise, resolve } = Promise.withResolvers<null>();
  const stop = (): void => resolve(null);
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    return await Promise.race([answer, promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** Work that is parked after the stop of its attempt does not begin: no one may be left to wait for it. */
function withdrawLate(
  { type }: RemoteType,
  store: WorkStore,
  { directive, workId }: Omit<Awaited, 'watch'>,
  answer: Promise<WorkState>,
): void {
  const withdrawn = async (): Promise<void> => {
    const { isParked } = await answer;
    if (isParked) await store.withdraw(type, workId, longestMs(directive));
  };
  // Without an answer nothing more can be done here: the next attempt, or the withdrawal of an ended directive, forbids the park.
  withdrawn().catch(() => {});
}

function parkedOf(
  { effect, leaseMs }: RemoteType,
  stored: Directive,
  deadlineAt: number,
  { tenant, attempt, idempotencyKey, traceparent }: Context,
): ParkedWork {
  const { directive, toolContext } = partedContext(stored);
  const body = {
    directive,
    tenant,
    effect,
    idempotency_key: idempotencyKey,
    traceparent,
    tool_context: toolContext,
  };
  return { effect, leaseMs, deadlineAt, attempt, body };
}

/** null: it has not ended. */
function executionOf({ state, finish, begun }: WorkState): Execution | null {
  switch (state) {
    case 'waiting':
    case 'taken':
    case 'running':
      return null;
    case 'ended':
      // The end of withdrawn work is kept no longer.
      return finish === '' ? { ...doubtful(begun), forgotten: 'earlier' } : endedWith(finish, begun);
    // The program died in the middle.
    case 'lost':
      return { ...doubtful(begun), forgotten: 'own' };
    case 'cancelled':
      // It was withdrawn before it was begun, and never begins.
      return begun === 0 ? { ...stopped(false), unmade: true } : { ...doubtful(begun), forgotten: 'earlier' };
    // It was never parked, or Redis has lost it: whether it was begun is unknown.
    case 'absent':
      return { ...doubtful(0), forgotten: 'earlier' };
  }
}

/** null: as many programs died as attempts were made before this one. Else the next attempt waits for the same work. */
function interruptedOf({ state, begun, attempt }: WorkState, { attempt: own }: Context): Execution | null {
  const died = state === 'running' ? begun - 1 : begun;
  return own < attempt + died ? { ...doubtful(begun), resumable: true, isExecuted: true } : null;
}

/** null: it is not left. Work that no program has begun stays parked, and another worker waits for it: a stop does not. */
function leftOf({ state }: WorkState, { tasks }: Context): Execution | null {
  return tasks.draining.aborted && state === 'waiting' ? { ...stopped(false), resumable: true } : null;
}

function endedWith(finish: string, begun: number): Execution {
  const read: unknown = JSON.parse(finish);
  const { result, ambiguous } = isObject(read) ? read : {};
  const metadata = begun > 1 ? { metadata: { begun } } : {};
  return { result: normalizeResult(result), ambiguous: ambiguous === true, ...metadata };
}

function doubtful(begun: number): Execution {
  const message =
    begun > 1
      ? `${begun} programs died during this directive`
      : 'the program did not renew its work in time (it died, or did not reach the API): it may or may not have happened';
  return { result: errorResult(errorEnvelope('worker_lost', message, { begun })), ambiguous: true };
}

/** Less than a stopped executor may take. Milliseconds. */
const WITHDRAWAL_MS = 1_000;

/** The attempt is stopped: a later one goes on waiting, or the work is withdrawn. */
async function leave(
  { type }: RemoteType,
  store: WorkStore,
  { directive, workId }: Omit<Awaited, 'watch'>,
  { tasks }: Context,
): Promise<Execution> {
  if (tasks.goesOn()) return { ...stopped(true), resumable: true };
  try {
    const withdrawal = store.withdraw(type, workId, longestMs(directive));
    const mayHaveRun = await untilStopped(withdrawal, AbortSignal.timeout(WITHDRAWAL_MS));
    return mayHaveRun === null ? { ...stopped(true), unwithdrawn: true } : stopped(mayHaveRun);
  } catch (error) {
    if (!isRedisAway(error)) throw error;
    return { ...stopped(true), unwithdrawn: true };
  }
}

function stopped(mayHaveRun: boolean): Execution {
  const error = errorEnvelope('cancelled', 'the attempt was stopped while a program had its work');
  return { result: errorResult(error), ambiguous: mayHaveRun };
}
