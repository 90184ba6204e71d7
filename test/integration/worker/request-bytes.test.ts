/** The bytes of a request and of the whole installation, on a real Redis: what is refused, and what still ends.
 *  It must never measure a process' memory: the limit is on what Redis holds. */
import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import type { SubmittedDirective } from '../../../src/contract/directive/directive.ts';
import { DirectiveRefused, type Problem } from '../../../src/contract/problem.ts';
import { errorResult, okResult, type Result } from '../../../src/contract/result.ts';
import { errorEnvelope } from '../../../src/contract/error-envelope.ts';
import { createToolCatalog } from '../../../src/store/catalog/tool-catalog.ts';
import { createCapacity } from '../../../src/directives/capacity.ts';
import { createMemoryRoom, memoryFacts } from '../../../src/directives/memory-room.ts';
import { openEngineTest } from '../../support/engine.ts';
import { errorOf, openPipeline, type Pipeline, refusal } from '../../support/pipeline.ts';
import { gate } from '../../support/executors.ts';
import { startRedis } from '../../support/redis.ts';
import { eachTest, useRedis } from '../../support/shared.ts';
import { script } from '../../support/scripted-strategy.ts';

const REQUEST_BYTES = 262_144;
/** Reserved by the script for the end of each open directive. */
const END_BYTES = 5_120;
/** With one directive of 50 kB. */
const ALMOST_FULL_BYTES = 65_536;
const KIB_100 = 'x'.repeat(102_400);

const redis = useRedis();

const pipeline = eachTest(() => openPipeline(redis.url, { requestBytes: REQUEST_BYTES }));

function call(fields: Partial<Extract<SubmittedDirective, { type: 'tool_exec' }>> = {}): SubmittedDirective {
  return { type: 'tool_exec', tool_name: 'test.echo', ...fields };
}

/** The size that the request reports, and the size of its keys. */
async function bytesOf({ connection, keys }: Pick<Pipeline, 'connection' | 'keys'>, requestId: string) {
  const [state, bodies, log] = keys.request(requestId);
  const entries = await connection.lrange(log, 0, -1);
  const payloads = await connection.keys(`${keys.prefix}:{${requestId}}:payload:*`);
  const texts = [
    ...entries,
    ...(await connection.hvals(bodies)),
    ...(await Promise.all(payloads.map(async (key) => (await connection.get(key)) ?? ''))),
  ];
  const held = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  return { said: Number(await connection.hget(state, 'bytes')), held, texts: texts.length };
}

