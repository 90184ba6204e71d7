/** The questions of a legacy server, which come as requests of their own while it works on a call.
 *  It must never guess whose question it is: where several calls have asked at once, nobody can answer. */
import { type Client, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/client';
import type { Logger } from '../telemetry/logger.ts';
import { elicitResult, readQuestion } from './questions.ts';
import type { CallListeners } from './session.ts';

/** A server that waits for a person believes that nobody is there without it. Milliseconds. */
const PROGRESS_MS = 15_000;

export interface LegacyQuestions {
  /** A call has ended: of those that are left, one may be known as the one that asks. */
  changed(): void;
}

/** The client has offered to answer. `inFlight`: the calls under way. */
export function answerQuestions(
  client: Client,
  inFlight: ReadonlyMap<Promise<unknown>, CallListeners>,
  logger: Logger,
): LegacyQuestions {
  const askers = createAskers(inFlight);
  client.setRequestHandler('elicitation/create', async ({ params }, { mcpReq }) => {
    const question = readQuestion(params);
    if (!question.ok)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `The MCP server ${question.reason}`);
    const beat = sayWaiting(client, mcpReq._meta?.progressToken);
    try {
      const asker = await askers.find(mcpReq.signal);
      if (asker?.onQuestion === undefined) {
        logger.warn({ calls: inFlight.size }, 'MCP server asks, and it is unknown for which call: cancelled');
        return { action: 'cancel' as const };
      }
      return elicitResult(await asker.onQuestion(question.value, mcpReq.signal)) as never;
    } finally {
      clearInterval(beat);
    }
  });
  return askers;
}

function createAskers(inFlight: ReadonlyMap<Promise<unknown>, CallListeners>) {
  const waiting = new Set<() => void>();
  const changed = (): void => {
    for (const look of waiting) look();
  };
  return {
    changed,
    /** The call that asks, once it is the only one under way; null: several have asked, or the question is withdrawn. */
    async find(withdrawn: AbortSignal): Promise<CallListeners | null> {
      for (const each of inFlight.values()) each.onAsked?.();
      const { promise, resolve } = Promise.withResolvers<CallListeners | null>();
      const look = (): void => {
        const [only = null] = inFlight.values();
        if (withdrawn.aborted || inFlight.size <= 1) resolve(withdrawn.aborted ? null : only);
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
