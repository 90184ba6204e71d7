/** Which call a request of a legacy server is about: its questions, and what it asks models, name none.
 *  It must never guess: where several calls have asked at once, or a call was ended that the server may still be at work
 *  on, no call is the asker. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Transport } from '@modelcontextprotocol/client';
import { isObject } from '../../contract/json/json-object.ts';
import type { Logger } from '../../platform/telemetry/logger.ts';
import { watchAbandoned } from '../tasks/abandoned-calls.ts';
import type { CallListeners } from '../session.ts';

export type InFlight = ReadonlyMap<Promise<unknown>, CallListeners>;

type Meta = Readonly<Record<string, unknown>> | undefined;

export interface Askers {
  /** A call has ended: of those that are left, one may be known as the one that asks. */
  changed(): void;
  /** The call that asks; null: it is unknown, or no answer is wanted any more. `meta`: of the question. */
  find(withdrawn: AbortSignal, meta: Meta): Promise<CallListeners | null>;
  /** Runs `answer` while it counts as a question of the call: if that ends meanwhile, it has told its server so. */
  whileOpen<T>(call: CallListeners, answer: () => Promise<T>): Promise<T>;
}

/** Context of the messages that are sent and read for a call: over Streamable HTTP, a request on the stream of a call is of that call. */
const streamOf = new AsyncLocalStorage<CallListeners>();

/** Sends a call so that what its server asks on the stream of the answer is known to be of this call. */
export function onStreamOf<T>(listeners: CallListeners, send: () => Promise<T>): Promise<T> {
  return streamOf.run(listeners, send);
}

/** `inFlight`: the calls under way on the connected transport. */
export function findAskers(
  transport: Transport,
  inFlight: InFlight,
  logger: Logger,
  now: () => number = () => performance.now(),
): Askers {
  const open: CallListeners[] = [];
  let hasAsked = false;
  const abandoned = watchAbandoned(
    transport,
    () => {
      const call = streamOf.getStore();
      return () => call !== undefined && open.includes(call);
    },
    now,
  );
  const warn = warnings(logger, now);
  const waiting = new Set<() => void>();
  const changed = (): void => {
    for (const look of waiting) look();
  };
  const unknown = (withdrawn: AbortSignal): null => {
    if (!withdrawn.aborted) warn(...unknownAsker(inFlight.size, abandoned.leftMs()));
    return null;
  };
  const note = (): void => {
    for (const each of inFlight.values()) each.onAsked?.();
    if (!hasAsked) logger.info({}, 'MCP server asks while it works: it gets one call at a time from now on');
    hasAsked = true;
  };
  return {
    changed,
    async find(withdrawn, meta) {
      const taskId = relatedTask(meta);
      if (taskId !== null) return ofTask(inFlight, taskId) ?? unknown(withdrawn);
      const known = streamOf.getStore();
      if (known !== undefined) return isInFlight(inFlight, known) ? known : null;
      note();
      const { promise, resolve } = Promise.withResolvers<CallListeners | null>();
      const look = (): void => {
        const calls = mayAsk(inFlight);
        const [only = null] = calls;
        if (withdrawn.aborted || abandoned.leftMs() > 0) resolve(null);
        else if (calls.length <= 1) resolve(only);
        else if (waiting.size >= calls.length) resolve(null);
      };
      waiting.add(look);
      withdrawn.addEventListener('abort', look, { once: true });
      changed();
      const found = await promise.finally(() => {
        waiting.delete(look);
        withdrawn.removeEventListener('abort', look);
      });
      return found ?? unknown(withdrawn);
    },
    async whileOpen(call, answer) {
      open.push(call);
      return answer().finally(() => open.splice(open.indexOf(call), 1));
    },
  };
}

const RELATED_TASK = 'io.modelcontextprotocol/related-task';

/** The task that asks; null: the question names none. */
function relatedTask(meta: Meta): string | null {
  const related = meta?.[RELATED_TASK];
  return isObject(related) ? String(related['taskId']) : null;
}

/** The call whose task it is; null: of a call that has ended, or of another process. */
function ofTask(inFlight: InFlight, taskId: string): CallListeners | null {
  return [...inFlight.values()].find((each) => each.taskId === taskId && isAnswering(each)) ?? null;
}

/** Those of which a question may be that names no task: of a task only while nothing else is under way. */
function mayAsk(inFlight: InFlight): CallListeners[] {
  const all = [...inFlight.values()];
  const plain = all.filter(({ taskId }) => taskId === undefined);
  return plain.length > 0 ? plain : all.filter(isAnswering);
}

function isAnswering({ onQuestion, onSampling }: CallListeners): boolean {
  return onQuestion !== undefined || onSampling !== undefined;
}

/** Its call may have ended, and its stream not yet. */
function isInFlight(inFlight: InFlight, listeners: CallListeners): boolean {
  return [...inFlight.values()].includes(listeners);
}

/** A server may ask very often: so long is nothing said after a line. Milliseconds. */
const WARN_EVERY_MS = 60_000;

function warnings(logger: Logger, now: () => number): Logger['warn'] {
  let nextAt = -Infinity;
  let suppressed = 0;
  return (fields, message) => {
    if (now() < nextAt) return void (suppressed += 1);
    logger.warn(suppressed === 0 ? fields : { ...fields, suppressed }, message);
    nextAt = now() + WARN_EVERY_MS;
    suppressed = 0;
  };
}

function unknownAsker(calls: number, leftMs: number): Parameters<Logger['warn']> {
  if (leftMs === 0)
    return [{ calls }, 'MCP server asks, and it is unknown for which call: its question is cancelled'];
  const until = new Date(Date.now() + leftMs).toISOString();
  const message =
    'MCP server asks, perhaps for a call that was ended before it answered: its questions are cancelled for a while';
  return [{ calls, until }, message];
}
