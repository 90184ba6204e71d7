/** Answers that are not quite JSON-RPC: what is harmless is read, and everything else fails its call at once.
 *  It must never pass because a call timed out: a call has more time than a test. */
import { describe, expect, test } from 'vitest';
import { keptDigits } from '../../../src/mcp/transport/kept-digits.ts';
import { readToolResult } from '../../../src/mcp/tools/tool-result.ts';
import { failureOf, openPool, textOf } from '../../support/mcp-pool.ts';
import { malformedPeer, startMalformedPeer } from '../../support/mcp-servers.ts';
import { shared } from '../../support/shared.ts';

const HARMLESS = [
  'error-null',
  'meta-null',
  'meta-list',
  'item-members-list',
  'tool-result',
  'members-null',
  'item-members-null',
  'no-jsonrpc',
  'jsonrpc-one',
  'jsonrpc-number',
  'id-text',
  'more-members',
  'method-null',
  'method-echoed',
];
const ERRORS = [
  'result-null',
  'code-text',
  'code-missing',
  'code-name',
  'code-fraction',
  'error-text',
  'data-null',
];
const UNUSABLE = [
  'both',
  'neither',
  'result-number',
  'result-text',
  'result-list',
  'result-only-null',
  'content-null',
  'meta-text',
  'meta-member',
  'nothing-at-all',
];

const peer = shared(() => startMalformedPeer());

describe.each(['stdio', 'json', 'events', 'sse'])('over %s', (way) => {
  function pool() {
    return openPool(way === 'stdio' ? malformedPeer() : peer.over(way));
  }

  test('reads what is harmless', async () => {
    const { call } = pool();
    const read = HARMLESS.map(async (tool) => [tool, textOf(await call(tool))]);
    expect(await Promise.all(read)).toEqual(HARMLESS.map((tool) => [tool, 'said']));
  });

  // RFC 8259, section 6: servers in other languages send 64-bit ids; a `once` tool has run, and its result must not be lost.
  test('keeps the digits of integers that JavaScript cannot hold, and names their places', async () => {
    const outcome = await pool().call('large-integers');
    if (outcome.kind !== 'result') throw new Error(JSON.stringify(outcome));
    expect(readToolResult(outcome.result).result).toMatchObject({
      ok: true,
      payload: {
        ids: [7, '9007199254740993'],
        text: '9007199254740993',
        ratio: 1250,
        top: '18446744073709551615',
      },
    });
    expect(keptDigits(outcome.result._meta)).toEqual(['ids[1]', 'top']);
  });

  test('reads an error whatever form it has', async () => {
    const { call } = pool();
    for (const tool of ERRORS)
      expect([tool, failureOf(await call(tool))]).toMatchObject([
        tool,
        { sent: true, error: { type: 'tool_error', message: 'no' } },
      ]);
    expect(failureOf(await call('message-missing')).error).toMatchObject({ type: 'tool_error' });
  });

  test.each(UNUSABLE)('an answer that cannot be used fails its call at once: %s', async (tool) => {
    const { call } = pool();
    expect(failureOf(await call(tool))).toMatchObject({
      sent: true,
      error: { type: 'invalid_result', retryable: false },
    });
    expect(textOf(await call('plain'))).toBe('said');
  });

  test.each([
    ['one-wrong-item', 'content.1.data'],
    ['unknown-kind', 'content.1.type'],
    ['content-text', 'content'],
  ])('names the place of what is wrong, and keeps the text beside it: %s', async (tool, path) => {
    const { error } = failureOf(await pool().call(tool));
    expect(error).toMatchObject({
      type: 'invalid_result',
      details: {
        errors: expect.arrayContaining([expect.objectContaining({ path })]) as unknown,
        content: [{ type: 'text', text: 'said' }],
      },
    });
    expect(error.message).toContain(`: ${path}: `);
  });

  test('the data of a result without content is its payload', async () => {
    const { call } = pool();
    expect(await call('data-only')).toMatchObject({
      result: { structuredContent: { rows: [1, 2], total: 2 } },
    });
    expect(await call('structured-list')).toMatchObject({ result: { structuredContent: {} } });
  });

  test.each(['padded-start', 'padded-end'])('finds the request of an oversized answer: %s', async (tool) => {
    const { call } = pool();
    const [failed, plain] = await Promise.all([call(tool), call('plain')]);
    expect(failureOf(failed)).toMatchObject({
      sent: true,
      error: {
        type: 'invalid_result',
        message: 'The answer of the MCP server is larger than 16777216 bytes',
      },
    });
    expect(textOf(plain)).toBe('said');
  });
});

// Loggers such as pino write a JSON object a line, with any members.
test('a line of JSON that is no message is no answer, whatever id it has', async () => {
  expect(textOf(await openPool(malformedPeer()).call('logged-first'))).toBe('said');
});

describe('over HTTP', () => {
  test.each(['accepted', 'empty', 'other-id', 'broken-json'])(
    'a response without the answer fails its call: %s',
    async (tool) => {
      const { call } = openPool(peer.over('json'));
      expect(failureOf(await call(tool))).toMatchObject({
        sent: true,
        error: { type: 'invalid_result', retryable: false },
      });
      expect(textOf(await call('plain'))).toBe('said');
    },
  );

  test('reads an event whose lines end with a carriage return', async () => {
    expect(textOf(await openPool(peer.over('json')).call('returns'))).toBe('said');
  });

  test('a token without a scope is auth, and names the scope', async () => {
    expect(failureOf(await openPool(peer.over('json')).call('lacks-scope'))).toMatchObject({
      sent: false,
      error: {
        type: 'auth',
        message: 'The MCP server denied access: the token lacks the scope "files:write"',
        retryable: false,
      },
    });
  });

  test('reads the JSON-RPC error of a refusal', async () => {
    const { call } = openPool(peer.over('json'));
    expect(failureOf(await call('refused')).error).toMatchObject({
      type: 'tool_error',
      message: 'not on Sundays',
      details: { code: 7 },
    });
    expect(failureOf(await call('refused-without-id'))).toMatchObject({
      sent: false,
      error: { type: 'executor', message: 'the header is missing', details: { status: 400 } },
    });
  });
});

test.each(['stdio', 'events', 'sse'])('progress just before the answer is kept over %s', async (way) => {
  const notes: unknown[] = [];
  const { call } = openPool(way === 'stdio' ? malformedPeer() : peer.over(way));
  expect(textOf(await call('last-words', {}, { onProgress: (note) => notes.push(note) }))).toBe('said');
  expect(notes).toEqual([{ progress: 1 }]);
});

test('an answer of the modern protocol without a result type is complete', async () => {
  const { call, logs } = openPool(malformedPeer('modern'));
  expect(textOf(await call('plain'))).toBe('said');
  expect(logs.find(({ message }) => message === 'MCP server ready')?.fields).toMatchObject({
    era: 'modern',
  });
});

describe('a byte order mark', () => {
  test('before an answer is skipped', async () => {
    const { call } = openPool(malformedPeer());
    expect(textOf(await call('byte-order-mark'))).toBe('said');
  });

  test('before the first answer of a server is skipped', async () => {
    const { call } = openPool(malformedPeer('begins-with-a-mark'));
    expect(textOf(await call('plain', {}, { timeoutMs: 3_000 }))).toBe('said');
  });
});
