/** The questions of a legacy server, which come as requests of their own while it works on a call.
 *  It must never guess whose question it is: where several calls have asked at once, or a call was ended that
 *  the server may still be at work on, nobody can answer. */
import { type Client, ProtocolError, ProtocolErrorCode, type Transport } from '@modelcontextprotocol/client';
import { isObject } from '../contract/json-object.ts';
import type { Logger } from '../telemetry/logger.ts';
import { type AbandonedCalls, watchAbandoned } from './abandoned-calls.ts';
import { elicitResult, readQuestion } from './questions.ts';
import type { CallListeners } from './session.ts';

/** A server that waits for a person believes that nobody is there without it. Milliseconds. */
const PROGRESS_MS = 15_000;

export interface LegacyQuestions {
  /** A call has ended: of those that are left, one may be known as the one that asks. */
  changed(): void;
}

interface Asked {
  readonly client: Client;
  readonly transport: Transport;
  readonly logger: Logger;
}

/** The client has offered to answer. `inFlight`: the calls under way. */
export function answerQuestions(
  { client, transport, logger }: Asked,
  inFlight: ReadonlyMap<Promise<unknown>, CallListeners>,
): LegacyQuestions {
  let open = 0;
  let hasAsked = false;
  const abandoned = watchAbandoned(transport, () => open > 0);
  const askers = createAskers(inFlight, abandoned);
  client.setRequestHandler('elicitation/create', async ({ params }, { mcpReq }) => {
    const question = readQuestion(params);
    if (!question.ok)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `The MCP server ${question.reason}`);
    if (!hasAsked) logger.info({}, 'MCP server asks while it works: it gets one call at a time from now on');
    hasAsked = true;
    const beat = sayWaiting(client, mcpReq._meta?.progressToken);
    try {
      const taskId = relatedTask(mcpReq._meta);
      const asker = taskId === null ? await askers.find(mcpReq.signal) : askers.ofTask(taskId);
      if (asker?.onQuestion === undefined) {
        logger.warn(...unknownAsker(inFlight.size, abandoned.leftMs()));
        return { action: 'cancel' as const };
      }
      open += 1;
      const answer = await asker.onQuestion(question.value, mcpReq.signal).finally(() => (open -= 1));
      return elicitResult(answer) as never;
    } finally {
      clearInterval(beat);
    }
  });
  return askers;
}

const RELATED_TASK = 'io.modelcontextprotocol/related-task';

/** The task that asks; null: the question names none. */
function relatedTask(meta: Readonly<Record<string, unknown>> | undefined): string | null {
  const related = meta?.[RELATED_TASK];
  return isObject(related) ? String(related['taskId']) : null;
}

function unknownAsker(calls: number, leftMs: number): Parameters<Logger['warn']> {
  if (leftMs === 0)
    return [{ calls }, 'MCP server asks, and it is unknown for which call: its question is cancelled'];
  const until = new Date(Date.now() + leftMs).toISOString();
  const message =
    'MCP server asks, perhaps for a call that was ended before it answered: its questions are cancelled for a while';
  return [{ calls, until }, message];
}

function createAskers(inFlight: ReadonlyMap<Promise<unknown>, CallListeners>, abandoned: AbandonedCalls) {
  const waiting = new Set<() => void>();
  const changed = (): void => {
    for (const look of waiting) look();
  };
  return {
    changed,
    /** The call whose task it is; null: of a call that has ended, or of another process. */
    ofTask: (taskId: string): CallListeners | null =>
      [...inFlight.values()].find((each) => each.taskId === taskId) ?? null,
    /** The call that asks, once it is the only one under way; null: it is unknown, or the question is withdrawn. */
    async find(withdrawn: AbortSignal): Promise<CallListeners | null> {
      for (const each of inFlight.values()) each.onAsked?.();
      const { promise, resolve } = Promise.withResolvers<CallListeners | null>();
      const look = (): void => {
        const [only = null] = inFlight.values();
        if (withdrawn.aborted || abandoned.leftMs() > 0) resolve(null);
        else if (inFlight.size <= 1) resolve(only);
        else if (waiting.size >= inFlight.size) resolve(null);
      };
      waiting.add(look);
      withdrawn.addEventListener('abort', look, { once: true });
      changed();
      return promise.finally(() => {
        waiting.delete(look);
        withdrawn.removeEventListener('abort', look);
      });
    },
  };
}

function sayWaiting(client: Client, progressToken: string | number | undefined): NodeJS.Timeout | undefined {
  if (progressToken === undefined) return undefined;
  let progress = 0;
  return setInterval(() => {
    progress += 1;
    const params = { progressToken, progress, message: 'waiting for a person' };
    // A server that is gone is noticed by its call.
    client.notification({ method: 'notifications/progress', params }).catch(() => {});
  }, PROGRESS_MS);
}
