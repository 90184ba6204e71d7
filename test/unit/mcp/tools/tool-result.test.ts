/** A tool's answer as programs and as models read it.
 *  It must never show a model a directive or a picture's bytes. */
import { describe, expect, test } from 'vitest';
import { resultSchema } from '../../../../src/contract/result.ts';
import { readToolResult } from '../../../../src/mcp/tools/tool-result.ts';

const text = (value: string) => ({ type: 'text', text: value });
const base64 = Buffer.from('picture').toString('base64');

function modelReads(content: string): unknown {
  return JSON.parse(content);
}

describe('a result', () => {
  test.each([
    ['one text', { content: [text('hello')] }, 'hello'],
    ['several texts', { content: [text('a'), text('b')] }, 'a\nb'],
    ['nothing', { content: [] }, ''],
    [
      'structured content and its text',
      { content: [text('{"a":1}')], structuredContent: { a: 1 } },
      { a: 1 },
    ],
    ['structured content that is no object', { content: [text('[1]')], structuredContent: [1] }, [1]],
    ['structured null', { content: [], structuredContent: null }, null],
  ])('of %s is the payload alone', (_, raw, payload) => {
    const { result, content, rejected } = readToolResult(raw);
    expect(result).toEqual({ ok: true, payload, effects: [] });
    expect(modelReads(content)).toEqual({ ok: true, result: payload });
    expect(rejected).toEqual([]);
  });

  test('with media keeps every item for programs and describes it to models', () => {
    const items = [
      text('see'),
      { type: 'image', data: base64, mimeType: 'image/png' },
      { type: 'audio', data: base64, mimeType: 'audio/wav' },
      { type: 'resource', resource: { uri: 'file:///a', blob: base64 } },
      { type: 'resource', resource: { uri: 'file:///b', text: 'inside' } },
      { type: 'resource_link', uri: 'file:///c', name: 'c' },
      { type: 'hologram', of: 'the future' },
    ];
    const { result, content } = readToolResult({ content: items, structuredContent: { n: 1 } });
    expect(result).toEqual({
      ok: true,
      payload: { content: items, structured_content: { n: 1 } },
      effects: [],
    });
    expect(modelReads(content)).toEqual({
      ok: true,
      result: {
        structured_content: { n: 1 },
        content: [
          text('see'),
          { type: 'image', mimeType: 'image/png', bytes: 7 },
          { type: 'audio', mimeType: 'audio/wav', bytes: 7 },
          { type: 'resource', resource: { uri: 'file:///a', bytes: 7 } },
          ...items.slice(4),
        ],
      },
    });
  });
});

