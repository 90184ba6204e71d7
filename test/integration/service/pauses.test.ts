/** Servers and providers that refuse every call with "slow down", through the whole service: how many calls they get.
 *  It must never judge by time: the pauses are as short as the configuration of the test allows. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createHttpClient } from '../../../src/client/http-client.ts';
import type { SubmittedDirective } from '../../../src/contract/directive/directive.ts';
import { resultSchema } from '../../../src/contract/result.ts';
import { countingCall } from '../../support/calls.ts';
import { ownServerEntry } from '../../support/mcp-servers.ts';
import { json, startProvider } from '../../support/provider-server.ts';
import { startService } from '../../support/running-service.ts';
import { shared, useRedis } from '../../support/shared.ts';

const message = { role: 'assistant', content: 'the other model' };
const choices = [{ index: 0, finish_reason: 'stop', message }];

/** The model `free` answers; every other one is refused. */
const provider = shared(async () =>
  startProvider(async (response, request, index) => {
    const isFree = (request.body as { model?: string }).model === 'free';
    const refusal = json(429, { error: { message: 'Too Many Requests' } }, { 'retry-after': '0' });
    await (isFree ? json(200, { id: 'a', model: 'free', choices }) : refusal)(response, request, index);
  }),
);
const folder = shared(async () => {
  const path = mkdtempSync(join(tmpdir(), 'adjutant-'));
  return { path, [Symbol.asyncDispose]: async () => rmSync(path, { recursive: true }) };
});
const redis = useRedis();
const service = shared(async () =>
  startService({
    redisUrl: redis.url,
    config: {
      limits: { pause_ms: 5, pauses: { count: 4 } },
      mcpServers: { counting: ownServerEntry('counting.ts', { COUNTER_FILE: join(folder.path, 'calls') }) },
      providers: {
        first: { type: 'openai-compatible', base_url: `${provider.url}/v1` },
        second: { type: 'openai-compatible', base_url: `${provider.url}/v1` },
      },
      models: { chain: ['first:chained', 'second:free'] },
    },
  }),
);
const client = shared(async () => {
  const made = createHttpClient({ baseUrl: service.url });
  return Object.assign(made, { [Symbol.asyncDispose]: async () => made.close() });
});

async function endOf(directive: SubmittedDirective & { id: string; request_id: string }) {
  await client.submit(directive);
  const signal = await client.result(directive.request_id, directive.id, { timeoutMs: 90_000 });
  const data = signal && 'result' in signal.data ? signal.data : null;
  return { result: resultSchema.parse(data?.result ?? null), metadata: data?.metadata };
}

const requestsOf = (model: string) =>
  provider.seen.filter(({ body }) => (body as { model?: string }).model === model).length;

/** Report: a `once` tool with `max_retries: 0` that answered `retry_after_ms: 1` was called 951 times in 10 seconds. */
describe('a tool that answers that it is rate limited', () => {
  const executionsOf = (label: string) =>
    readFileSync(join(folder.path, 'calls'), 'utf8').split(`"label":"${label}"`).length - 1;

  async function limited(tool: 'once' | 'read', number: number, fields: object) {
    const request_id = randomUUID();
    const call = countingCall(tool, number, { requestId: request_id });
    const end = await endOf({
      ...call,
      ...fields,
      request_id,
      arguments: { label: call.id, limited: true },
    } as never);
    return { ...end, executions: executionsOf(call.id) };
  }

  test.each([0, 2])(
    'is called once more than max_retries (%d) if it must not be called twice',
    async (retries) => {
      const { result, metadata, executions } = await limited('once', retries, { max_retries: retries });
      expect(executions).toBe(retries + 1);
      expect(result).toMatchObject({ ok: false, error: { type: 'rate_limited' } });
      expect(metadata).toMatchObject({ attempts: retries + 1, effect: 'once' });
      expect(metadata).not.toHaveProperty('refused_calls');
    },
  );

  test('is called again after each of the pauses that the configuration allows, if a repeat is harmless', async () => {
    const { result, metadata, executions } = await limited('read', 0, { max_retries: 0 });
    expect(executions).toBe(5);
    expect(result).toMatchObject({ ok: false, error: { type: 'rate_limited', details: { pauses: 4 } } });
    expect(metadata).toMatchObject({ attempts: 1, refused_calls: 4 });
  });
});

describe('a model whose provider refuses every request', () => {
  const ask = (fields: object) =>
    ({
      type: 'llm_generate',
      id: 'a',
      request_id: randomUUID(),
      context: [{ role: 'user', content: 'hello' }],
      max_retries: 0,
      ...fields,
    }) as unknown as SubmittedDirective & { id: string; request_id: string };

  test('is given up for the next model after the pauses that the configuration allows', async () => {
    const { result, metadata } = await endOf(ask({ model_alias: 'chain' }));
    expect(result.ok).toBe(true);
    expect(requestsOf('chained')).toBeGreaterThan(1);
    expect(requestsOf('chained')).toBeLessThanOrEqual(5);
    expect(metadata).toMatchObject({
      model: 'second:free',
      fallbacks: [{ model: 'first:chained', type: 'rate_limited' }],
    });
  });

  test('gets no more requests for many directives than each of them may send', async () => {
    const asked = Array.from({ length: 20 }, () => ask({ model: 'first:crowded', deadline_ms: 60_000 }));
    const ends = await Promise.all(asked.map(endOf));
    expect(ends.map(({ result }) => !result.ok && result.error.type)).toEqual(
      asked.map(() => 'rate_limited'),
    );
    expect(requestsOf('crowded')).toBeLessThanOrEqual(20 * 5);
    const sent = ends.map(
      ({ metadata }) => Number(metadata?.['attempts']) + Number(metadata?.['refused_calls']),
    );
    expect(sent.reduce((sum, count) => sum + count, 0)).toBe(requestsOf('crowded'));
  });
});
