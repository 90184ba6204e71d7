/** A log of large signals: read by page, followed, and left unread by readers that only hold the connection.
 *  It must not need more memory than what is read at once. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createApi } from '../../../src/http/api.ts';
import type { DirectiveClient } from '../../../src/contract/directive/directive-client.ts';
import type { SignalPage } from '../../../src/contract/signal/signal-page.ts';
import { createDirectClient } from '../../../src/service/direct-client.ts';
import { draftSignal } from '../../../src/store/log/signal-draft.ts';
import { acceptance, claimOf, endOf, originOf, toolCall } from '../../support/journal.ts';
import { openStore } from '../../support/store.ts';
import { useRedis } from '../../support/shared.ts';

const SIGNALS = 40;
const LARGE = 'x'.repeat(1_000_000);
const REQUEST = 'large';

const redis = useRedis();
let open: Awaited<ReturnType<typeof openStore>>;
let client: DirectiveClient;

beforeAll(async () => {
  open = await openStore(redis.url);
  client = await createDirectClient({ redisUrl: redis.url, prefix: open.keys.prefix });
  const call = toolCall({ request_id: REQUEST });
  await open.journal.accept(REQUEST, [acceptance(call)]);
  await open.journal.claim(claimOf(call));
  // Larger than a signal of an attempt may be.
  const log = open.keys.log(REQUEST);
  const data = { call_id: call.id, tool_name: call.tool_name, progress: 1, message: LARGE, metadata: {} };
  for (let sequence = 2; sequence < SIGNALS; sequence += 1) {
    const signal = { ...draftSignal('ai.tool.progress', data, originOf(call)), sequence };
    await open.connection.rpush(log, JSON.stringify(signal));
  }
  await open.connection.hset(open.keys.request(REQUEST)[0], 'seq', SIGNALS - 1);
  await open.journal.finish({ requestId: REQUEST, id: call.id, fence: 1 }, 'succeeded', [endOf(call)]);
});
afterAll(async () => {
  await client?.close();
  await open?.[Symbol.asyncDispose]();
});

async function apiWith(unreadBytes: number) {
  const ready = async () => ({ ok: true, checks: {} });
  const api = createApi({
    client,
    ready,
    logger: pino({ level: 'silent' }),
    version: '0',
    limits: { unreadBytes },
  });
  const url = await api.listen({ host: '127.0.0.1', port: 0 });
  return { url, port: Number(new URL(url).port), [Symbol.asyncDispose]: () => api.close().then(() => {}) };
}

async function sequencesFrom(url: string, lastEventId: number): Promise<number[]> {
  const headers = { accept: 'text/event-stream', 'last-event-id': String(lastEventId) };
  const response = await fetch(`${url}/v1/requests/${REQUEST}/signals`, { headers });
  const text = await response.text();
  return [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
}

/** A reader that requests the stream, and reads no more than fits its buffers. */
function openSilent(port: number): Socket {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  const head = ['host: x', 'connection: close', 'accept: text/event-stream'].join('\r\n');
  socket.write(`GET /v1/requests/${REQUEST}/signals HTTP/1.1\r\n${head}\r\n\r\n`);
  return socket;
}

/** Everything until the connection ends. */
async function textOf(socket: Socket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => void chunks.push(chunk));
  await once(socket, 'close');
  return Buffer.concat(chunks).toString();
}

const upTo = (last: number, first = 1): number[] =>
  Array.from({ length: last - first + 1 }, (_, index) => first + index);

describe('a log of large signals', () => {
  test('is read in pages limited by bytes, and each reports whether more follows', async () => {
    const seen: number[] = [];
    for (let more = true; more;) {
      const page = await client.page(REQUEST, { after: seen.at(-1) ?? 0, limit: 1_000 });
      expect(JSON.stringify(page.signals).length).toBeLessThan(2_200_000);
      expect(page.signals.length).toBeGreaterThan(0);
      expect(page.closed).toBe(page.more === false);
      seen.push(...page.signals.map(({ sequence }) => sequence));
      more = page.more === true;
    }
    expect(seen).toEqual(upTo(SIGNALS));
  });

  test('is read in pages of 2 MiB also where its signals name their request again and again', async () => {
    await using api = await apiWith(6_000_000);
    const request_id = 'r'.padEnd(128, 'abcdefgh');
    const call = await open.accepted({ request_id });
    const ref = await open.claimed(call);
    const say = (message: string) => {
      const data = { call_id: call.id, tool_name: call.tool_name, progress: 1, message, metadata: {} };
      return draftSignal('ai.tool.progress', data, originOf(call));
    };
    const often = request_id.repeat(4_000);
    const fewTimes = `${'x'.repeat(3_000)}${request_id.repeat(7)}`;
    await open.journal.log.append(
      ref,
      Array(6)
        .fill(0)
        .map(() => say(often)),
    );
    await open.journal.log.append(
      ref,
      Array(700)
        .fill(0)
        .map(() => say(fewTimes)),
    );
    const seen: number[] = [];
    for (let more = true; more;) {
      const response = await fetch(
        `${api.url}/v1/requests/${request_id}/signals?limit=1000&after=${seen.at(-1) ?? 0}`,
      );
      const text = await response.text();
      expect(text.length).toBeLessThan(2_097_152 + 1_000);
      const page = JSON.parse(text) as SignalPage;
      seen.push(...page.signals.map(({ sequence }) => sequence));
      more = page.more === true;
    }
    expect(seen).toEqual(upTo(707));
  });

  test('gives at least one signal, however few bytes are allowed, and at most the limit', async () => {
    const { journal } = open;
    expect(await journal.log.read(REQUEST, 1, { limit: 10, bytes: 1 })).toMatchObject({
      signals: [{ sequence: 2 }],
      more: true,
    });
    expect(await journal.log.read(REQUEST, 37, { limit: 2, bytes: 10_000_000 })).toMatchObject({
      signals: [{ sequence: 38 }, { sequence: 39 }],
      more: true,
    });
    expect(await journal.log.read(REQUEST, 38, { limit: 2, bytes: 10_000_000 })).toMatchObject({
      more: false,
    });
    expect(await journal.log.read(REQUEST, SIGNALS, { limit: 2, bytes: 1 })).toEqual({
      signals: [],
      more: false,
    });
  });

  test('is followed, while readers that do not read are cut and resume where they were', async () => {
    await using api = await apiWith(6_000_000);
    const silent = Array.from({ length: 12 }, () => openSilent(api.port));
    // The last stream exhausts the budget: readers that have waited longest are cut.
    await Promise.all(silent.map((socket) => once(socket, 'readable')));
    expect(await sequencesFrom(api.url, 0)).toEqual(upTo(SIGNALS));
    const texts = await Promise.all(silent.map(textOf));
    const cut = texts.filter((text) => !text.includes('adjutant.end'));
    expect(cut.length).toBeGreaterThan(0);
    const last = Number([...(cut[0] ?? '').matchAll(/^id: (\d+)$/gm)].at(-2)?.[1] ?? 0);
    // The readers above may still hold the budget: a reader that is cut goes on where it was.
    const resumed: number[] = [];
    while (resumed.at(-1) !== SIGNALS)
      resumed.push(...(await sequencesFrom(api.url, resumed.at(-1) ?? last)));
    expect(resumed).toEqual(upTo(SIGNALS, last + 1));
  });
});
