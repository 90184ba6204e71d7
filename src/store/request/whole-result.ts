// The answers of models and embeddings as they were, where they were too large for the log.
// Must never pass a preview on as an answer: a turn without its end, or vectors that are not there, are an error.
import { errorEnvelope } from '../../contract/error-envelope.ts';
import { errorResult } from '../../contract/result.ts';
import type { Signal } from '../../contract/signal/signal.ts';
import type { PayloadStore } from './payload-store.ts';

type Answer = Extract<Signal, { type: 'ai.llm.response' | 'ai.embed.result' }>;

/**
 * Completes a signal that holds a preview of such an answer; every other signal is returned as it is. `requestId`: scoped, so that it is
 * the answer of this tenant: the signal names its request as its tenant knows it.
 */
export type WholeResult = <S extends Signal>(requestId: string, signal: S) => Promise<S>;

/** Bytes of the payload of which the signal holds a preview only; null: it holds all of it. */
export function truncatedBytes({ data }: Signal): number | null {
  const metadata = 'metadata' in data ? (data.metadata as Record<string, unknown>) : {};
  const bytes = metadata['result_truncated_bytes'];
  return typeof bytes === 'number' ? bytes : null;
}

export function wholeResults(payloads: Pick<PayloadStore, 'get'>): WholeResult {
  return async <S extends Signal>(requestId: string, signal: S): Promise<S> => {
    const bytes = truncatedBytes(signal);
    if (bytes === null || !isAnswer(signal)) return signal;
    const json = await payloads.get(requestId, signal.data.call_id);
    return { ...signal, data: { ...signal.data, result: resultOf(signal, json, bytes) } };
  };
}

function resultOf(
  { data: { result } }: Answer,
  json: string | null,
  bytes: number,
): Answer['data']['result'] {
  if (json !== null && result.ok) return { ...result, payload: JSON.parse(json) as unknown };
  const message = `The answer of ${bytes} bytes is not kept any more`;
  return errorResult(errorEnvelope('invalid_result', message, { bytes }));
}

function isAnswer(signal: Signal): signal is Answer {
  return signal.type === 'ai.llm.response' || signal.type === 'ai.embed.result';
}
