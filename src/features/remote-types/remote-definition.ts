/** Executor of a remote directive type: parks the work of an attempt for a program, and waits for the program that ends it.
 *  It must never park work twice that may have been begun: its id is recorded before it is parked. */
import { isObject } from '../../contract/json/json-object.ts';
import { errorEnvelope } from '../../contract/error-envelope.ts';
import { errorResult, normalizeResult } from '../../contract/result.ts';
import { partedContext } from '../../contract/directive/custom-directive.ts';
import type { Directive } from '../../contract/directive/directive.ts';
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
    async withdraw(_directive, _lane, workId) {
      try {
        await store.withdraw(type, workId);
        return { kind: 'cancelled' };
      } catch (error) {
        if (!isRedisAway(error)) throw error;
        return { kind: 'away', reason: 'Redis does not answer' };
      }
    },
  };
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
  if (tasks.task === null && !(await tasks.keep(workId))) return stopped(true);
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
  const { tasks, signal } = context;
  let isNew = tasks.task === null;
  for (;;) {
    if (signal.aborted) return leave(remote, store, workId, context);
    try {
      const found = isNew
        ? await store.park(remote.type, workId, parkedOf(remote, directive, context))
        : await store.read(remote.type, workId);
      isNew = false;
      const execution = executionOf(found);
      if (execution !== null) return execution;
    } catch (error) {
      if (!isRedisAway(error)) throw error;
    }
    await watch.changed(READ_EVERY_MS, signal);
  }
}

function parkedOf(
  { effect, leaseMs }: RemoteType,
  stored: Directive,
  { tenant, attempt, idempotencyKey, remainingMs, traceparent }: Context,
): ParkedWork {
  const { directive, toolContext } = partedContext(stored);
  const body = {
    directive,
    tenant,
    effect,
    attempt,
    idempotency_key: idempotencyKey,
    remaining_ms: Math.round(remainingMs),
    traceparent,
    tool_context: toolContext,
  };
  return { effect, leaseMs, remainingMs, body };
}

/** null: it has not ended. */
function executionOf({ state, finish, begun }: WorkState): Execution | null {
  switch (state) {
    case 'waiting':
    case 'taken':
    case 'running':
      return null;
    case 'ended':
      return endedWith(finish, begun);
    // The program died in the middle.
    case 'lost':
      return { ...doubtful(begun), forgotten: 'own' };
    // Redis has lost it, or another attempt withdrew it: whether it was begun is unknown.
    case 'absent':
    case 'cancelled':
      return { ...doubtful(0), forgotten: 'earlier' };
  }
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
      : 'the program died during the work: it may or may not have happened';
  return { result: errorResult(errorEnvelope('worker_lost', message, { begun })), ambiguous: true };
}

/** The attempt is stopped: a later one goes on waiting, or the work is withdrawn. */
async function leave(
  { type }: RemoteType,
  store: WorkStore,
  workId: string,
  { tasks }: Context,
): Promise<Execution> {
  if (tasks.goesOn()) return { ...stopped(true), resumable: true };
  try {
    const state = await store.withdraw(type, workId);
    return stopped(state !== 'waiting' && state !== 'taken');
  } catch (error) {
    if (!isRedisAway(error)) throw error;
    return { ...stopped(true), unwithdrawn: true };
  }
}

function stopped(mayHaveRun: boolean): Execution {
  const error = errorEnvelope('cancelled', 'the attempt was stopped while a program had its work');
  return { result: errorResult(error), ambiguous: mayHaveRun };
}
