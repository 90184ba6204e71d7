/** Arguments of calls and content of answers, checked on this side against the server's own schemas.
 *  It must never let a wrong call reach the server. */
import { describe, expect, test } from 'vitest';
import { readToolResult } from '../../../src/mcp/tools/tool-result.ts';
import { failureOf, openPool, textOf } from '../../support/mcp-pool.ts';
import { everything, legacyPeer } from '../../support/mcp-servers.ts';

describe('arguments', () => {
  test.each([
    ['of the wrong type', 'add', { a: 'x', b: 1 }, [{ path: 'arguments.a', message: 'must be number' }]],
    ['that are missing', 'add', { a: 1 }, [{ path: 'arguments.b', message: 'is required' }]],
    [
      'that nobody asked for',
      'add',
      { a: 1, b: 2, c: 3 },
      [{ path: 'arguments.c', message: 'is not allowed' }],
    ],
    [
      'under a draft-07 schema',
      'draft-07',
      { a: 1, b: null },
      [{ path: 'arguments.b', message: 'must be number' }],
    ],
  ])('%s are refused before the server sees them', async (_, tool, args, errors) => {
    const { call } = openPool(legacyPeer());
    let sent = false;
    const failed = failureOf(await call(tool, args, { onSent: () => (sent = true) }));
    expect(failed).toMatchObject({
      sent: false,
      error: { type: 'validation_error', retryable: false, details: { errors } },
    });
    expect(failed.error.message).toContain(errors[0]?.path);
    expect(sent).toBe(false);
  });

  test('of a published server are checked too', async () => {
    const { call } = openPool(everything());
    const failed = failureOf(await call('get-sum', { a: 'two', b: 3 }));
    expect(failed.error.details['errors']).toEqual([{ path: 'arguments.a', message: 'must be number' }]);
  });
});

test('an unknown tool is unknown_tool, with similar names', async () => {
  const { call } = openPool(everything());
  const failed = failureOf(await call('get_sum', { a: 1, b: 2 }));
  expect(failed).toMatchObject({
    sent: false,
    error: { type: 'unknown_tool', details: { close_names: ['get-sum'] } },
  });
});

test('an unknown server is unknown_tool, and nothing is started for it', async () => {
  const { call, pool } = openPool(everything());
  const failed = failureOf(await call('echo', {}, { server: 'everythin' }));
  expect(failed).toMatchObject({
    sent: false,
    error: { type: 'unknown_tool', details: { close_names: ['everything'] } },
  });
  expect([pool.tools('everythin'), pool.status('everythin'), pool.describe('everythin', 'echo')]).toEqual([
    null,
    null,
    null,
  ]);
});

describe('structured content', () => {
  test('that fits is passed on', async () => {
    const { call } = openPool(legacyPeer());
    expect(await call('add', { a: 2, b: 3 })).toMatchObject({
      kind: 'result',
      result: { structuredContent: { sum: 5 } },
    });
  });

  test.each([
    ['does not fit', 'wrong-structured', [{ path: 'structuredContent.sum', message: 'must be number' }]],
    ['is missing', 'no-structured', [{ path: 'structuredContent', message: 'is required' }]],
  ])('that %s is invalid_result, and the tool has run', async (_, tool, errors) => {
    const { call } = openPool(legacyPeer());
    const failed = failureOf(await call(tool));
    expect(failed).toMatchObject({
      sent: true,
      error: { type: 'invalid_result', retryable: false, details: { errors } },
    });
  });
});

test('every kind of content arrives', async () => {
  const { call } = openPool(legacyPeer());
  const outcome = await call('media');
  if (outcome.kind !== 'result') throw new Error(JSON.stringify(outcome));
  const kinds = (outcome.result.content ?? []).map((item) => (item as { type: string }).type);
  expect(kinds).toEqual(['text', 'image', 'audio', 'resource', 'resource', 'resource_link']);
  const { content } = readToolResult(outcome.result);
  expect(content).toContain('"text":"inside"');
  expect(content).toContain('"uri":"file:///b.txt"');
  expect(content).not.toContain(Buffer.from('not really a picture').toString('base64'));
});

test('a failure of the tool is a result, and a JSON-RPC error of it is a tool_error', async () => {
  const { call } = openPool(legacyPeer());
  const told = await call('fail', { text: '{"message":"busy","retryable":true}' });
  if (told.kind !== 'result') throw new Error(JSON.stringify(told));
  expect(readToolResult(told.result).result).toMatchObject({
    ok: false,
    error: { message: 'busy', retryable: true },
  });
  const refused = failureOf(await call('refuse'));
  expect(refused).toMatchObject({
    sent: true,
    error: { type: 'tool_error', details: { code: 1001, data: { quota: 0 } } },
  });
});

test('a result of several megabytes arrives whole', async () => {
  const { call } = openPool(legacyPeer());
  const bytes = 8 * 1024 * 1024;
  expect(textOf(await call('large', { bytes }))).toHaveLength(bytes);
});

test('a thousand calls at once all end, each with its own answer', async () => {
  const { call } = openPool(legacyPeer());
  const outcomes = await Promise.all(
    Array.from({ length: 1_000 }, async (_, index) => call('echo', { index })),
  );
  expect(outcomes.map(textOf)).toEqual(Array.from({ length: 1_000 }, (_, index) => `{"index":${index}}`));
});
