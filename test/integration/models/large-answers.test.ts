/** Answers of models above the size that a signal holds: programs and runs get them whole, however they read them.
 *  It must not raise the limit for its calls: the log holds previews. */
import { randomUUID } from 'node:crypto';
import { LLMock } from '@copilotkit/aimock';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createHttpClient } from '../../../src/client/http-client.ts';
import type { DirectiveClient } from '../../../src/contract/directive/directive-client.ts';
import { embeddingsSchema } from '../../../src/contract/model/embedding.ts';
import type { Signal } from '../../../src/contract/signal/signal.ts';
import { createDirectClient } from '../../../src/service/direct-client.ts';
import { type RunningService, startService } from '../../support/running-service.ts';
import { useRedis } from '../../support/shared.ts';

const mock = new LLMock({ port: 0 });
const LONG = 'All work and no play makes a long text. '.repeat(500).trim();
const redis = useRedis();
let service: RunningService;

beforeAll(async () => {
  mock.onMessage('long', { content: LONG });
  const toolCalls = [{ id: 'call_echo', name: 'peer_echo', arguments: JSON.stringify({ said: LONG }) }];
  mock.on({ userMessage: 'begin', hasToolResult: false }, { toolCalls });
  mock.on({ hasToolResult: true }, { content: `${LONG} Done.` });
  mock.onEmbedding('words', { embedding: Array.from({ length: 1_000 }, (_, index) => index / 8) });
  await mock.start();
  service = await startService({
    redisUrl: redis.url,
    config: {
      providers: { mock: { type: 'openai-compatible', base_url: `${mock.url}/v1` } },
      models: { fast: 'mock:m', embedding: 'mock:e' },
      agents: { writer: { tools: ['peer.*'] } },
      limits: { result_bytes: 2_048 },
    },
  });
});
afterAll(async () => {
  await service?.stop();
  await mock.stop();
});

const logged = async (client: DirectiveClient, requestId: string, type: Signal['type']): Promise<Signal[]> =>
  (await client.page(requestId)).signals.filter((signal) => signal.type === type);

async function textAsked(client: DirectiveClient, type: 'llm_stream' | 'llm_generate'): Promise<void> {
  const call = { id: 'a', request_id: randomUUID(), model_alias: 'fast' };
  const signalOf = client.execute({ type, ...call, context: [{ role: 'user', content: 'long' }] });
  const whole = { ok: true, payload: { text: LONG, finish_reason: 'stop' } };
  expect((await signalOf).data).toMatchObject({ result: whole });
  expect((await client.result(call.request_id, 'a'))?.data).toMatchObject({ result: whole });
  expect((await client.directive(call.request_id, 'a'))?.result?.data).toMatchObject({ result: whole });
  expect(await client.payload(call.request_id, 'a')).toMatchObject(whole.payload);
  const [inLog] = await logged(client, call.request_id, 'ai.llm.response');
  expect(inLog?.data).toMatchObject({ result: { payload: { truncated: true } } });
}

describe.each([
  ['HTTP', async () => createHttpClient({ baseUrl: service.url })],
  ['direct', async () => createDirectClient({ redisUrl: redis.url, prefix: service.prefix })],
] as const)('over the %s client', (_name, connect) => {
  test.each(['llm_stream', 'llm_generate'] as const)('a long text of %s is whole', async (type) => {
    const client = await connect();
    await textAsked(client, type);
    await client.close();
  });

  test('vectors are complete, or the answer is not ok', async () => {
    const client = await connect();
    const request_id = randomUUID();
    const texts = ['words', 'words'];
    const call = { request_id, id: 'e', model_alias: 'embedding' };
    const { data } = await client.execute({ type: 'llm_embed', ...call, texts });
    const result = 'result' in data ? (data.result as { ok: boolean; payload?: unknown }) : null;
    const { count, dimensions, embeddings } = embeddingsSchema.parse(result?.payload);
    expect([result?.ok, count, dimensions, embeddings.length]).toEqual([true, 2, 1_000, 2]);
    await client.close();
  });

  test('a run reads a large turn, calls its tools, and ends with a large answer', async () => {
    const client = await connect();
    const { request_id: requestId } = await client.runs.start({ agent: 'writer', query: 'begin' });
    const signals: Signal[] = [];
    for await (const signal of client.signals(requestId)) signals.push(signal);
    expect(signals.find(({ type }) => type === 'ai.tool.result')?.data).toMatchObject({
      result: { ok: true },
    });
    expect(signals.at(-1)).toMatchObject({ type: 'ai.request.completed', data: { result: `${LONG} Done.` } });
    await client.close();
  });
});

test('an answer that is no longer stored is an error, not a preview', async () => {
  const client = await createDirectClient({ redisUrl: redis.url, prefix: service.prefix });
  const request_id = randomUUID();
  const call = { type: 'llm_embed', id: 'e', request_id, texts: 'words', model_alias: 'embedding' } as const;
  await client.execute(call);
  const connection = new Redis(redis.url);
  await connection.hdel(`${service.prefix}:{${request_id}}:bodies`, '@payload|e');
  await connection.quit();
  const signal = await client.result(request_id, 'e');
  expect(signal?.data).toMatchObject({ result: { ok: false, error: { type: 'invalid_result' } } });
  await client.close();
});