describe('a request', () => {
  test('knows its size: what was accepted, its signals and its payloads', async () => {
    await using pipeline = await openPipeline(redis.url, { requestBytes: 16_777_216 });
    await pipeline.startWorker(async ({ id }, { report }) => {
      report('ai.tool.progress', { call_id: id, tool_name: 't', progress: 1, metadata: {} });
      return { result: okResult(id === 'large' ? 'y'.repeat(2_000_000) : 'done') };
    });
    const request_id = randomUUID();
    await pipeline.client.submit([
      call({ request_id, id: 'large', arguments: { text: KIB_100 } }),
      call({ request_id, id: 'small' }),
      { type: 'emit_tool_error', request_id, tool_name: 't', error: 'none' },
      call({ request_id, server: 'nobody' }),
    ]);
    for (const id of ['large', 'small']) await pipeline.client.result(request_id, id);
    const { said, held, texts } = await bytesOf(pipeline, request_id);
    expect(held).toBeGreaterThan(2_102_400);
    expect(said).toBeGreaterThanOrEqual(held);
    expect(said).toBeLessThanOrEqual(held + texts * 1_024);
  });

  test.each([36, 128])('counts what Redis holds of directives with ids of %i characters', async (length) => {
    await pipeline.startWorker(async () => ({ result: okResult('done') }));
    const request_id = randomUUID();
    const ids = Array.from({ length: 30 }, (_, index) => `${index}`.padEnd(length, 'x'));
    await pipeline.client.submit(ids.map((id) => call({ request_id, id })));
    for (const id of ids) await pipeline.client.result(request_id, id);
    const { connection, keys } = pipeline;
    const held = keys.request(request_id).map((key) => connection.memory('USAGE', key, 'SAMPLES', 0));
    const used = (await Promise.all(held)).reduce<number>((sum, bytes) => sum + Number(bytes), 0);
    const { said } = await bytesOf(pipeline, request_id);
    expect(said / used).toBeGreaterThan(0.95);
    // Redis packs the fields of so few directives where their ids are short.
    expect(said / used).toBeLessThan(1.5);
  });

  test('leaves no job of a refused directive in a lane without workers, whether it is full or the id is taken', async () => {
    const request_id = randomUUID();
    const submit = (id: string, arguments_: Record<string, unknown>, server = 'test') =>
      pipeline.client.submit(call({ request_id, id, server, tool_name: 'echo', arguments: arguments_ }));
    await submit('a', { text: KIB_100 });
    await submit('b', { text: KIB_100 });
    expect((await refusal(submit('c', { text: KIB_100 }))).code).toBe('request_full');
    expect(await pipeline.jobs()).toBe(2);
    const { connection, keys } = pipeline;
    await createToolCatalog(connection, keys).publish({
      server: 'two',
      status: 'ready',
      tools: [],
      updatedAt: 0,
    });
    expect((await refusal(submit('a', { text: 'other' }, 'two'))).code).toBe('id_conflict');
    expect(await pipeline.jobs('tool.two')).toBe(0);
    expect((await refusal(submit('a', { text: 'other' }))).code).toBe('id_conflict');
    expect(await pipeline.jobs()).toBe(2);
  });

  test('that is full refuses more with 413, names the limit and the sizes, and never accepts a part of a batch', async () => {
    const request_id = randomUUID();
    const first = [1, 2].map((n) => call({ request_id, id: `a${n}`, arguments: { text: KIB_100 } }));
    await pipeline.client.submit(first);
    const batch = [
      call({ request_id, id: 'b1' }),
      call({ request_id, id: 'b2', arguments: { text: KIB_100 } }),
    ];
    const refused = await refusal(pipeline.client.submit(batch));
    expect(refused).toMatchObject({ status: 413, code: 'request_full', limit: 'request_bytes' });
    expect(refused).toMatchObject({ limit_bytes: REQUEST_BYTES, used_bytes: expect.any(Number) as number });
    expect(refused.detail).toContain('limits.request_bytes is 262144');
    expect(await pipeline.client.request(request_id)).toMatchObject({
      open: 2,
      directives: [{ id: 'a1' }, { id: 'a2' }],
    });
    const again = await pipeline.client.submit(first);
    expect(again.directives.map(({ status }) => status)).toEqual(['existing', 'existing']);
    const other = await pipeline.client.submit(call({ arguments: { text: KIB_100 } }));
    expect(other.directives[0]?.status).toBe('accepted');
  });

  test('accepts immediate directives within the same limits', async () => {
    const request_id = randomUUID();
    const emit = (error: unknown): SubmittedDirective => ({
      type: 'emit_tool_error',
      request_id,
      tool_name: 't',
      error,
    });
    const large = 'z'.repeat(1_100_000);
    const refused = await refusal(pipeline.client.submit([emit('small'), emit(large)]));
    expect(refused).toMatchObject({ code: 'invalid_body', errors: [{ path: 'directives[1].error' }] });
    const said = { type: 'emit_request_error', request_id, reason: 'r', message: large } as const;
    expect(await refusal(pipeline.client.submit(said))).toMatchObject({ errors: [{ path: 'message' }] });
    const noted = { ...call({ request_id }), metadata: { note: large } } as SubmittedDirective;
    expect(await refusal(pipeline.client.submit(noted))).toMatchObject({ errors: [{ path: 'metadata' }] });
    expect(await pipeline.connection.exists(...pipeline.keys.request(request_id))).toBe(0);
    let accepted = 0;
    const flood = async (): Promise<Problem> => {
      for (; accepted < 1_000; accepted += 1) {
        const submitted = await pipeline.client.submit(emit(KIB_100)).catch((error: unknown) => error);
        if (submitted instanceof DirectiveRefused) return submitted.problem;
      }
      throw new Error('nothing was refused');
    };
    expect(await flood()).toMatchObject({ status: 413, code: 'request_full' });
    expect((await bytesOf(pipeline, request_id)).held).toBeLessThanOrEqual(REQUEST_BYTES);
  });
});

