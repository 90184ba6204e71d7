/** Requests of a legacy server during a call: people (elicitation) and models (sampling).
 *  It must never answer a question whose call is unknown. */
import {
  type Client,
  ProtocolError,
  ProtocolErrorCode,
  type RequestMeta,
} from '@modelcontextprotocol/client';
import type { Askers } from './askers.ts';
import { elicitResult, readQuestion } from './questions.ts';
import { readSampling, samplingResult } from './sampling.ts';

/** Interval of progress for a server that waits for an answer. Milliseconds. */
const PROGRESS_MS = 15_000;

/** As the protocol says it: the request was rejected. */
const REJECTED = -1;

/** Registers the handler of elicitation, which the client has declared. */
export function answerQuestions(client: Client, askers: Askers): void {
  client.setRequestHandler('elicitation/create', async ({ params }, { mcpReq: { _meta, signal } }) => {
    const question = readQuestion(params);
    if (!question.ok) throw refusedParams(question.reason);
    return whileSaying(client, _meta, 'waiting for a person', async () => {
      const call = await askers.find(signal, _meta);
      const onQuestion = call?.onQuestion;
      if (call === null || onQuestion === undefined) return { action: 'cancel' as const };
      const answer = await askers.whileOpen(call, async () => onQuestion(question.value, signal));
      return elicitResult(answer) as never;
    });
  });
}

/** Registers the handler of sampling, which the client has declared. */
export function answerSampling(client: Client, askers: Askers): void {
  client.setRequestHandler('sampling/createMessage', async ({ params }, { mcpReq: { _meta, signal } }) => {
    const sampling = readSampling(params);
    if (!sampling.ok) throw refusedParams(sampling.reason);
    return whileSaying(client, _meta, 'waiting for a model', async () => {
      const call = await askers.find(signal, _meta);
      const onSampling = call?.onSampling;
      if (call === null || onSampling === undefined) throw new ProtocolError(REJECTED, UNKNOWN_CALL);
      const reply = await askers.whileOpen(call, async () => onSampling(sampling.value, signal));
      if (!reply.ok) throw new ProtocolError(REJECTED, reply.reason);
      return samplingResult(reply);
    });
  });
}

const UNKNOWN_CALL = 'No model answers: it is unknown for which tool call the server asks';

function refusedParams(reason: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `The MCP server ${reason}`);
}

async function whileSaying<T>(
  client: Client,
  meta: RequestMeta | undefined,
  message: string,
  answer: () => Promise<T>,
): Promise<T> {
  const beat = sayWaiting(client, meta?.progressToken, message);
  try {
    return await answer();
  } finally {
    clearInterval(beat);
  }
}

function sayWaiting(
  client: Client,
  progressToken: string | number | undefined,
  message: string,
): NodeJS.Timeout | undefined {
  if (progressToken === undefined) return undefined;
  let progress = 0;
  return setInterval(() => {
    progress += 1;
    const params = { progressToken, progress, message };
    // A server that is gone is noticed by its call.
    client.notification({ method: 'notifications/progress', params }).catch(() => {});
  }, PROGRESS_MS);
}
