/** Which answers of a model count as complete.
 *  It must not call a provider. */
import { expect, test } from 'vitest';
import { incompleteness, type ModelAnswer } from '../../../../src/models/answers/model-answer.ts';

const ref = { name: 'mock:m', provider: 'mock', model: 'm' };

function asking(calls: number): ModelAnswer {
  const call = (index: number) => ({ id: `c-${index}`, wireName: 'peer_echo', input: '{}' });
  const finish = { unified: 'tool-calls', raw: undefined } as const;
  const told = { usage: null, modelId: null, warnings: [], headers: {}, durationMs: 1, firstChunkMs: null };
  return { parts: [], calls: Array.from({ length: calls }, (_, index) => call(index)), finish, ...told };
}

test('as many tool calls as a run can make at once are an answer', () => {
  expect(incompleteness(asking(256), ref)).toBeNull();
});

test('more are a failure, after which another model is tried', () => {
  expect(incompleteness(asking(257), ref)).toMatchObject({
    unavailable: true,
    error: { type: 'invalid_result', retryable: false, message: expect.stringContaining('256') as string },
  });
});

/** https://openrouter.ai/docs/api-reference/overview: `error` is one of the five finish reasons of its answers. */
test.each([
  ['as a client knows it', { unified: 'error', raw: 'MALFORMED_FUNCTION_CALL' }],
  ['as a client does not know it', { unified: 'other', raw: 'error' }],
] as const)('an answer that ends in an error is a failed attempt, %s', (_how, finish) => {
  const answer: ModelAnswer = { ...asking(0), finish, parts: [{ type: 'text', text: 'the first half' }] };
  expect(incompleteness(answer, ref)).toMatchObject({
    unavailable: true,
    error: { type: 'provider_error', retryable: true, details: { reason: 'error' } },
  });
  expect(incompleteness({ ...answer, finish: { unified: 'other', raw: 'odd' } }, ref)).toBeNull();
});