describe('a running directive in a full request', () => {
  const NAME = '\ud800'.repeat(256);
  const ends: [string, Result, object][] = [
    ['a result', okResult('r'.repeat(300_000)), { type: 'invalid_result', retryable: false }],
    ['a result that is kept beside the log', okResult('r'.repeat(2_000_000)), { type: 'invalid_result' }],
    [
      'an error',
      errorResult(errorEnvelope('tool_error', 'm'.repeat(9_000), { said: 'e'.repeat(300_000) })),
      { type: 'tool_error' },
    ],
  ];

  test.each(ends)(
    'ends with its terminal signal, small, where %s does not fit',
    async (_what, result, error) => {
      await using pipeline = await openPipeline(redis.url, { requestBytes: ALMOST_FULL_BYTES });
      const metadata = { server: 's'.repeat(128), model: 'm'.repeat(128), said: KIB_100 };
      await pipeline.startWorker(async () => ({ result, metadata }));
      const id = 'i'.repeat(128);
      const request_id = 'r'.repeat(120) + randomUUID().slice(0, 8);
      const run_id = 'u'.repeat(128);
      const given = { run_id, strategy: run_id, iteration: run_id, note: 'n'.repeat(50_000) };
      await pipeline.client.submit(
        call({ request_id, id, tool_name: NAME, server: 'test', metadata: given }),
      );
      const signal = await pipeline.client.result(request_id, id);
      expect(errorOf(signal)).toMatchObject(error);
      expect(Buffer.byteLength(JSON.stringify(signal))).toBeLessThan(END_BYTES);
      expect(await pipeline.client.request(request_id)).toMatchObject({ status: 'closed', open: 0 });
      expect((await bytesOf(pipeline, request_id)).said).toBeLessThanOrEqual(ALMOST_FULL_BYTES);
    },
  );

  test('is no longer logged, still ends, and reports that', async () => {
    await pipeline.startWorker(async ({ id }, { report, drained }) => {
      for (let piece = 0; piece < 40; piece += 1) {
        report('ai.llm.delta', { call_id: id, chunk_type: 'content', delta: KIB_100, metadata: {} });
        await drained();
      }
      return { result: okResult('done') };
    });
    const signal = await pipeline.client.execute(call());
    expect(signal.data).toMatchObject({
      result: { ok: true, payload: 'done' },
      metadata: { unreported: { limit: 'request_bytes' } },
    });
    expect((await bytesOf(pipeline, signal.subject)).said).toBeLessThanOrEqual(REQUEST_BYTES);
  });

  test('may be cancelled, and each of many ends', async () => {
    const request_id = randomUUID();
    let accepted = 0;
    for (let full = false; !full; accepted += full ? 0 : 1)
      full = await pipeline.client.submit(call({ request_id, id: `d${accepted}` })).then(
        () => false,
        () => true,
      );
    expect(accepted).toBeGreaterThan(10);
    const reason = '\u20ac'.repeat(1_000);
    const cancelled = await pipeline.client.cancel(request_id, undefined, { reason });
    expect(cancelled.directives.map(({ status }) => status)).toEqual(Array(accepted).fill('cancelled'));
    const { said } = await bytesOf(pipeline, request_id);
    expect(said).toBeLessThanOrEqual(REQUEST_BYTES);
  });
});

