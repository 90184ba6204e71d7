/** Streams of models as a reader of the public API sees them: by call, whole, with the promises about them checked.
 *  It must never correct what it reads. */
import { expect } from 'vitest';
import { foldDelta, type FoldedCalls, NO_CALLS } from '../../src/contract/model/delta-fold.ts';
import { modelTurnSchema } from '../../src/contract/model/model-turn.ts';
import type { Signal } from '../../src/contract/signal/signal.ts';
import type { SignalPage } from '../../src/contract/signal/signal-page.ts';
import type { MockAnswer } from './mock-provider.ts';
import { get } from './public-api.ts';

export type Delta = Extract<Signal, { type: 'ai.llm.delta' }>;
export type Response = Extract<Signal, { type: 'ai.llm.response' }>;

/** `count` answers that differ from the first word on, to prompts `stream-00`, `stream-01`… */
export function numberedAnswers(
  count: number,
  { words, paceMs, pieceLength = 6 }: { words: number; paceMs: number; pieceLength?: number },
): MockAnswer[] {
  return Array.from({ length: count }, (_, index) => {
    const prompt = `stream-${String(index).padStart(2, '0')}`;
    const text = Array.from({ length: words }, (__, word) => `${index}.${word} 😀`).join(' ');
    return { prompt, text, pieceLength, paceMs };
  });
}

/** A stream by the name of its prompt. */
export function streamOf(prompt: string, request_id: string, fields: object = {}) {
  const context = [{ role: 'user', content: prompt }];
  return { type: 'llm_stream', id: prompt, request_id, model: 'mock:model', context, ...fields } as const;
}

export async function wholeLog(url: string, requestId: string): Promise<Signal[]> {
  const signals: Signal[] = [];
  for (;;) {
    const path = `/v1/requests/${requestId}/signals?limit=1000&after=${signals.at(-1)?.sequence ?? 0}`;
    const { body } = await get<SignalPage>(url + path);
    if (body.signals.length === 0) return signals;
    signals.push(...body.signals);
  }
}

/**
 * Each call has one response, whose text is the answer and what its deltas say; no delta comes after it, and each
 * attempt's are numbered from 0. Returns the responses by call.
 */
export function auditStreams(
  log: readonly Signal[],
  answers: readonly Pick<MockAnswer, 'prompt' | 'text'>[],
): Map<string, Response> {
  const responses = log.filter((signal): signal is Response => signal.type === 'ai.llm.response');
  expect(responses.map(({ data }) => data.call_id).toSorted()).toEqual(
    answers.map(({ prompt }) => prompt).toSorted(),
  );
  const byCall = new Map(responses.map((response) => [response.data.call_id, response]));
  const deltas = log.filter((signal): signal is Delta => signal.type === 'ai.llm.delta');
  for (const { prompt, text } of answers) {
    const response = byCall.get(prompt);
    if (!response?.data.result.ok) throw new Error(JSON.stringify(response));
    expect(modelTurnSchema.parse(response.data.result.payload).text).toBe(text);
    const own = deltas.filter(({ data }) => data.call_id === prompt);
    expect(own.at(-1)?.sequence).toBeLessThan(response.sequence);
    const attempts = Map.groupBy(own, ({ attempt }) => attempt);
    for (const said of attempts.values())
      expect(said.map(({ data }) => data.seq)).toEqual(said.map((_, position) => position));
    expect(textOf(attempts.get(response.attempt) ?? [])).toBe(text);
    expect(Math.max(...[...attempts.keys()].map((attempt) => attempt ?? 0))).toBe(response.attempt);
  }
  // What a client library shows just before the response is the same.
  const folded = deltas.reduce<FoldedCalls>(foldDelta, NO_CALLS);
  for (const { prompt, text } of answers) expect(folded.get(prompt)?.content).toBe(text);
  return byCall;
}

function textOf(deltas: readonly Delta[]): string {
  return deltas.map(({ data }) => String(data.delta)).join('');
}
