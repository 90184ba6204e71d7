/** Budgets of a day through the whole service: what is stopped, what a person lets pass, what a cheaper model answers.
 *  It must never reach a provider: a server of the test answers like one, and counts. */
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAccessClient, createHttpClient } from '../../../src/client/http-client.ts';
import type { DirectiveClient } from '../../../src/contract/directive/directive-client.ts';
import { resultSchema } from '../../../src/contract/result.ts';
import { json, startProvider } from '../../support/provider-server.ts';
import { type RunningService, startService } from '../../support/running-service.ts';
import { shared, useRedis } from '../../support/shared.ts';

const message = { role: 'assistant', content: 'yes' };
const USAGES: Record<string, unknown> = {
  negative: { prompt_tokens: -5, completion_tokens: -1, total_tokens: -6 },
  huge: { prompt_tokens: 1e308, completion_tokens: 1e308, total_tokens: 1e308 },
  text: { prompt_tokens: 'many', completion_tokens: 'x', total_tokens: null },
  zero: { prompt_tokens: 0, completion_tokens: 5, total_tokens: 5 },
  missing: undefined,
};
interface Asked {
  model?: string;
  messages?: { role: string }[];
  input?: string[];
}
/** By the client of the provider. */
const EMBEDDED_AT_ONCE = 256;
const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
const provider = shared(async () =>
  startProvider(async (response, request, index) => {
    const { model = '', messages = [], input } = request.body as Asked;
    const isRepair = messages.some(({ role }) => role === 'assistant');
    // The second call of each is refused.
    if ((model === 'unfit' && isRepair) || (input !== undefined && input.length < EMBEDDED_AT_ONCE))
      return json(400, { error: { message: 'no' } })(response, request, index);
    if (input !== undefined) {
      const data = input.map((_, at) => ({ object: 'embedding', index: at, embedding: [1] }));
      return json(200, { object: 'list', model, data })(response, request, index);
    }
    const answer = {
      id: 'a',
      object: 'chat.completion',
      model,
      choices: [{ index: 0, finish_reason: 'stop', message }],
    };
    const counted = Object.hasOwn(USAGES, model) ? USAGES[model] : usage;
    return json(200, { ...answer, ...(counted === undefined ? {} : { usage: counted }) })(
      response,
      request,
      index,
    );
  }),
);

/** Accepts connections, and says nothing: a request over TLS never leaves. */
const silent = shared(async () => {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { port, [Symbol.asyncDispose]: async () => void server.close() };
});

const redis = useRedis();
const ADMIN = 'a'.repeat(64);
const price = { input: 1_000, output: 1_000 };
let service: RunningService;
let client: DirectiveClient;

const openai = (models: object) => ({ type: 'openai-compatible', base_url: `${provider.url}/v1`, models });

beforeAll(async () => {
  service = await startService({
    redisUrl: redis.url,
    environment: { ADJUTANT_ADMIN_KEY: ADMIN },
    config: {
      providers: {
        silent: { type: 'openai-compatible', base_url: `https://127.0.0.1:${silent.port}/v1`, models: {} },
        main: openai({ costly: { price }, stopped: {}, asked: {} }),
        other: openai({ small: { price: { input: 1, output: 1 } } }),
      },
      models: {
        costly: ['main:costly'],
        small: ['other:small'],
        stopped: ['main:stopped', 'other:small'],
        asked: ['main:asked'],
        twice: ['main:twice'],
      },
      tenants: { acme: {} },
      budgets: {
        time_zone: 'Europe/Berlin',
        rules: {
          all: {},
          stopped: { alias: 'main:stopped', tokens_per_day: 400 },
          costly: { alias: 'costly', money_per_day: 115_000, on_breach: 'cheaper', cheaper: 'small' },
          asked: { alias: 'asked', tokens_per_day: 60, on_breach: 'ask' },
          'twice-a': { alias: 'twice', tokens_per_day: 1, on_breach: 'ask' },
          'twice-b': { alias: 'twice', tokens_per_day: 1, on_breach: 'ask' },
          acme: { tenant: 'acme', tokens_per_day: 1_000_000 },
          each: { tenant: '*', alias: 'small' },
          found: { alias: 'main:found', tokens_per_day: 1, on_breach: 'cheaper', cheaper: 'small' },
        },
      },
      agents: { brief: { description: 'answers', model: 'other:small', tools: [] } },
    },
  });
  client = createHttpClient({ baseUrl: service.url, apiKey: ADMIN });
});
afterAll(async () => {
  await client.close();
  await service.stop();
});