describe('a run whose request is full', () => {
  test('refuses an input with 413, and ends as request_full with one failure', async () => {
    await using engines = await openEngineTest(redis.url, { requestBytes: REQUEST_BYTES });
    const held = gate();
    await engines.startEngine();
    await engines.startWorker(async () => {
      await held.passed;
      return { result: okResult('t'.repeat(150_000)) };
    });
    const query = script({ tools: ['a'] }, { tools: ['b'] }, { tools: ['c'] });
    const { request_id } = await engines.client.start({ agent: 'scripted', query });
    const refused = await refusal(engines.client.input(request_id, { content: 'w'.repeat(300_000) }));
    expect(refused).toMatchObject({ status: 413, code: 'request_full' });
    held.open();
    const log = await engines.ended(request_id);
    const failures = log.filter(({ type }) => type === 'ai.request.failed');
    const completed = log.filter(({ type }) => type === 'ai.request.completed');
    expect([...failures, ...completed]).toHaveLength(1);
    expect((await bytesOf(engines, request_id)).said).toBeLessThan(2 * REQUEST_BYTES);
  });

  test('does not begin with more than fits', async () => {
    await using engines = await openEngineTest(redis.url, { requestBytes: REQUEST_BYTES });
    const starting = engines.client.start({ agent: 'scripted', query: 'q'.repeat(300_000) });
    expect(await refusal(starting)).toMatchObject({ status: 413, code: 'request_full' });
  });
});

describe('an installation', () => {
  test('whose Redis has reached its limit refuses new work with 429, and goes on when there is room', async () => {
    await using pipeline = await openPipeline(redis.url, { client: { totalBytes: 1 } });
    const refused = await refusal(pipeline.client.submit(call()));
    expect(refused).toMatchObject({
      status: 429,
      code: 'service_full',
      limit: 'total_bytes',
      limit_bytes: 1,
    });
    const emit = { type: 'emit_tool_error', tool_name: 't', error: 'e' } as const;
    expect(await refusal(pipeline.client.submit(emit))).toMatchObject({ code: 'service_full' });
    const starting = pipeline.client.runs.start({ agent: 'adjutant', query: 'hello' });
    expect(await refusal(starting)).toMatchObject({ code: 'not_found' });
    await using roomy = await openPipeline(redis.url, { client: { totalBytes: 0 } });
    expect((await roomy.client.submit(call())).directives[0]?.status).toBe('accepted');
  });

  test('refuses new work once its policy is changed to one that drops keys', async () => {
    await using evicting = await startRedis();
    await using pipeline = await openPipeline(evicting.url);
    const room = (): Promise<void> => createMemoryRoom(pipeline.connection, undefined).require();
    await room();
    await pipeline.connection.call('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru');
    await expect(room()).rejects.toThrow(/may drop accepted directives.*maxmemory-policy noeviction/);
  });

  test('keeps a fifth of maxmemory for running work, by the size of what Redis holds then', async () => {
    await using small = await startRedis({ args: ['--maxmemory', '32mb'] });
    await using pipeline = await openPipeline(small.url);
    const memory = createMemoryRoom(pipeline.connection, undefined);
    const parts = { queued: async () => 0, index: pipeline.index, maxQueuedIn: () => null, maxOpen: null };
    await createCapacity({ ...parts, memory }).requireMemory();
    const limit = Math.floor(33_554_432 * 0.8);
    const used = async (): Promise<number> => memoryFacts(await pipeline.connection.info('memory')).used;
    for (let filler = 0; (await used()) < limit; filler += 1)
      await pipeline.connection.set(`filler:${filler}`, 'f'.repeat(500_000));
    const later = createMemoryRoom(pipeline.connection, undefined);
    const refused = await refusal(createCapacity({ ...parts, memory: later }).requireMemory());
    expect(refused).toMatchObject({ code: 'service_full', limit_bytes: limit });
  });
});