describe('an error', () => {
  test('as text is a tool_error with that text', () => {
    const { result, content } = readToolResult({ isError: true, content: [text('no such file')] });
    const error = { type: 'tool_error', message: 'no such file', details: {}, retryable: false };
    expect(result).toEqual({ ok: false, error, effects: [] });
    expect(modelReads(content)).toEqual({ ok: false, error });
  });

  test.each([
    ['in its text', { isError: true, content: [text('{"message":"busy","retryable":true}')] }],
    ['inside error', { isError: true, content: [text('{"error":{"message":"busy","retryable":true}}')] }],
    [
      'in structured content',
      { isError: true, content: [], structuredContent: { message: 'busy', retryable: true } },
    ],
    [
      'as a hint in details',
      { isError: true, content: [text('{"message":"busy","details":{"retry":"yes"}}')] },
    ],
  ])('that hints %s at a retry is retryable', (_, raw) => {
    const { result } = readToolResult(raw);
    expect(result).toMatchObject({
      ok: false,
      error: { type: 'tool_error', message: 'busy', retryable: true },
    });
  });

  test('may name its own type and details', () => {
    const told = { type: 'rate_limited', message: 'slow down', details: { retry_after_ms: 5 } };
    const { result } = readToolResult({ isError: true, content: [text(JSON.stringify(told))] });
    expect(result).toMatchObject({ ok: false, error: { ...told, retryable: true } });
  });

  test.each([
    ['{"message":"busy","retry_after_ms":5000}', true],
    ['{"type":"quota","message":"busy","retry_after_ms":5000}', true],
    ['{"error":{"message":"busy"},"retry_after_ms":5000}', true],
    ['{"message":"busy","details":{"retry_after_ms":5000}}', true],
    ['{"message":"busy","retry_after_ms":5000,"retryable":false}', false],
    ['{"message":"busy","retry_after_ms":"soon"}', false],
    ['{"message":"busy"}', false],
  ])('that says when to try again may be retryable: %s', (json, retryable) => {
    const { result } = readToolResult({ isError: true, content: [text(json)] });
    expect(result).toMatchObject({ ok: false, error: { message: 'busy', retryable } });
  });

  const picture = { type: 'image', data: base64, mimeType: 'image/png' };
  const seen = { type: 'image', mimeType: 'image/png', bytes: expect.any(Number) };

  test.each([
    [
      'other keys',
      [text('{"message":"full","retry_after_ms":5,"used":10}')],
      undefined,
      { retry_after_ms: 5, used: 10 },
    ],
    [
      'keys beside an inner error',
      [text('{"error":{"message":"full","a":1},"b":2}')],
      undefined,
      { a: 1, b: 2 },
    ],
    ['a type and a code', [text('{"type":"quota","code":7,"message":"full"}')], undefined, { code: 7 }],
    [
      'other texts',
      [text('{"message":"full"}'), text('look here')],
      undefined,
      { content: [text('look here')] },
    ],
    ['a picture', [text('{"message":"full"}'), picture], undefined, { content: [seen] }],
    [
      'texts beside structured content',
      [text('look here')],
      { message: 'full', used: 1 },
      { used: 1, content: [text('look here')] },
    ],
    [
      'structured content beside its text',
      [text('{"message":"full"}')],
      { used: 1 },
      { structured_content: { used: 1 } },
    ],
    ['details and more', [text('{"message":"full","details":{"a":1},"b":2}')], undefined, { a: 1, b: 2 }],
  ])('keeps its other members beside the message: %s', (_, content, structuredContent, details) => {
    const raw = { isError: true, content, ...(structuredContent ? { structuredContent } : {}) };
    const read = readToolResult(raw);
    expect(read.result).toMatchObject({ ok: false, error: { message: 'full' } });
    expect(read.result.ok ? null : read.result.error.details).toEqual(details);
    const told = modelReads(read.content) as { error: { details: object } };
    expect(Object.keys(told.error.details).toSorted()).toEqual(Object.keys(details).toSorted());
  });

  test.each([
    ['nothing', { isError: true, content: [] }],
    ['a picture', { isError: true, content: [{ type: 'image', data: base64, mimeType: 'image/png' }] }],
    ['JSON without a message', { isError: true, content: [text('{"a":1}')] }],
    ['nearly JSON', { isError: true, content: [text('{"message":')] }],
    ['no content at all', { isError: true }],
  ])('that holds %s is still a tool_error with a message', (_, raw) => {
    const { result } = readToolResult(raw);
    expect(resultSchema.parse(result)).toMatchObject({
      ok: false,
      error: { type: 'tool_error', message: /./ },
    });
  });
});

describe('control directives', () => {
  const directive = { type: 'prune_messages', params: { keep_recent: 3 } };
  const carrying = {
    content: [text(JSON.stringify({ result: 'done', _directives: [directive, { type: 'nonsense' }] }))],
  };

  test('become effects when the server is trusted, and are never shown to the model', () => {
    const { result, content, rejected } = readToolResult(carrying, { trust: 'all' });
    expect(result).toEqual({ ok: true, payload: 'done', effects: [directive] });
    expect(modelReads(content)).toEqual({ ok: true, result: 'done' });
    expect(rejected).toMatchObject([{ index: 1, type: 'nonsense', reason: 'unknown_type' }]);
  });

  test('of a server that is not trusted are rejected, and still not shown', () => {
    const { result, content, rejected } = readToolResult(carrying);
    expect(result).toEqual({ ok: true, payload: 'done', effects: [] });
    expect(content).not.toContain('_directives');
    expect(rejected.map(({ reason }) => reason)).toEqual(['untrusted', 'untrusted']);
  });

  test('in an error are rejected', () => {
    const { result, rejected } = readToolResult({ ...carrying, isError: true }, { trust: 'all' });
    expect(result).toMatchObject({ ok: false, error: { message: 'done' }, effects: [] });
    expect(rejected.map(({ reason }) => reason)).toEqual(['error_result', 'error_result']);
  });
});
