/** The questions of a legacy server, which come as requests of their own while it works on a call.
 *  It must never guess whose question it is: with several calls under way, nobody can answer. */
import { type Client, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/client';
import type { Logger } from '../telemetry/logger.ts';
import { elicitResult, readQuestion } from './questions.ts';
import type { CallListeners } from './session.ts';

export interface Asked {
  readonly inFlight: ReadonlyMap<Promise<unknown>, CallListeners>;
  readonly logger: Logger;
}

/** A server that waits for a person believes that nobody is there without it. Milliseconds. */
const PROGRESS_MS = 15_000;

export function answerQuestions(client: Client, { inFlight, logger }: Asked): void {
  client.setRequestHandler('elicitation/create', async ({ params }, { mcpReq }) => {
    const question = readQuestion(params);
    if (!question.ok)
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `The MCP server ${question.reason}`);
    const [listeners] = inFlight.values();
    if (listeners?.onQuestion === undefined || inFlight.size > 1) {
      logger.warn({ calls: inFlight.size }, 'MCP server asks, and it is unknown for which call: cancelled');
      for (const each of inFlight.values()) each.onUnattributed?.();
      return { action: 'cancel' as const };
    }
    const beat = sayWaiting(client, mcpReq._meta?.progressToken);
    try {
      return elicitResult(await listeners.onQuestion(question.value, mcpReq.signal)) as never;
    } finally {
      clearInterval(beat);
    }
  });
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