async function ask(model: string, by = client, max_tokens = 50) {
  const request_id = randomUUID();
  const directive = {
    type: 'llm_generate' as const,
    model,
    context: [{ role: 'user' as const, content: 'hi' }],
    max_tokens,
  };
  const signal = await by.execute({ ...directive, request_id, id: 'c' }, { timeoutMs: 90_000 });
  const data = 'result' in signal.data ? signal.data : null;
  return { request_id, result: resultSchema.parse(data?.result ?? null), metadata: data?.metadata };
}

const seen = (model: string) =>
  provider.seen.filter(({ body }) => (body as { model?: string }).model === model).length;

async function budget(name: string, by = client) {
  const found = (await by.budgets()).budgets.find((each) => each.name === name);
  if (found === undefined) throw new Error(`there is no budget ${name}`);
  return found;
}

const errorOf = ({ result }: Awaited<ReturnType<typeof ask>>) => (result.ok ? null : result.error);

describe('a budget that stops', () => {
  test('lets calls at once take no more than it holds, and says what is used and when it begins anew', async () => {
    const ended = await Promise.all(Array.from({ length: 12 }, async () => ask('main:stopped')));
    const refused = ended.map(errorOf).filter((error) => error !== null);
    expect(refused.length).toBeGreaterThan(0);
    for (const error of refused)
      expect(error).toMatchObject({
        type: 'budget_spent',
        retryable: false,
        details: { budget: 'stopped', unit: 'tokens', limit: 400, on_breach: 'stop' },
      });
    const { resets_at: resetsAt } = await client.budgets();
    expect(refused[0]?.details['resets_at']).toBe(resetsAt);
    // Berlin’s midnight is no midnight of UTC.
    expect(new Date(resetsAt).getUTCHours()).toBeGreaterThanOrEqual(22);
    const made = seen('stopped');
    expect(made).toBe(12 - refused.length);
    await expect.poll(async () => (await budget('stopped')).tokens).toEqual({ used: 15 * made, limit: 400 });
    expect(await budget('stopped')).toMatchObject({ calls: made, breaches: refused.length });
  });

  test('does not send a call to the next model of its chain', async () => {
    for (let ended = errorOf(await ask('stopped')); ended === null;) ended = errorOf(await ask('stopped'));
    expect(seen('small')).toBe(0);
  });
});

test.each(['negative', 'huge', 'text', 'zero', 'missing'])(
  'what a provider counts as %s is not believed: the call counts as reserved',
  async (model) => {
    const before = (await budget('all')).tokens.used;
    // Some clients of providers refuse such an answer: it was made all the same.
    await ask(`main:${model}`);
    const { tokens, models } = await budget('all');
    expect(tokens.used - before).toBeGreaterThan(70);
    expect(tokens.used - before).toBeLessThan(300);
    expect(models.map(({ name }) => name)).toContain('main:*');
  },
);

test('a cheaper model answers, in its own lane, and the answer and the log name it', async () => {
  const first = await ask('costly');
  expect(first.metadata).not.toHaveProperty('budget');
  // 15 tokens for 1,000 millionths each are used; the next call may take more than are left with them.
  await expect.poll(async () => (await budget('costly')).money).toEqual({ used: 15_000, limit: 115_000 });
  const second = await ask('costly');
  expect(second.result).toMatchObject({ ok: true, payload: { model: 'small' } });
  expect(second.metadata).toMatchObject({
    model: 'other:small',
    budget: { name: 'costly', cheaper: 'small' },
  });
  const { signals } = await client.page(second.request_id);
  const retried = signals.find(({ type }) => type === 'directive.retry_scheduled');
  expect(retried?.data).toMatchObject({
    metadata: {
      fallback: { from: 'main:costly', to: 'other:small', reason: 'budget_spent', budget: 'costly' },
    },
  });
  expect([seen('costly'), seen('small')]).toEqual([1, 1]);
});

