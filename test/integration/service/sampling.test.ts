/** Tools that ask models, through the whole service: real servers of both eras, within budgets in Redis.
 *  It must never reach a provider: a server of the test answers like one. */
import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createHttpClient } from '../../../src/client/http-client.ts';
import { resultSchema } from '../../../src/contract/result.ts';
import { createModelPlaces } from '../../../src/models/requests/model-places.ts';
import { ownServerEntry } from '../../support/mcp-servers.ts';
import { json, startProvider } from '../../support/provider-server.ts';
import { openStore } from '../../support/store.ts';
import { startService } from '../../support/running-service.ts';
import { shared, useRedis } from '../../support/shared.ts';

const message = { role: 'assistant', content: 'in short STOP and long' };
const answer = {
  id: 'a',
  object: 'chat.completion',
  model: 'm',
  choices: [{ index: 0, finish_reason: 'stop', message }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
};
/** Settles when a provider works on a request that it never answers. */
let atWork = Promise.withResolvers<void>();
/** Whether a tool may leave it then. */
let mayLeave = Promise.resolve();
const provider = shared(async () =>
  startProvider(async (response, request, index) => {
    if (request.path === '/at-work') await Promise.all([atWork.promise, mayLeave]);
    else if (JSON.stringify(request.body).includes('never')) return atWork.resolve();
    await json(200, answer)(response, request, index);
  }),
);

const asking = (more: object, env: Record<string, string> = {}) => ({
  ...ownServerEntry('asking-peer.ts', env),
  questions: true,
  ...more,
});
const legacy = { ASKING_ERA: 'legacy' };
/** Nobody listens at the provider of its first model: the next one of the chain answers. */
const sampling = { model: 'summary', max_tokens: 100 };

const TOKEN = 'tok-9f2c-of-the-server';

const redis = useRedis();
const service = shared(async () =>
  startService({
    redisUrl: redis.url,
    config: {
      providers: {
        gone: { type: 'openai-compatible', base_url: 'http://127.0.0.1:65535/v1' },
        real: { type: 'openai-compatible', base_url: `${provider.url}/v1`, lane: { concurrency: 1 } },
      },
      models: { summary: ['gone:any', 'real:any'], dear: 'real:dear', asked: 'real:asked' },
      budgets: {
        rules: {
          dear: { alias: 'dear', tokens_per_day: 1, on_breach: 'cheaper', cheaper: 'summary' },
          asked: { alias: 'asked', tokens_per_day: 1, on_breach: 'ask' },
        },
      },
      mcpServers: {
        dear: asking({ sampling: { ...sampling, model: 'dear' } }),
        asked: asking({ sampling: { ...sampling, model: 'asked', max_requests_per_call: 3 } }),
        askedlegacy: asking({ sampling: { ...sampling, model: 'asked', max_requests_per_call: 3 } }, legacy),
        modern: asking({ sampling }),
        legacy: asking({ sampling }, legacy),
        keyed: asking({ sampling }, { ASKING_TOKEN: TOKEN }),
        keyedlegacy: asking({ sampling }, { ...legacy, ASKING_TOKEN: TOKEN }),
        few: asking({ sampling: { ...sampling, max_requests_per_call: 3 } }),
        fewlegacy: asking({ sampling: { ...sampling, max_requests_per_call: 3 } }, legacy),
        // Two requests of at most 100 tokens and their prompt; what they take is less.
        day: asking({ sampling: { ...sampling, max_tokens_per_call: 130, max_tokens_per_day: 130 } }),
        leaving: asking(
          { sampling: { ...sampling, max_tokens_per_call: 130, max_tokens_per_day: 360 } },
          { ...legacy, ASKING_AT_WORK: `${provider.url}/at-work` },
        ),
        none: asking({}),
        nonelegacy: asking({}, legacy),
        silent: { ...ownServerEntry('asking-peer.ts', legacy) },
      },
    },
  }),
);
const client = shared(async () => {
  const made = createHttpClient({ baseUrl: service.url });
  return Object.assign(made, { [Symbol.asyncDispose]: async () => made.close() });
});

async function start(tool_name: string): Promise<string> {
  const request_id = randomUUID();
  await client.submit({ type: 'tool_exec', tool_name, id: 'c', request_id });
  return request_id;
}

async function end(request_id: string) {
  const signal = await client.result(request_id, 'c', { timeoutMs: 90_000 });
  const data = signal && 'result' in signal.data ? signal.data : null;
  const result = resultSchema.parse(data?.result ?? null);
  return { said: result.ok ? result.payload : result.error, metadata: data?.metadata };
}

const call = async (tool: string) => end(await start(tool));

async function answered(tool: string, body: { action: 'accept' | 'decline'; content?: object }) {
  const request_id = await start(tool);
  const inputs = async () => (await client.directive(request_id, 'c'))?.inputs ?? [];
  await expect.poll(inputs).toHaveLength(1);
  await client.answer(request_id, 'c.1', body as never);
  return end(request_id);
}

const asksOf = (model: string) =>
  provider.seen.filter(({ body }) => (body as { model?: string }).model === model).length;

const counts = { input_tokens: 10, output_tokens: 5, total_tokens: 15 };

// Issue 33, point 13: tokens of MCP servers reach no model.
test.each(['keyed', 'keyedlegacy'])(
  'a token that a server repeats in its prompt (%s) is redacted',
  async (server) => {
    expect((await call(`${server}.sum-up`)).said).toBe('in short ');
    const prompts = JSON.stringify(provider.seen.map(({ body }) => body));
    expect(prompts).toContain('sum up [REDACTED]');
    expect(prompts).not.toContain(TOKEN);
  },
);

describe.each(['modern', 'legacy'])('a tool of a %s server that asks a model', (server) => {
  test('gets its answer from the chain, cut at the stop sequence, and what it took is in the signal', async () => {
    const { said, metadata } = await call(`${server}.sum-up`);
    expect(said).toBe('in short ');
    expect(metadata).toMatchObject({ sampling: { model: 'summary', requests: 1, refused: 0, ...counts } });
  });

  // contract.md §5: every call of a model that reports tokens has an `ai.usage`, before the answer.
  test('emits the tokens that the model took as ai.usage of an action, before its result', async () => {
    const request_id = await start(`${server}.sum-up`);
    await end(request_id);
    const { signals } = await client.page(request_id);
    expect(signals.slice(-2)).toMatchObject([
      {
        type: 'ai.usage',
        data: {
          call_id: 'c',
          model: 'summary',
          ...counts,
          metadata: { origin: 'action', operation: 'generate_text', server, requests: 1, request_id },
        },
      },
      { type: 'ai.tool.result', data: { metadata: { origin: 'worker_runtime' } } },
    ]);
  });

  test('gets nothing for a prompt of 10 MB, and the limit is named', async () => {
    const { said } = await call(`${server}.sum-10-mb`);
    expect(JSON.stringify(said)).toContain('more than 262144 bytes of text');
  });

  test('is held to its requests, and the setting is named', async () => {
    const { said, metadata } = await call(`${server === 'modern' ? 'few' : 'fewlegacy'}.sum-for-ever`);
    expect(JSON.stringify(said)).toContain('max_requests_per_call');
    expect(metadata).toMatchObject({ sampling: { requests: 4, refused: 1, total_tokens: 45 } });
  });
});

/** Chat templates (Qwen, Gemma, Mistral) raise an error for a second instruction and for two user messages in a row. */
test.each(['modern', 'legacy'])(
  'what a tool of a %s server asks obeys the rules of its provider',
  async (server) => {
    expect((await call(`${server}.sum-in-parts`)).said).toBe('in short STOP and long');
    const { messages } = (provider.seen.at(-1)?.body ?? {}) as { messages: { role: string }[] };
    expect(messages.map(({ role }) => role)).toEqual(['system', 'user']);
    expect(JSON.stringify(messages)).toMatch(/Be brief.*one.*two/);
  },
);

test('the listing says which server may ask which model', async () => {
  await call('modern.plain');
  const { servers } = await client.tools();
  const models = Object.fromEntries(servers.map(({ name, sampling: model }) => [name, model]));
  expect(models).toMatchObject({ modern: 'summary', none: undefined });
});

test('a round that asks a model and a person gets both answers in one call', async () => {
  const { said } = await answered('modern.sum-and-ask', { action: 'accept', content: { seats: 2 } });
  expect(said).toBe('in short STOP and long {"window":true,"seats":2}');
});

test('2,000 requests of one call reach a model three times', async () => {
  const { said, metadata } = await call('fewlegacy.sum-flood');
  expect(said).toMatch(
    /^3 answered; .*max_requests_per_call of mcpServers\.fewlegacy\.sampling \(3\) is used up/,
  );
  expect(metadata).toMatchObject({ sampling: { requests: 2_000, refused: 1_997 } });
});

describe('a budget that has no room for what a tool asks', () => {
  test('lets the cheaper models answer, and the signal says so', async () => {
    const { said, metadata } = await call('dear.sum-up');
    expect(said).toBe('in short ');
    const budget = { name: 'dear', cheaper: 'summary' };
    expect(metadata).toMatchObject({ sampling: { requests: 1, refused: 0, budget, ...counts } });
    expect(asksOf('dear')).toBe(0);
  });

  test.each(['asked', 'askedlegacy'])('of %s asks a person once for all of the call', async (server) => {
    const { metadata } = await answered(`${server}.sum-for-ever`, { action: 'accept' });
    expect(metadata).toMatchObject({ sampling: { requests: 4, refused: 1, total_tokens: 45 } });
    const before = asksOf('asked');
    const { said } = await answered(`${server}.sum-up`, { action: 'decline' });
    expect(JSON.stringify(said)).toContain('the model call failed (budget_spent)');
    expect(asksOf('asked')).toBe(before);
  });
});

test('the budget of a day holds over calls, counts what was used, and lives in Redis for a while', async () => {
  for (const _ of [1, 2]) expect((await call('day.sum-up')).said).toBe('in short ');
  const { said } = await call('day.sum-up');
  expect(JSON.stringify(said)).toMatch(
    /max_tokens_per_day of mcpServers\.day\.sampling \(130\).* until \d{4}-/,
  );
  await using store = await openStore(redis.url, { prefix: service.prefix });
  const [day] = store.keys.sampling('day', '');
  expect(await store.connection.hget(day, 'tokens')).toBe('30');
  const keys = await store.connection.keys(`${service.prefix}:{sampling:day}:*`);
  expect(keys).toHaveLength(3);
  for (const key of keys) {
    const leftMs = await store.connection.pttl(key);
    expect(leftMs > 0 && leftMs <= 2 * 86_400_000).toBe(true);
  }
});

test('no more requests of tools are at a provider than its lane.concurrency allows', async () => {
  const left = Promise.withResolvers<void>();
  mayLeave = left.promise;
  const first = await start('leaving.sum-and-leave');
  await atWork.promise;
  const asked = () => provider.seen.filter(({ path }) => path !== '/at-work').length;
  const before = asked();
  const second = await start('legacy.sum-up');
  await using store = await openStore(redis.url, { prefix: service.prefix });
  const reserved = async () => {
    const calls = await store.connection.keys(`${service.prefix}:{sampling:legacy}:call:*`);
    const fields = await Promise.all(calls.map(async (key) => store.connection.hkeys(key)));
    return fields.flat().filter((field) => field.startsWith('open|'));
  };
  await expect.poll(reserved).toHaveLength(1);
  for (const _ of Array(20).keys()) await client.directive(second, 'c');
  expect(asked()).toBe(before);
  left.resolve();
  await end(first);
  expect((await end(second)).said).toBe('in short ');
});

test('a request that nobody waits for, or that has waited too long, takes no place at a provider', async () => {
  const places = createModelPlaces({ placesOf: () => 1, longestWaitMs: 1 });
  const [held, gone] = [Promise.withResolvers<void>(), new AbortController()];
  const { signal } = new AbortController();
  const first = places.during('p', signal, () => held.promise);
  gone.abort();
  const late = [signal, gone.signal].map(async (each) => places.during('p', each, async () => 'asked'));
  expect(await Promise.all(late)).toEqual([null, null]);
  expect(await places.during('other', signal, async () => 'asked')).toBe('asked');
  held.reject(new Error('broken'));
  await expect(first).rejects.toThrow('broken');
  expect(await places.during('p', signal, async () => 'asked')).toBe('asked');
});

test('an answer that is paid for and that nobody waits for counts as the most that it may take', async () => {
  for (const tool of ['sum-and-leave', 'sum-and-withdraw']) {
    atWork = Promise.withResolvers();
    const { metadata } = await call(`leaving.${tool}`);
    const most = { output_tokens: 100, estimated: 1 };
    expect(metadata).toMatchObject({ sampling: { requests: 1, ...most } });
  }
  await using store = await openStore(redis.url, { prefix: service.prefix });
  const calls = await store.connection.keys(`${service.prefix}:{sampling:leaving}:call:*`);
  const left = async () => Promise.all(calls.map(async (key) => store.connection.hkeys(key)));
  await expect.poll(left).toEqual(calls.map(() => ['requests', 'tokens']));
  const [day] = store.keys.sampling('leaving', '');
  expect(Number(await store.connection.hget(day, 'tokens'))).toBeGreaterThan(300);
  expect(JSON.stringify((await call('leaving.sum-up')).said)).toContain('max_tokens_per_day');
});

test.each(['none', 'nonelegacy'])('without the setting %s is refused, and it is named', async (server) => {
  const { said, metadata } = await call(`${server}.sum-up`);
  expect(JSON.stringify(said)).toMatch(server === 'none' ? /set \\"sampling\\"/ : /sampling/);
  expect(metadata).not.toHaveProperty('sampling');
});

describe('a legacy server that wants a page to be opened first', () => {
  test('is called again when a person has opened it', async () => {
    const { said } = await answered('legacy.page-first', { action: 'accept' });
    expect(said).toBe('opened x');
  });

  test('fails its call where nobody answers, with the setting that helps', async () => {
    const { said } = await call('silent.page-first');
    expect(said).toMatchObject({ details: { fix: expect.stringContaining('"questions"') } });
  });
});
