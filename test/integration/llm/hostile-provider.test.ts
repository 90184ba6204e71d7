/** Providers that send more than a process can hold, or send it elsewhere: each costs its own call, and the process lives.
 *  It must never run them against the process of the tests: a fault here ends the one that has it. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Api, call, errorIn, KEY, providersAt } from '../../support/model-calls.ts';
import { type Child, spawnNode } from '../../support/process.ts';
import {
  bodyOf,
  json,
  type ProviderServer,
  startProvider,
  STREAM_HEAD,
} from '../../support/provider-server.ts';

const CALLER = fileURLToPath(new URL('../../support/servers/model-caller.ts', import.meta.url));
/** MiB. Far less than any of the answers would take. */
const HEAP = 160;
const MIB = 1024 * 1024;
const PIECE = 'x'.repeat(MIB);
const PACKED = gzipSync(PIECE.repeat(64), { level: 1 });
const WIDE = `[${Array.from({ length: 1_500_000 }, () => '{}').join()}]`;

const chunk = (content: string): string =>
  `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content } }] })}\n\n`;
const newCalls = (from: number): string =>
  Array.from({ length: 200 }, (_, i) => {
    const call = { index: from + i, id: `c${from + i}`, function: { name: 't', arguments: '' } };
    return `data: ${JSON.stringify({ id: 'x', choices: [{ index: 0, delta: { tool_calls: [call] } }] })}\n\n`;
  }).join('');

/** Writes for as long as anybody reads. */
async function pour(response: ServerResponse, pieceAt: (index: number) => string): Promise<void> {
  const closed = once(response, 'close');
  for (let index = 0; !response.destroyed; index += 1) {
    if (!response.write(pieceAt(index))) await Promise.race([once(response, 'drain'), closed]);
  }
}

const HABITS: Readonly<Record<string, (response: ServerResponse) => void | Promise<void>>> = {
  endless: (response) => pour(response.writeHead(200, { 'content-type': 'application/json' }), () => PIECE),
  packed: (response) =>
    void response
      .writeHead(200, {
        'content-type': 'application/json',
        'content-encoding': 'gzip',
        'content-length': PACKED.length,
      })
      .end(PACKED),
  wide: (response) =>
    void response
      .writeHead(200, { 'content-type': 'text/plain' })
      .end(`{"id":"x","model":"m","choices":${WIDE},"data":${WIDE}}`),
  event: (response) =>
    pour(response.writeHead(200, STREAM_HEAD), (index) => (index === 0 ? 'data: "' : PIECE)),
  lines: (response) => pour(response.writeHead(200, STREAM_HEAD), () => 'data:\n'.repeat(10_000)),
  talks: (response) => pour(response.writeHead(200, STREAM_HEAD), () => chunk('x'.repeat(100_000))),
  calls: (response) => pour(response.writeHead(200, STREAM_HEAD), (index) => newCalls(index * 200)),
  comments: (response) => pour(response.writeHead(200, STREAM_HEAD), () => `: ${'x'.repeat(100_000)}\n\n`),
  refuses: (response) => pour(response.writeHead(500, { 'content-type': 'application/json' }), () => PIECE),
  whole: (response) =>
    json(200, { id: 'x', model: 'm', choices: [{ message: { content: 'Hi' }, finish_reason: 'stop' }] })(
      response,
      { path: '', headers: {}, body: null, closed: Promise.resolve() },
      0,
    ) as void,
};

describe('a process with little memory outlives', () => {
  let server: ProviderServer;
  let caller: Child;

  beforeAll(async () => {
    server = await startProvider((response, { body }) =>
      HABITS[(body as { model: string }).model]?.(response),
    );
    caller = spawnNode([`--max-old-space-size=${HEAP}`, CALLER, server.url, 'compatible']);
  });
  afterAll(async () => {
    await caller.kill9();
    await server[Symbol.asyncDispose]();
  });

  async function ending(type: string, model: string): Promise<unknown> {
    caller.write(`${type} ${model}\n`);
    const line = await caller.waitForLine(new RegExp(`^\\{"type":"${type}","model":"${model}"`), 30_000);
    return (JSON.parse(line) as { end: unknown }).end;
  }

  test.each([
    ['llm_generate', 'endless', 'is larger than 33554432 bytes'],
    ['llm_generate', 'packed', 'is larger than 33554432 bytes'],
    ['llm_generate', 'wide', 'has more than 100000 values'],
    ['llm_embed', 'endless', 'is larger than 33554432 bytes'],
    ['llm_embed', 'packed', 'is larger than 33554432 bytes'],
    ['llm_embed', 'wide', 'has more than 4096 objects and arrays'],
    ['llm_stream', 'event', 'has an event that is larger than 16777216 bytes'],
    ['llm_stream', 'lines', 'has an event that has more than 100000 lines'],
    ['llm_stream', 'comments', 'is larger than 134217728 bytes'],
    ['llm_stream', 'talks', 'has more than 4000000 characters'],
    ['llm_stream', 'calls', 'has more than 10000 parts'],
  ])('%s with an answer that is %s: it %s', async (type, model, reason) => {
    expect(await ending(type, model)).toMatchObject({
      type: 'invalid_result',
      retryable: false,
      message: expect.stringContaining(reason) as string,
      details: { reason: 'too_large' },
    });
  });

  test('a refusal without an end, and still calls', async () => {
    expect(await ending('llm_generate', 'refuses')).toMatchObject({
      type: 'provider_error',
      details: { status: 500 },
    });
    expect(await ending('llm_generate', 'whole')).toBe('answered');
  });
});

describe.each<Api>(['openai', 'openai-chat', 'anthropic', 'google', 'compatible'])('%s', (api) => {
  test.each(['llm_stream', 'llm_generate'] as const)(
    '%s does not follow a redirect with the key',
    async (type) => {
      await using other = await startProvider(json(200, {}));
      await using server = await startProvider((response) => {
        response.writeHead(307, { location: `${other.url}/v1/elsewhere?key=${KEY}` }).end();
      });
      const result = await call({ type }, { providers: providersAt(server.url, api) });
      expect(errorIn(result)).toMatchObject({
        type: 'executor',
        retryable: false,
        details: { reason: 'redirect' },
      });
      expect(errorIn(result).message).toContain(
        `redirects to ${other.url}/v1/elsewhere; redirects are not followed`,
      );
      expect(result.execution).toMatchObject({ unavailable: true });
      expect(bodyOf(server)).toBeDefined();
      expect(other.seen).toEqual([]);
    },
  );
});
