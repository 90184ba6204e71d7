/** Chunks of an answer that are taken before they reach `fetch`: by a real `fetch`, from a real server.
 *  It must never take what it checks from anything but the bodies that `fetch` gives. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { MAX_STREAM_BYTES } from '../../../src/llm/answer-limits.ts';
import { createDirectChunks } from '../../../src/llm/direct-chunks.ts';

const LIMITS = { maxDepth: 20, maxValues: 1_000, maxBodyBytes: 1_000_000, maxEventBytes: 100_000 };

/** Pieces that take what begins with `take`. */
function setUp() {
  const taken: string[] = [];
  const takeAll = (chunk: Buffer): boolean => {
    const text = chunk.toString();
    if (text.startsWith('take')) taken.push(text);
    return text.startsWith('take');
  };
  return { taken, chunks: createDirectChunks({ take: () => false, takeAll, room: () => undefined }, LIMITS) };
}

/** Answers with what it is given, a chunk each time that it is asked. */
async function serve(): Promise<{ url: string; send(text: string): Promise<void>; end(): void }> {
  const asked = Promise.withResolvers<ServerResponse>();
  const server = createServer((_request, response) => {
    response.writeHead(200).flushHeaders();
    asked.resolve(response);
  });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    send: async (text) => {
      const response = await asked.promise;
      await new Promise((sent) => response.write(text, sent));
    },
    end: () => void asked.promise.then((response) => response.end()),
  };
}

async function opened() {
  const { taken, chunks } = setUp();
  const { url, send, end } = await serve();
  const response = await fetch(url, chunks.init);
  const reader = response.body?.getReader();
  /** What comes through `fetch`. */
  const next = async (): Promise<string> => Buffer.from((await reader?.read())?.value ?? []).toString();
  return { taken, chunks, send, end, next };
}

/** Sends, and waits until the chunk is where it belongs. */
async function until(isThere: () => boolean): Promise<void> {
  while (!isThere()) await new Promise(setImmediate);
}

test('a chunk is taken once all before it came through and were read to the end of an event', async () => {
  const { taken, chunks, send, next, end } = await opened();
  await send('take too early');
  expect(await next()).toBe('take too early');
  chunks.came('take too early'.length);
  await send('take unread');
  expect(await next()).toBe('take unread');
  chunks.came('take unread'.length);
  chunks.read(false);
  await send('take within an event');
  expect(await next()).toBe('take within an event');
  chunks.came('take within an event'.length);
  chunks.read(true);
  await send('take me');
  await until(() => taken.length > 0);
  await send('other');
  expect(await next()).toBe('other');
  await send('take behind what is on its way');
  expect(await next()).toBe('take behind what is on its way');
  end();
  expect(await next()).toBe('');
  expect(taken).toEqual(['take me']);
});

test('what was taken counts as what came', async () => {
  const { taken, chunks, send } = await opened();
  chunks.read(true);
  await send('take me');
  await until(() => taken.length > 0);
  expect(chunks.came(0)).toBe('take me'.length);
});

test('a chunk that crosses a limit is left to whoever refuses it', async () => {
  const { taken, chunks, send, next } = await opened();
  chunks.read(true);
  const deep = `take ${'['.repeat(60)}`;
  await send(deep);
  expect(await next()).toBe(deep);
  expect(taken).toEqual([]);
});

test('an answer that is too large altogether is left to whoever refuses it', async () => {
  const { taken, chunks, send, next } = await opened();
  await send('x');
  expect(await next()).toBe('x');
  chunks.came(1);
  chunks.read(true);
  await send('take me');
  await until(() => taken.length > 0);
  chunks.came(MAX_STREAM_BYTES);
  chunks.read(true);
  await send('take no more');
  expect(await next()).toBe('take no more');
  expect(taken).toEqual(['take me']);
});

test('where the dispatcher is not found, fetch gets everything', async () => {
  const holder = globalThis as Record<symbol, unknown>;
  const name = Symbol.for('undici.globalDispatcher.1');
  const kept = holder[name];
  onTestFinished(() => void (holder[name] = kept));
  holder[name] = undefined;
  expect(setUp().chunks.init).toEqual({});
});
