/** The stream of signals for a plain HTTP reader: frames, resumption, the end, readers that leave or do not read.
 *  It must not use the typed client: browsers do not. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createApi } from '../../../src/http/api.ts';
import type { DirectiveClient } from '../../../src/contract/directive/directive-client.ts';
import type { Signal } from '../../../src/contract/signal/signal.ts';
import { createDirectClient } from '../../../src/service/direct-client.ts';
import { startService } from '../../support/running-service.ts';
import { shared, useRedis } from '../../support/shared.ts';

const redis = useRedis();
const service = shared(async () => startService({ redisUrl: redis.url, roles: { api: true } }));
let direct: DirectiveClient;

beforeAll(async () => {
  direct = await createDirectClient({ redisUrl: redis.url, prefix: service.prefix, knownServers: ['peer'] });
});
afterAll(async () => {
  await direct?.close();
});

interface Frame {
  readonly id?: string;
  readonly event?: string;
  readonly data?: string;
  readonly comment?: string;
}

function parseFrame(block: string): Frame {
  const fields = block.split('\n').map((line) => {
    const colon = line.indexOf(':');
    return [colon === 0 ? 'comment' : line.slice(0, colon), line.slice(colon + 1).trim()];
  });
  return Object.fromEntries(fields) as Frame;
}

async function* framesOf(response: Response): AsyncGenerator<Frame> {
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk as Uint8Array).toString();
    const blocks = text.split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) yield parseFrame(block);
  }
}

async function read(url: string, headers: Record<string, string> = {}): Promise<Frame[]> {
  const response = await fetch(url, { headers: { accept: 'text/event-stream', ...headers } });
  const frames: Frame[] = [];
  for await (const frame of framesOf(response)) frames.push(frame);
  return frames;
}

const signalsUrl = (requestId: string): string => `${service.url}/v1/requests/${requestId}/signals`;

/** A closed request of `count` signals. */
async function closedRequest(count: number): Promise<string> {
  const submission = await direct.submit(
    Array.from({ length: count }, (_, index) => ({
      type: 'emit_tool_error' as const,
      tool_name: 'peer.echo',
      error: `line one\nline two of ${index}`,
    })),
  );
  return submission.request_id;
}

/** A request that stays open: no worker serves its directive. */
async function openRequest(): Promise<string> {
  return (await direct.submit({ type: 'tool_exec', tool_name: 'peer.echo' })).request_id;
}

async function append(requestId: string, error: unknown = 'one more'): Promise<void> {
  await direct.submit({ type: 'emit_tool_error', tool_name: 'peer.echo', error, request_id: requestId });
}

describe('a stream', () => {
  test('carries each signal on one line, with its sequence and type, and names its end', async () => {
    const requestId = await closedRequest(3);
    const [opening, ...frames] = await read(signalsUrl(requestId));
    expect(opening).toEqual({ retry: '1000' });
    const end = frames.pop();
    expect(end).toEqual({ event: 'adjutant.end', data: '{"last_sequence":3}' });
    const { signals } = await direct.page(requestId);
    expect(frames.map(({ data = '' }) => JSON.parse(data) as Signal)).toEqual(signals);
    expect(frames.map(({ id }) => id)).toEqual(['1', '2', '3']);
    expect(new Set(frames.map(({ event }) => event))).toEqual(new Set(['ai.tool.result']));
  });

  test('has the content type of event streams', async () => {
    const abort = new AbortController();
    const requestId = await openRequest();
    const headers = { accept: 'text/html, text/event-stream;q=0.9' };
    const response = await fetch(signalsUrl(requestId), { headers, signal: abort.signal });
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(response.headers.get('cache-control')).toContain('no-store');
    abort.abort();
  });

  test('resumes after Last-Event-ID, which wins over the query', async () => {
    const requestId = await closedRequest(5);
    const idsOf = (frames: Frame[]): (string | undefined)[] =>
      frames.flatMap(({ id }) => (id === undefined ? [] : [id]));
    expect(idsOf(await read(signalsUrl(requestId), { 'last-event-id': '3' }))).toEqual(['4', '5']);
    expect(idsOf(await read(`${signalsUrl(requestId)}?after=4`))).toEqual(['5']);
    expect(idsOf(await read(`${signalsUrl(requestId)}?after=1`, { 'last-event-id': '4' }))).toEqual(['5']);
  });

  test('of a closed request that the reader has read completely is 204, which stops an EventSource', async () => {
    const requestId = await closedRequest(2);
    const headers = { accept: 'text/event-stream', 'last-event-id': '2' };
    const response = await fetch(signalsUrl(requestId), { headers });
    expect(response.status).toBe(204);
  });

  test('of an unknown request is 404, while there is still a status to send', async () => {
    const response = await fetch(signalsUrl('none'), { headers: { accept: 'text/event-stream' } });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ code: 'not_found' });
  });

  test('follows an open request as signals come', async () => {
    const requestId = await openRequest();
    const abort = new AbortController();
    const response = await fetch(signalsUrl(requestId), {
      headers: { accept: 'text/event-stream' },
      signal: abort.signal,
    });
    const frames = framesOf(response);
    await frames.next();
    for (const id of ['1', '2', '3']) {
      await append(requestId);
      expect((await frames.next()).value).toMatchObject({ id });
    }
    abort.abort();
  });

  test('without the accept header is a page', async () => {
    const requestId = await closedRequest(3);
    const page = await (await fetch(`${signalsUrl(requestId)}?after=1&limit=1`)).json();
    expect(page).toMatchObject({ signals: [{ sequence: 2 }], last_sequence: 2, closed: false });
  });

  test('begins after any sequence there can be', async () => {
    const requestId = await closedRequest(1);
    for (const after of ['9007199254740990', `${Number.MAX_SAFE_INTEGER}`]) {
      expect((await fetch(`${signalsUrl(requestId)}?after=${after}`)).status).toBe(200);
      const headers = { accept: 'text/event-stream', 'last-event-id': after };
      expect((await fetch(signalsUrl(requestId), { headers })).status).toBe(204);
    }
  });

  test('to a HEAD request has no body', async () => {
    const response = await fetch(signalsUrl(await openRequest()), {
      method: 'HEAD',
      headers: { accept: 'text/event-stream' },
    });
    expect(response.status).toBe(200);
    expect(await response.text()).toBe('');
  });

  test('ends without its closing event when the service stops, so that the reader reconnects', async () => {
    const other = await startService({ redisUrl: redis.url, roles: { api: true }, prefix: service.prefix });
    const requestId = await openRequest();
    await append(requestId);
    const response = await fetch(`${other.url}/v1/requests/${requestId}/signals`, {
      headers: { accept: 'text/event-stream' },
    });
    const frames = framesOf(response);
    await frames.next();
    expect((await frames.next()).value).toMatchObject({ id: '1' });
    await other.stop();
    expect(await frames.next()).toEqual({ done: true, value: undefined });
  });
});

