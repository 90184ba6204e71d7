/** Chunks of an answer that are taken before they reach `fetch`: by a real `fetch`, from a real server.
 *  It must never take what it checks from anything but the bodies that `fetch` gives. */
import { once } from 'node:events';
import { createServer, type OutgoingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createDirectChunks } from '../../../src/llm/direct-chunks.ts';

const LIMITS = { maxDepth: 20, maxValues: 1_000, maxBodyBytes: 1_000_000, maxEventBytes: 100_000 };

/** Pieces that take what begins with `take`. */
function setUp(mostBytes?: number) {
  const taken: string[] = [];
  const seen: [text: string, isNext: boolean][] = [];
  const lead = (chunk: Buffer, isNext: boolean): boolean => seen.push([chunk.toString(), isNext]) < 3;
  const takeAll = (chunk: Buffer): boolean => {
    const text = chunk.toString();
    if (text.startsWith('take')) taken.push(text);
    return text.startsWith('take');
  };
  const pieces = { take: () => false, takeAll, lead, led: () => undefined, room: () => undefined };
  return { taken, seen, chunks: createDirectChunks(pieces, LIMITS, mostBytes) };
}

/** Answers with what it is given, a chunk each time that it is asked. */
async function serve(
  headers: OutgoingHttpHeaders,
  status: number,
): Promise<{ url: string; send(text: string): Promise<void>; end(): void }> {
  const asked = Promise.withResolvers<ServerResponse>();
  const server = createServer((_request, response) => {
    response.writeHead(status, headers).flushHeaders();
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

const EVENTS = { 'content-type': 'text/event-stream; charset=utf-8' };

async function opened(mostBytes?: number, headers: OutgoingHttpHeaders = EVENTS, status = 200) {
  const { taken, seen, chunks } = setUp(mostBytes);
  const { url, send, end } = await serve(headers, status);
  const reader = (await fetch(url, chunks.init)).body?.getReader();
  let reading: Promise<void> | undefined;
  let read: string | undefined;
  const readNext = async (): Promise<void> => {
    read = Buffer.from((await reader?.read())?.value ?? []).toString();
    reading = undefined;
  };

  /** Sends it, and returns which way it came; what came through `fetch` counts as such. */
  async function wayOf(text: string): Promise<'taken' | 'through fetch'> {
    const before = taken.length;
    await send(text);
    // The end of the test cuts it.
    reading ??= readNext().catch(() => {});
    while (taken.length === before && read === undefined) await new Promise(setImmediate);
    if (taken.length > before) return 'taken';
    expect(read).toBe(text);
    read = undefined;
    return 'through fetch';
  }
  const came = (text: string, isWhole: boolean): void => {
    chunks.came(text.length);
    chunks.read(isWhole);
  };
  return { taken, seen, chunks, wayOf, came, end };
}

test('a chunk is taken once all before it came through and were read to the end of an event', async () => {
  const { taken, wayOf, came } = await opened();
  expect(await wayOf('take too early')).toBe('through fetch');
  came('take too early', true);
  expect(await wayOf('other')).toBe('through fetch');
  expect(await wayOf('take behind what is on its way')).toBe('through fetch');
  came('other', true);
  came('take behind what is on its way', false);
  expect(await wayOf('take within an event')).toBe('through fetch');
  came('take within an event', true);
  expect(await wayOf('take me')).toBe('taken');
  expect(await wayOf('take me, too')).toBe('taken');
  expect(await wayOf('other')).toBe('through fetch');
  expect(taken).toEqual(['take me', 'take me, too']);
});

test('what was taken counts as what came', async () => {
  const { chunks, wayOf, came } = await opened();
  came('', true);
  expect(await wayOf('take me')).toBe('taken');
  expect(chunks.came(0)).toBe('take me'.length);
});

test('a chunk that crosses a limit is left to whoever refuses it', async () => {
  const { wayOf, came } = await opened();
  came('', true);
  expect(await wayOf(`take ${'['.repeat(60)}`)).toBe('through fetch');
});

test('an answer that is too large altogether is left to whoever refuses it', async () => {
  const { wayOf, came } = await opened('x take me.'.length);
  expect(await wayOf('x')).toBe('through fetch');
  came('x', true);
  expect(await wayOf('take me')).toBe('taken');
  expect(await wayOf('take')).toBe('through fetch');
});

test('what the client gets is looked at first, until no more is to be shown', async () => {
  const { seen, wayOf, came } = await opened();
  expect(await wayOf('one')).toBe('through fetch');
  expect(await wayOf('two')).toBe('through fetch');
  came('onetwo', true);
  for (const text of ['three', 'four']) expect(await wayOf(text)).toBe('through fetch');
  expect(seen).toEqual([
    ['one', false],
    ['two', false],
    ['three', true],
  ]);
});

test.each<[string, OutgoingHttpHeaders, number]>([
  ['of another type', { 'content-type': 'application/json' }, 200],
  ['without a type', {}, 200],
  ['that is encoded', { ...EVENTS, 'content-encoding': 'identity' }, 200],
  ['with another status', EVENTS, 203],
])('of an answer %s nothing is shown before the client has it', async (_what, headers, status) => {
  const { seen, wayOf } = await opened(undefined, headers, status);
  expect(await wayOf('one')).toBe('through fetch');
  expect(seen).toEqual([]);
});

test('nothing is shown from a chunk on that crosses a limit', async () => {
  const { seen, wayOf } = await opened();
  expect(await wayOf('['.repeat(60))).toBe('through fetch');
  expect(await wayOf('one')).toBe('through fetch');
  expect(seen).toEqual([]);
});

test('where the dispatcher is not found, fetch gets everything', async () => {
  const holder = globalThis as Record<symbol, unknown>;
  const name = Symbol.for('undici.globalDispatcher.1');
  const kept = holder[name];
  onTestFinished(() => void (holder[name] = kept));
  holder[name] = undefined;
  expect(setUp().chunks.init).toEqual({});
});