test('a person lets one call pass, and another one not', async () => {
  const start = async () => {
    const request_id = randomUUID();
    const directive = {
      type: 'llm_generate' as const,
      model: 'asked',
      context: [{ role: 'user' as const, content: 'hi' }],
    };
    await client.submit({ ...directive, max_tokens: 50, request_id, id: 'c' });
    await expect.poll(async () => (await client.directive(request_id, 'c'))?.inputs ?? []).toHaveLength(1);
    return request_id;
  };
  const accepted = await start();
  const [question] = (await client.directive(accepted, 'c'))?.inputs ?? [];
  expect(question?.message).toContain('The budget "asked" is too small');
  expect(question?.message).toContain('0 tokens of 60 tokens are used');
  await client.answer(accepted, 'c.1', { action: 'accept' });
  const signal = await client.result(accepted, 'c', { timeoutMs: 90_000 });
  expect(signal?.data).toMatchObject({ result: { ok: true } });
  const declined = await start();
  await client.answer(declined, 'c.1', { action: 'decline' });
  const ended = await client.result(declined, 'c', { timeoutMs: 90_000 });
  expect(ended?.data).toMatchObject({
    result: { ok: false, error: { type: 'budget_spent', details: { budget: 'asked', answer: 'decline' } } },
  });
  expect(seen('asked')).toBe(1);
});

test('a call that two budgets have no room for is made when a person has let it pass both', async () => {
  const request_id = randomUUID();
  const context = [{ role: 'user' as const, content: 'hi' }];
  await client.submit({
    type: 'llm_generate',
    model: 'twice',
    context,
    max_tokens: 50,
    request_id,
    id: 'c',
  });
  for (const [input, name] of [
    ['c.1', 'twice-a'],
    ['c.2', 'twice-b'],
  ] as const) {
    const open = async () => (await client.directive(request_id, 'c'))?.inputs?.[0] ?? null;
    await expect.poll(open).toMatchObject({ input_id: input });
    expect((await open())?.message).toContain(`"${name}"`);
    await client.answer(request_id, input, { action: 'accept' });
  }
  const signal = await client.result(request_id, 'c', { timeoutMs: 90_000 });
  expect(signal?.data).toMatchObject({ result: { ok: true } });
  expect(seen('twice')).toBe(1);
});

describe('a call that fails after a part of it was answered', () => {
  /** Polled: it is settled beside the end. */
  const usedFrom = async () => {
    const before = (await budget('all')).tokens.used;
    return expect.poll(async () => (await budget('all')).tokens.used - before);
  };
  const output_schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] };
  const generate = async (model: string) => {
    const context = [{ role: 'user' as const, content: 'hi' }];
    const ids = { request_id: randomUUID(), id: 'c' };
    const more = { max_tokens: 50, output_schema, max_retries: 0 };
    return client.execute({ type: 'llm_generate', model, context, ...more, ...ids }, { timeoutMs: 90_000 });
  };

  test('takes what its first answer took, when the second one is refused', async () => {
    const used = await usedFrom();
    expect((await generate('main:unfit')).data).toMatchObject({
      result: { ok: false },
      metadata: { usage_so_far: { total_tokens: 15, estimated: false } },
    });
    await used.toBe(15);
  });

  test('takes nothing when it was cut before its request had left', async () => {
    const used = await usedFrom();
    const ids = { request_id: randomUUID(), id: 'c', max_retries: 0 };
    const context = [{ role: 'user' as const, content: 'hi' }];
    const more = { context, max_tokens: 1_000_000, timeout_ms: 500, ...ids };
    const { calls } = await budget('all');
    const made = client.execute({ type: 'llm_generate', model: 'silent:m', ...more }, { timeoutMs: 90_000 });
    expect((await made).data).toMatchObject({ result: { ok: false, error: { type: 'timeout' } } });
    await used.toBe(0);
    expect((await budget('all')).calls).toBe(calls + 1);
  });

  test('counts as reserved when its answers do not fit and have no counts', async () => {
    const used = await usedFrom();
    await generate('main:missing');
    await used.toBeGreaterThan(200);
  });

  test('counts as reserved when the first vectors have no counts and others are refused', async () => {
    const texts = Array.from({ length: EMBEDDED_AT_ONCE + 1 }, () => 'abc');
    const ids = { request_id: randomUUID(), id: 'c', max_retries: 0 };
    const embed = { type: 'llm_embed', model: 'main:vectors', texts, ...ids } as const;
    const used = await usedFrom();
    await client.execute(embed, { timeoutMs: 90_000 });
    await used.toBe(2 * texts.length);
    expect(provider.seen.filter(({ body }) => 'input' in (body as Asked))).toHaveLength(2);
  });
});

