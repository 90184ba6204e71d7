/** Results of directives as MCP clients read them, and progress that only grows.
 *  It must not need a server: both are pure, apart from a timer. */
import { afterEach, expect, test, vi } from 'vitest';
import { errorEnvelope } from '../../../../../src/contract/error-envelope.ts';
import { errorResult, okResult } from '../../../../../src/contract/result.ts';
import { createProgressRelay } from '../../../../../src/http/mcp/calls/progress-relay.ts';
import { answerOf } from '../../../../../src/http/mcp/calls/tool-answer.ts';

const PLACE = { requestId: 'r', id: 'call' };
const IMAGE = { type: 'image', data: 'AAAA', mimeType: 'image/png' };
const text = (value: string) => ({ type: 'text', text: value });

test.each([
  ['a text', 'five', undefined, { content: [text('five')] }],
  ['structured content', { n: 1 }, undefined, { content: [text('{"n":1}')], structuredContent: { n: 1 } }],
  ['a structured text', 'five', { type: 'string' }, { content: [text('"five"')], structuredContent: 'five' }],
  ['a text of a tool with a schema', 'five', { type: 'object' }, { content: [text('five')] }],
  ['media', { content: [IMAGE] }, undefined, { content: [IMAGE] }],
  [
    'media with structured content',
    { content: [IMAGE], structured_content: { n: 1 } },
    undefined,
    { content: [IMAGE], structuredContent: { n: 1 } },
  ],
  [
    'structured content that only looks like media',
    { content: [{ n: 1 }] },
    undefined,
    { content: [text('{"content":[{"n":1}]}')], structuredContent: { content: [{ n: 1 }] } },
  ],
  [
    'structured content with types of its own',
    { content: [{ type: 'paragraph' }] },
    undefined,
    {
      content: [text('{"content":[{"type":"paragraph"}]}')],
      structuredContent: { content: [{ type: 'paragraph' }] },
    },
  ],
  [
    'structured content of a tool with a schema that looks like media',
    { content: [IMAGE] },
    { type: 'object' },
    { content: [text(JSON.stringify({ content: [IMAGE] }))], structuredContent: { content: [IMAGE] } },
  ],
  [
    'media with the structured content of a schema',
    { content: [IMAGE], structured_content: { n: 1 } },
    { type: 'object' },
    { content: [IMAGE], structuredContent: { n: 1 } },
  ],
  ['nothing', '', undefined, { content: [text('')] }],
])('%s', (_, payload, schema, expected) => {
  const { _meta, ...answer } = answerOf(okResult(payload), schema ? { output_schema: schema } : {}, PLACE);
  expect(answer).toEqual(expected);
  expect(_meta).toEqual({ 'adjutant/directive': { request_id: 'r', id: 'call' } });
});

test('an error has its type, its message and its details as the tool named them', () => {
  const error = errorEnvelope('outcome_unknown', 'it may have run', { next_page_token: 'abc' });
  const { isError, content } = answerOf(errorResult(error), {}, PLACE);
  expect(isError).toBe(true);
  expect(JSON.parse((content[0] as { text: string }).text)).toEqual({
    ok: false,
    error: {
      type: 'outcome_unknown',
      message: 'it may have run',
      details: { next_page_token: 'abc' },
      retryable: false,
    },
  });
});

afterEach(() => void vi.useRealTimers());

test('progress only grows, also when an attempt begins anew, and a silent tool still shows life', () => {
  vi.useFakeTimers();
  const sent: number[] = [];
  using relay = createProgressRelay(async ({ progress }) => void sent.push(progress), 15_000);
  for (const progress of [1, 2, 1]) relay.report({ progress });
  vi.advanceTimersByTime(30_000);
  relay.report({ progress: 3 });
  expect(sent).toHaveLength(5);
  expect(sent).toEqual(sent.toSorted((left, right) => left - right));
  expect([sent[0], sent[1], sent[4]]).toEqual([1, 2, 3]);
});

test('a reason to wait is a sign of life, which is repeated until the wait is over', () => {
  vi.useFakeTimers();
  const sent: (string | undefined)[] = [];
  using relay = createProgressRelay(async ({ message }) => void sent.push(message), 15_000);
  vi.advanceTimersByTime(10_000);
  relay.say('no worker');
  vi.advanceTimersByTime(20_000);
  relay.report({ progress: 1, message: 'begun' });
  vi.advanceTimersByTime(20_000);
  relay.say('the tool asks');
  relay.resume();
  vi.advanceTimersByTime(15_000);
  expect(sent).toEqual([
    'no worker',
    'no worker',
    'begun',
    'still running',
    'the tool asks',
    'still running',
  ]);
});

test('a sign of life is greater than the value before it, however large that is', () => {
  vi.useFakeTimers();
  const sent: number[] = [];
  using relay = createProgressRelay(async ({ progress }) => void sent.push(progress), 15_000);
  relay.report({ progress: 2e10 });
  vi.advanceTimersByTime(60_000);
  expect(new Set(sent).size).toBe(5);
  expect(sent).toEqual(sent.toSorted((left, right) => left - right));
});
