/** The API's answers to correct callers, and while a part of the service is away.
 *  It must not repeat what both transports promise: the client's suite has that. */
import { connect } from 'node:net';
import { describe, expect, test } from 'vitest';
import { LONGEST_WAIT_MS } from '../../../src/contract/operations/operation.ts';
import { problemSchema } from '../../../src/contract/problem.ts';
import { type Submission, submissionSchema } from '../../../src/contract/directive/submission.ts';
import { startRedis } from '../../support/redis.ts';
import { startService } from '../../support/running-service.ts';
import { shared, useRedis } from '../../support/shared.ts';

const redis = useRedis();
const service = shared(async () => startService({ redisUrl: redis.url }));

async function submit(body: unknown, query = '', headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${service.url}/v1/directives${query}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
}

async function accepted(response: Response): Promise<Submission> {
  return submissionSchema.parse(await response.json());
}

const ADD = { type: 'tool_exec', tool_name: 'peer.add', arguments: { a: 2, b: 3 } };
const WAIT = { type: 'tool_exec', tool_name: 'peer.wait', effect: 'read' };

// A load balancer that keeps idle connections for the longest wait sends its next request on one: closed here first, that was a 502.
test('an idle connection outlives the idle time of a proxy that lets the longest wait through', async () => {
  const { headers } = await fetch(`${service.url}/healthz`);
  const [, seconds] = /timeout=(\d+)/.exec(headers.get('keep-alive') ?? '') ?? [];
  expect(Number(seconds) * 1_000).toBeGreaterThan(LONGEST_WAIT_MS);
});

// One connection without a key held a stop for its whole deadline, and the parts that stop after the API with it.
test('requests whose headers or bodies never end do not keep the service from its stop', async () => {
  const own = await startService({ redisUrl: redis.url });
  const head = 'POST /v1/directives HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n';
  const unfinished = [
    head,
    `${head}content-length: 100\r\n\r\n{`,
    'GET /healthz HTTP/1.1\r\nhost: a\r\n\r\nGET /',
  ];
  const closed = unfinished.map(async (text) => {
    const socket = connect(Number(new URL(own.url).port), '127.0.0.1').on('error', () => {});
    socket.write(text);
    await new Promise((resolve) => socket.resume().once('close', resolve));
  });
  // The service has these connections: it answers one that came later.
  await fetch(`${own.url}/healthz`);
  await own.stop();
  // A stop that does not wait for them leaves them open.
  await Promise.all(closed);
}, 60_000);

describe('POST /v1/directives', () => {
  test('answers 202 with the URL of the request', async () => {
    const response = await submit(ADD);
    expect(response.status).toBe(202);
    const submission = await accepted(response);
    expect(response.headers.get('location')).toBe(`/v1/requests/${submission.request_id}`);
    expect(submission.directives[0]).not.toHaveProperty('result');
  });

  test('accepts a content type with a charset', async () => {
    expect((await submit(ADD, '', { 'content-type': 'application/json; charset=utf-8' })).status).toBe(202);
  });

  test('with wait_ms answers 200 with every result', async () => {
    const response = await submit(
      { directives: [ADD, ADD, { ...ADD, arguments: { a: 'x', b: 1 } }] },
      '?wait_ms=20000',
    );
    expect(response.status).toBe(200);
    const { directives } = await accepted(response);
    expect(directives.map(({ result }) => result?.type)).toEqual(
      Array.from({ length: 3 }, () => 'ai.tool.result'),
    );
  });

  test('with wait_ms answers 202 with the available results, when one directive has not ended', async () => {
    const immediate = { type: 'emit_tool_error', tool_name: 'peer.echo', error: 'no' };
    const response = await submit({ directives: [WAIT, immediate] }, '?wait_ms=10');
    expect(response.status).toBe(202);
    const { directives } = await accepted(response);
    expect(directives.map(({ result }) => result !== undefined)).toEqual([false, true]);
  });

  test('with wait_ms=0 returns the results of a repeated submission', async () => {
    const { request_id: requestId, directives } = await accepted(await submit(ADD, '?wait_ms=20000'));
    const again = await submit({ ...ADD, request_id: requestId, id: directives[0]?.id }, '?wait_ms=0');
    expect(again.status).toBe(200);
    expect((await accepted(again)).directives).toEqual([{ ...directives[0], status: 'existing' }]);
  });

  test('a wait ends with the service, and what was accepted stays accepted', async () => {
    const other = await startService({ redisUrl: redis.url, roles: { api: true }, prefix: service.prefix });
    const waiting = fetch(`${other.url}/v1/directives?wait_ms=300000`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...WAIT, request_id: 'stopping', id: 'a' }),
    });
    const view = `${service.url}/v1/requests/stopping/directives/a`;
    await expect.poll(async () => (await fetch(view)).status).toBe(200);
    await other.stop();
    expect((await waiting).status).toBe(202);
  });

  test('an invalid traceparent counts as none', async () => {
    expect((await submit(ADD, '', { traceparent: '00-nonsense' })).status).toBe(202);
  });
});

describe('GET /v1/requests/{r}/directives/{id}', () => {
  test('with wait_ms answers when the directive has ended', async () => {
    const beat = {
      type: 'tool_exec',
      tool_name: 'peer.beat',
      arguments: { beats: 2, everyMs: 20 },
      request_id: 'poll',
      id: 'a',
    };
    await submit(beat);
    const view = await (await fetch(`${service.url}/v1/requests/poll/directives/a?wait_ms=20000`)).json();
    expect(view).toMatchObject({ status: 'succeeded', result: { type: 'ai.tool.result' } });
  });
});

describe('health', () => {
  test('/healthz and /readyz report that the service is healthy', async () => {
    expect(await (await fetch(`${service.url}/healthz`)).json()).toMatchObject({ status: 'ok' });
    expect(await (await fetch(`${service.url}/readyz`)).json()).toEqual({
      ok: true,
      checks: { redis: 'ok', announcements: 'ok', cancellations: 'ok', engine: 'ok', worker: 'ok' },
    });
  });
});

describe('without Redis', () => {
  test('the service answers 503 with Retry-After, stays up, and works again when Redis is back', async () => {
    await using fragile = await startRedis({ appendonly: true });
    await using other = await startService({ redisUrl: fragile.url, roles: { api: true } });
    await fragile.kill9();
    for (const path of ['/readyz', '/v1/requests/r', '/v1/requests/r/signals']) {
      const response = await fetch(other.url + path);
      expect(response.status, path).toBe(503);
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(problemSchema.parse(await response.json()).code).toBe('unavailable');
    }
    expect((await fetch(`${other.url}/healthz`)).status).toBe(200);
    await fragile.restart();
    await expect.poll(async () => (await fetch(`${other.url}/readyz`)).status).toBe(200);
  });
});