test('vectors of a cheaper model take the place of none, and the error says so', async () => {
  const ids = { request_id: randomUUID(), id: 'c' };
  const texts = 'a text of some length';
  const { data } = await client.execute({ type: 'llm_embed', model: 'main:found', texts, ...ids });
  expect(data).toMatchObject({ result: { ok: false, error: { type: 'budget_spent', retryable: false } } });
  expect(JSON.stringify(data)).toContain('vectors of small would not fit those of main:found');
});

test('the budget of a key holds for its directives and for its runs, and no other tenant sees it', async () => {
  const access = createAccessClient({ baseUrl: service.url, apiKey: ADMIN });
  const made = await access.create({
    name: 'acme',
    tenant: 'acme',
    scopes: ['submit', 'read'],
    tokens_per_day: 200,
  });
  expect(made.tokens_per_day).toBe(200);
  const own = createHttpClient({ baseUrl: service.url, apiKey: made.key });
  const { request_id: requestId } = await own.runs.start({ agent: 'brief', query: 'hi', overrides: {} });
  const status = async () => (await own.request(requestId))?.status;
  await expect.poll(status).toBe('closed');
  const ofRun = await budget(`key.${made.id}`, own);
  expect(ofRun.calls + ofRun.breaches).toBe(1);
  for (
    let error = errorOf(await ask('small', own));
    error === null;
    error = errorOf(await ask('small', own))
  );
  const mine = await budget(`key.${made.id}`, own);
  expect(mine).toMatchObject({ tenant: 'acme', key: made.id, tokens: { limit: 200 } });
  expect(mine.tokens.used).toBeLessThanOrEqual(200);
  const names = async (by: DirectiveClient) => (await by.budgets()).budgets.map(({ name }) => name);
  expect(await names(own)).toEqual(['acme', 'each', `key.${made.id}`]);
  const { key: another } = await access.create({ name: 'reads', tenant: 'acme', scopes: ['read'] });
  const reader = createHttpClient({ baseUrl: service.url, apiKey: another });
  expect(await names(reader)).toEqual(['acme', 'each']);
  expect(await names(client)).not.toContain('acme');
  const ofEach = async (by: DirectiveClient) =>
    (await by.budgets()).budgets.filter(({ name }) => name === 'each').map(({ tenant }) => tenant);
  expect(await ofEach(client)).toEqual(expect.arrayContaining(['acme', 'default']));
  const { key: watches } = await access.create({ name: 'watches', scopes: ['read'] });
  const watcher = createHttpClient({ baseUrl: service.url, apiKey: watches });
  expect(await ofEach(watcher)).toEqual(['default']);
  await Promise.all([own.close(), reader.close(), watcher.close()]);
});

test('a call that the whole day could not take says so, and names no midnight', async () => {
  const { data } = await client.execute({
    type: 'llm_generate',
    model: 'main:stopped',
    context: [{ role: 'user', content: 'hi' }],
    max_tokens: 5_000,
  });
  expect(data).toMatchObject({ result: { ok: false, error: { type: 'budget_spent' } } });
  expect(JSON.stringify(data)).toContain('too small for this call on any day');
  expect(JSON.stringify(data)).not.toContain('begins anew');
});
