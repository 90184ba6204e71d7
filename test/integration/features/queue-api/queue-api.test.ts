/** The queue `directives`, served by a whole service: what docs/queue-api.md promises to producers that know only BullMQ.
 *  It must submit with BullMQ alone. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'bullmq';
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { createHttpClient } from '../../../../src/client/http-client.ts';
import { ownServerEntry } from '../../../support/mcp-servers.ts';
import { startProducer } from '../../../support/queue-producer.ts';
import { startService } from '../../../support/running-service.ts';
import { shared, useRedis } from '../../../support/shared.ts';

const FOLDER = mkdtempSync(join(tmpdir(), 'queue-api-'));
const TURNS = join(FOLDER, 'turns.json');
writeFileSync(TURNS, JSON.stringify({ turns: [{ text: 'It is a wolverine.' }] }));

const config = {
  mcpServers: {
    peer: ownServerEntry('legacy-peer.ts'),
    counting: ownServerEntry('counting.ts', { COUNTER_FILE: join(FOLDER, 'counter.jsonl') }),
  },
  providers: { scripted: { type: 'scripted', file: TURNS } },
  models: { scripted: 'scripted:any' },
  agents: { animal: { description: 'Knows animals', model_alias: 'scripted' } },
};

const redis = useRedis();
const service = shared(async () => startService({ redisUrl: redis.url, config }));
const producer = shared(async () => startProducer(redis, service.prefix));
const client = shared(async () => {
  const made = createHttpClient({ baseUrl: service.url });
  return Object.assign(made, { [Symbol.asyncDispose]: async () => made.close() });
});

const echo = (text: string) => ({ type: 'tool_exec', tool_name: 'peer.echo', arguments: { text } });
const failing = (label: string, failures: number) => ({
  type: 'tool_exec',
  tool_name: 'counting.read',
  arguments: { label, failures },
});

describe('a job', () => {
  test('completes with the result of the terminal signal, and its progress names the request', async () => {
    const job = await producer.queue.add('any name', echo('from a queue'));
    const value = await producer.returned(job);
    expect(value).toMatchObject({ ok: true, payload: '{"text":"from a queue"}', effects: [] });
    const { request_id, id } = value as { request_id: string; id: string };
    const stored = await producer.queue.getJob(job.id ?? '');
    expect(stored?.progress).toMatchObject({ request_id, id });
    expect((await client.result(request_id, id))?.data).toMatchObject({ result: { ok: true } });
  });

  test('fails once with the error envelope, however many attempts it has', async () => {
    const directive = { type: 'tool_exec', tool_name: 'peer.fail', arguments: { text: 'no luck' } };
    const job = await producer.queue.add('fails', directive, { attempts: 3, backoff: 1 });
    const error = await producer.failed(job);
    expect(error).toMatchObject({ type: 'tool_error', retryable: false, details: {} });
    expect(error['request_id']).toMatch(/./);
    const stored = await producer.queue.getJob(job.id ?? '');
    expect(stored).toMatchObject({ attemptsMade: 1 });
    expect(await stored?.getState()).toBe('failed');
  });

  test('has its attempts and backoff as fields of the directive, which counts first', async () => {
    const opts = { attempts: 4, backoff: { type: 'exponential', delay: 3, jitter: 0.5 }, priority: 2 };
    const value = await producer.returned(await producer.queue.add('retried', failing('mapped', 2), opts));
    expect(value).toMatchObject({ ok: true });
    const view = await client.directive(String(value['request_id']), String(value['id']));
    expect(view?.directive).toMatchObject({
      max_retries: 3,
      retry_backoff_ms: 3,
      backoff: 'exponential',
      jitter: 0.5,
      priority: 2,
    });
    const own = { ...failing('own', 0), max_retries: 1, retry_backoff_ms: 7 };
    const said = await producer.returned(await producer.queue.add('own', own, opts));
    const shown = await client.directive(String(said['request_id']), String(said['id']));
    expect(shown?.directive).toMatchObject({ max_retries: 1, retry_backoff_ms: 7, backoff: 'exponential' });
  });

  test('is the same submission under the same job id, over the queue and over HTTP', async () => {
    const first = await producer.queue.add('named', echo('once'), { jobId: 'order-17' });
    const value = await producer.returned(first);
    const submission = await client.submit(echo('once') as never, { idempotencyKey: 'order-17' });
    expect(submission).toMatchObject({
      request_id: value['request_id'],
      directives: [{ id: value['id'], status: 'existing' }],
    });
  });

  test('that is retried by hand after its failure is another submission', async () => {
    const job = await producer.queue.add('by hand', failing('by-hand', 1), { jobId: 'by-hand' });
    const { request_id: first } = await producer.failed(job);
    await (await producer.queue.getJob('by-hand'))?.retry('failed');
    const { request_id: second, type } = await producer.failed(job);
    expect(type).toBe('execution_error');
    expect(second).not.toBe(first);
  });

  test('runs an agent, and completes with the result of the run', async () => {
    const job = await producer.queue.add('run', { agent: 'animal', query: 'Which one is it?' });
    const value = await producer.returned(job);
    expect(value).toMatchObject({
      ok: true,
      payload: 'It is a wolverine.',
      termination_reason: 'final_answer',
    });
    expect((await client.request(String(value['request_id'])))?.run?.status).toBe('completed');
  });

  test('fails with the error of its run', async () => {
    const job = await producer.queue.add('run', { agent: 'nobody-knows-it', query: 'Hm?' });
    expect(await producer.failed(job)).toMatchObject({ type: 'not_found' });
  });

  test('fails as its directive is cancelled', async () => {
    const job = await producer.queue.add('cancelled', { type: 'tool_exec', tool_name: 'peer.wait' });
    const events = producer.events;
    const accepted = new Promise<{ request_id: string; id: string }>((resolve) => {
      events.on('progress', ({ jobId, data }) => {
        if (jobId === job.id) resolve(data as { request_id: string; id: string });
      });
    });
    const failure = producer.failed(job);
    const { request_id, id } = await accepted;
    await client.cancel(request_id, id);
    expect(await failure).toMatchObject({ type: 'cancelled', request_id, id });
  });

  test('continues the trace of its producer', async () => {
    const traceId = 'ab'.repeat(16);
    const traceparent = `00-${traceId}-${'cd'.repeat(8)}-01`;
    const carried = { telemetry: { metadata: JSON.stringify({ traceparent }) } };
    const named = await producer.queue.add('named', { ...echo('a'), traceparent });
    const sent = await producer.queue.add('sent', echo('b'), carried);
    for (const job of [named, sent]) {
      const { request_id, id } = (await producer.returned(job)) as { request_id: string; id: string };
      expect((await client.result(request_id, id))?.traceparent).toContain(traceId);
    }
  });

  test('with a larger payload than 64 KiB returns its size, and the payload is read over HTTP', async () => {
    const directive = { type: 'tool_exec', tool_name: 'peer.large', arguments: { bytes: 70_000 } };
    const value = await producer.returned(await producer.queue.add('large', directive));
    expect(value).toMatchObject({ ok: true, payload: null });
    expect(value['payload_bytes']).toBeGreaterThan(70_000);
    const whole = await client.payload(String(value['request_id']), String(value['id']));
    expect(JSON.stringify(whole)).toContain('x'.repeat(70_000));
  });
});

describe('a flow', () => {
  test('has directives as children, whose results its parent reads', async () => {
    const place = {
      connection: { host: '127.0.0.1', port: redis.port },
      prefix: `{${service.prefix}:queue}`,
    };
    const worker = new Worker('reports', async (job) => Object.values(await job.getChildrenValues()), place);
    const tree = await producer.flows.add({
      name: 'report',
      queueName: 'reports',
      children: [
        { name: 'one', queueName: 'directives', data: echo('left') },
        { name: 'two', queueName: 'directives', data: echo('right') },
      ],
    });
    const ended = new Promise<unknown>((resolve) => {
      worker.on('completed', (job) => {
        if (job.id === tree.job.id) resolve(job.returnvalue);
      });
    });
    const values = JSON.stringify(await ended);
    expect(values).toContain('left');
    expect(values).toContain('right');
    await worker.close();
  });

  test('whose parent is among the keys of the service fails, and writes nothing there', async () => {
    const connection = new Redis(redis.url);
    try {
      // BullMQ refuses a parent that does not exist; a producer may write one to the job itself.
      await producer.queue.pause();
      const forged = await producer.queue.add('deputy', echo('x'));
      const parentKey = `${service.prefix}:catalog:x`;
      const parent = JSON.stringify({ id: 'x', queueKey: `${service.prefix}:catalog` });
      await connection.hset(producer.queue.toKey(forged.id ?? ''), { parentKey, parent });
      const failure = producer.failed(forged);
      await producer.queue.resume();
      expect(await failure).toMatchObject({
        type: 'invalid_body',
        details: { errors: [{ path: 'opts.parent' }] },
      });
      expect(await connection.keys(`${service.prefix}:catalog:*`)).toEqual([]);
    } finally {
      await connection.quit();
    }
  });
});

describe('content that is not valid', () => {
  const faults = async (data: unknown, opts: object = {}): Promise<[string, string[]]> => {
    const error = await producer.failed(await producer.queue.add('faulty', data, opts));
    const { errors = [] } = error['details'] as { errors?: { path: string }[] };
    return [String(error['type']), errors.map(({ path }) => path)];
  };

  test.each<[string, unknown, object, string, string[]]>([
    ['nothing', null, {}, 'invalid_body', ['']],
    ['no type', { tool_name: 'peer.echo' }, {}, 'invalid_body', ['type']],
    [
      'faulty fields',
      { ...echo('x'), timeout_ms: -1, extra: 1 },
      {},
      'invalid_body',
      ['timeout_ms', 'extra'],
    ],
    ['a batch', { directives: [echo('x')] }, {}, 'invalid_body', ['directives']],
    ['a key of its own', { ...echo('x'), singleton: { key: 'k' } }, {}, 'invalid_body', ['singleton']],
    [
      'a token of another kind',
      { ...echo('x'), token: 5, max_retries: -1 },
      {},
      'invalid_body',
      ['token', 'max_retries'],
    ],
    [
      'a strategy of backoff',
      echo('x'),
      { attempts: 2, backoff: { type: 'mine' } },
      'invalid_body',
      ['opts.backoff.type'],
    ],
    ['a run without a query', { agent: 'animal', token: 5 }, {}, 'invalid_body', ['token', 'query']],
    [
      'many values',
      { ...echo('x'), arguments: { text: Array.from({ length: 30_000 }, () => 0) } },
      {},
      'body_too_large',
      [''],
    ],
    ['many bytes', { ...echo('x'), arguments: { text: 'x'.repeat(5_000_000) } }, {}, 'body_too_large', ['']],
  ])('of a job fails it, and names each field: %s', async (_name, data, opts, type, paths) => {
    const [code, named] = await faults(data, opts);
    expect(code).toBe(type);
    expect(named.toSorted()).toEqual(paths.toSorted());
  });

  test('that is not JSON, or nested too deep, fails the job before it is parsed, and the next one goes on', async () => {
    const connection = new Redis(redis.url);
    try {
      await producer.queue.pause();
      const jobs = await Promise.all(
        ['a', 'b', 'c'].map(async (name) => producer.queue.add(name, echo(name))),
      );
      const texts = [
        '{"type":NaN}',
        '['.repeat(5_000),
        '{"type":"tool_exec","arguments":{"a":9007199254740993}}',
      ];
      for (const [index, job] of jobs.entries())
        await connection.hset(producer.queue.toKey(job.id ?? ''), 'data', texts[index] ?? '');
      const failures = Promise.all(jobs.map(async (job) => producer.failed(job)));
      await producer.queue.resume();
      const types = (await failures).map(({ type }) => type);
      expect(types).toEqual(['invalid_json', 'invalid_body', 'invalid_body']);
      expect(await producer.returned(await producer.queue.add('next', echo('next')))).toMatchObject({
        ok: true,
      });
    } finally {
      await connection.quit();
    }
  });
});

describe('more open jobs than slots', () => {
  /** One process has a thousand. */
  const OPEN = 1_010;

  test('do not hold back others, and complete after they were parked', async () => {
    const later = { ...echo('later'), delay_ms: 3_600_000 };
    const jobs = await producer.queue.addBulk(
      Array.from({ length: OPEN }, () => ({ name: 'later', data: later, opts: { priority: 1 } })),
    );
    const accepted = async (): Promise<number> => (await producer.queue.getDelayed(0, OPEN)).length;
    // Each was accepted: those that have given way look again later.
    await expect.poll(accepted).toBeGreaterThanOrEqual(OPEN - 1_000);
    expect(await producer.returned(await producer.queue.add('next', echo('next')))).toMatchObject({
      ok: true,
    });
    const [parked] = (await producer.queue.getDelayed(0, 10)).map(({ id, progress }) => ({ id, progress }));
    const { request_id, id } = Object(parked?.progress) as { request_id: string; id: string };
    const job = jobs.find((each) => each.id === parked?.id);
    if (job === undefined) throw new Error('another job is delayed');
    const failure = producer.failed(job);
    await client.cancel(request_id, id);
    await producer.queue.promoteJobs();
    expect(await failure).toMatchObject({ type: 'cancelled' });
    await producer.queue.obliterate({ force: true });
  });
});

test('a service that stops gives its jobs back at once, and the next one waits for the same directive', async () => {
  const first = await startService({ redisUrl: redis.url, config });
  await using own = await startProducer(redis, first.prefix);
  const accepted = new Promise<unknown>((resolve) => {
    own.events.on('progress', ({ data }) => resolve(data));
  });
  const job = await own.queue.add('long', { ...echo('after'), delay_ms: 3_600_000 });
  const { request_id, id } = (await accepted) as { request_id: string; id: string };
  await first.stop();
  expect(await job.getState()).toBe('waiting');
  await using second = await startService({ redisUrl: redis.url, config, prefix: first.prefix });
  const failure = own.failed(job);
  const later = createHttpClient({ baseUrl: second.url });
  await later.cancel(request_id, id);
  expect(await failure).toMatchObject({ type: 'cancelled', request_id, id });
  await later.close();
});