describe('a quiet stream', () => {
  test('is kept alive by comments', async () => {
    const api = createApi({
      client: direct,
      ready: async () => ({ ok: true, checks: {} }),
      logger: pino({ level: 'silent' }),
      version: '0',
      heartbeatMs: 10,
    });
    const url = await api.listen({ host: '127.0.0.1', port: 0 });
    const response = await fetch(`${url}/v1/requests/${await openRequest()}/signals`, {
      headers: { accept: 'text/event-stream' },
    });
    const frames = framesOf(response);
    await frames.next();
    expect((await frames.next()).value).toEqual({ comment: 'still here' });
    await api.close();
  });
});

/** A client whose `signals` is watched: how many were taken, and whether reading was abandoned. */
function watched(client: DirectiveClient): {
  client: DirectiveClient;
  taken: () => number;
  left: Promise<void>;
} {
  let taken = 0;
  const { promise, resolve } = Promise.withResolvers<void>();
  const signals: DirectiveClient['signals'] = async function* (requestId, options) {
    try {
      for await (const signal of client.signals(requestId, options)) {
        taken += 1;
        yield signal;
      }
    } finally {
      resolve();
    }
  };
  return { client: { ...client, signals }, taken: () => taken, left: promise };
}

describe('a reader', () => {
  async function apiOver(client: DirectiveClient) {
    const ready = async () => ({ ok: true, checks: {} });
    const api = createApi({ client, ready, logger: pino({ level: 'silent' }), version: '0' });
    return { api, url: await api.listen({ host: '127.0.0.1', port: 0 }) };
  }

  test('that goes away is released', async () => {
    const watch = watched(direct);
    const { api, url } = await apiOver(watch.client);
    const abort = new AbortController();
    const requestId = await openRequest();
    const response = await fetch(`${url}/v1/requests/${requestId}/signals`, {
      headers: { accept: 'text/event-stream' },
      signal: abort.signal,
    });
    await framesOf(response).next();
    abort.abort();
    await watch.left;
    await api.close();
  });

  test('that does not read stops the reading of the log', async () => {
    const count = 400;
    const requestId = `slow-${randomUUID()}`;
    const error = 'x'.repeat(15_000);
    const batch = Array.from({ length: count }, () => ({
      type: 'emit_tool_error' as const,
      tool_name: 'peer.echo',
      error,
      request_id: requestId,
    }));
    for (let begin = 0; begin < count; begin += 100) await direct.submit(batch.slice(begin, begin + 100));
    const watch = watched(direct);
    const { api, url } = await apiOver(watch.client);
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    socket.write(
      `GET /v1/requests/${requestId}/signals HTTP/1.1\r\nhost: x\r\naccept: text/event-stream\r\n\r\n`,
    );
    await once(socket, 'readable');
    // Meanwhile other requests are served; by then the sockets' buffers are full.
    for (let index = 0; index < 50; index += 1) await (await fetch(`${url}/v1/requests/${requestId}`)).json();
    expect(watch.taken()).toBeGreaterThan(0);
    expect(watch.taken()).toBeLessThan(count);
    socket.destroy();
    await watch.left;
    await api.close();
  });
});
