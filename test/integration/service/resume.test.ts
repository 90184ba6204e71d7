/** Runs that go on after their end: what had succeeded is not called again, and the failed step is made anew.
 *  It must never count a call by the log of the service alone: the provider of the test counts what it is asked. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createHttpClient } from '../../../src/client/http-client.ts';
import type { DirectiveClient } from '../../../src/contract/directive/directive-client.ts';
import type { RunView } from '../../../src/contract/run/run.ts';
import { eventually } from '../../support/eventually.ts';
import { refusal } from '../../support/pipeline.ts';
import { json, startProvider } from '../../support/provider-server.ts';
import { ownServerEntry } from '../../support/mcp-servers.ts';
import { closeRedis, connectRedis } from '../../../src/platform/redis/connection.ts';
import { createDeadLetterIndex } from '../../../src/store/index/dead-letter-index.ts';
import { keySpace } from '../../../src/store/keys.ts';
import { type RunningService, startService } from '../../support/running-service.ts';
import { shared, useRedis } from '../../support/shared.ts';

interface Asked {
  model: string;
  messages: { role: string; content?: unknown; tool_calls?: unknown }[];
}

/** `OUTAGE_RUNS`, `OUTAGE_MS`: runs that an outage meets, and its length under the default retries. Without a length each run is refused six times. */
const OUTAGE_RUNS = Number(process.env['OUTAGE_RUNS'] ?? 20);
const OUTAGE_MS = Number(process.env['OUTAGE_MS'] ?? 0);
/** Longest time from the end of an outage to the end of its last run: a retry waits for a minute at most. */
const AFTER_OUTAGE_MS = 120_000;
let outageEndsAt = 0;

/** Queries whose model is away. */
const away = new Set<string>();
/** How often each query was refused. */
const refused = new Map<string, number>();
const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };

/** The query `<name>: <tool> <tool>` has the model call these tools, one in each answer, and then answer. */
const provider = shared(async () =>
  startProvider(async (response, request, index) => {
    const { messages, model } = request.body as Asked;
    const query = String(messages.find(({ role }) => role === 'user')?.content);
    const said = messages.findLast(({ role }) => role === 'user')?.content;
    const refusals = refused.get(query) ?? 0;
    if (query.startsWith('outage') && (refusals < 6 || Date.now() < outageEndsAt)) {
      refused.set(query, refusals + 1);
      return json(500, { error: { message: 'down' } })(response, request, index);
    }
    if (away.has(query) || away.has(String(said)))
      return json(400, { error: { message: 'away' } })(response, request, index);
    const tools = query.split(': ')[1]?.split(' ') ?? [];
    const tool = tools[messages.filter(({ tool_calls: calls }) => calls !== undefined).length];
    const call = { id: `c${index}`, type: 'function', function: { name: tool, arguments: '{}' } };

    const message =
      tool === undefined
        ? { content: `done by ${model}: ${String(said)}` }
        : { content: null, tool_calls: [call] };
    const choice = { index: 0, finish_reason: tool === undefined ? 'stop' : 'tool_calls', message };
    return json(200, { id: 'a', object: 'chat.completion', model, choices: [choice], usage })(
      response,
      request,
      index,
    );
  }),
);

const redis = useRedis();
let service: RunningService;
let client: DirectiveClient;

/** USD for a million tokens. */
const PRICE = { input: 2, output: 8 };

const agent = { model: 'main:first', tools: ['peer.*'], stream: false, model_call: { max_retries: 0 } };

beforeAll(async () => {
  service = await startService({
    redisUrl: redis.url,
    config: {
      mcpServers: {
        peer: {
          ...ownServerEntry('legacy-peer.ts'),
          effects: {
            wait: {
              repeat: 'once',
              reconcile: {
                tool: 'echo',
                arguments: { text: '{{directive_id}}' },
                happened: 'result.text == directive_id && request_id != "unmade"',
                settle_ms: 400,
                result: '"found by its echo: " + result.text',
              },
            },
          },
        },
      },
      providers: {
        main: {
          type: 'openai-compatible',
          base_url: `${provider.url}/v1`,
          models: { first: { price: PRICE }, second: {} },
        },
      },
      agents: {
        clerk: agent,
        patient: {
          ...agent,
          model_call: OUTAGE_MS > 0 ? {} : { retry_backoff_ms: 20, max_backoff_ms: 20 },
        },
        slow: { ...agent, model_call: { retry_backoff_ms: 60_000 } },
        brief: { ...agent, limits: { max_iterations: 1 }, policies: { overrides: 'any' } },
        fixed: { ...agent, limits: { max_iterations: 1 } },
      },
    },
  });
  client = createHttpClient({ baseUrl: service.url });
});
beforeEach(async () => {
  await eventually(async () => JSON.stringify(await client.tools())).toContain('peer.wait');
});
afterAll(async () => {
  await service?.stop();
});

async function runOf(request: string): Promise<RunView | undefined> {
  return (await client.request(request))?.run;
}

const asked = (query: string): number =>
  provider.seen.filter(({ body }) => JSON.stringify(body).includes(query)).length;

async function types(request: string): Promise<string[]> {
  const page = await client.page(request);
  return page.signals.map(({ type }) => type);
}

async function ended(request: string, status: string, timeout?: number): Promise<RunView> {
  await eventually(async () => (await runOf(request))?.status, timeout).toBe(status);
  const view = await runOf(request);
  if (view === undefined) throw new Error('the run is gone');
  return view;
}

describe('a run that has failed', () => {
  test('goes on from its failed step: no tool and no paid answer twice, counts and costs go on', async () => {
    const query = 'goes on: peer.pid';
    away.add(query);
    const { request_id: request } = await client.runs.start({ agent: 'clerk', query });
    await ended(request, 'failed');
    expect((await client.request(request))?.status).toBe('closed');
    away.delete(query);
    expect(await client.runs.resume(request)).toMatchObject({
      request_id: request,
      status: 'running',
      resumed: 1,
    });
    const view = await ended(request, 'completed');
    expect(view).toMatchObject({
      result: 'done by first: goes on: peer.pid',
      tool_calls: 1,
      resumed: 1,
      error: null,
    });
    // The failed call, its repeat, and the answer after the tool.
    expect(asked(query)).toBe(3);
    expect(view.iterations).toBe(3);
    const log = await types(request);
    expect(log.filter((type) => type === 'ai.tool.started')).toHaveLength(1);
    expect(log.filter((type) => type.startsWith('ai.request.'))).toEqual([
      'ai.request.started',
      'ai.request.failed',
      'ai.request.resumed',
      'ai.request.completed',
    ]);
    expect((await client.request(request))?.status).toBe('closed');
    expect((await refusal(client.runs.resume(request))).code).toBe('not_resumable');
  });

  test('may fail again and go on again, by another model, with a further text', async () => {
    const query = 'twice';
    away.add(query);
    const { request_id: request } = await client.runs.start({ agent: 'clerk', query });
    await ended(request, 'failed');
    await client.runs.resume(request);
    await eventually(async () => (await runOf(request))?.resumed).toBe(1);
    await ended(request, 'failed');
    away.delete(query);
    await client.runs.resume(request, { overrides: { model: 'main:second' }, input: 'and hurry' });
    await eventually(async () => (await runOf(request))?.resumed).toBe(2);
    const view = await ended(request, 'completed');
    expect(view.result).toBe('done by second: twice\n\nand hurry');
  });

  test('is resumed once for each key, and by one of two callers', async () => {
    const query = 'keyed: peer.pid';
    away.add(query);
    const { request_id: request } = await client.runs.start({ agent: 'clerk', query });
    await ended(request, 'failed');
    away.delete(query);
    const keyed = { idempotencyKey: 'again' };
    const [first, second] = await Promise.all([
      client.runs.resume(request, {}, keyed),
      client.runs.resume(request, {}, keyed),
    ]);
    expect([first.request_id, second.request_id]).toEqual([request, request]);
    await ended(request, 'completed');
    expect((await client.runs.resume(request, {}, keyed)).status).toBe('completed');
    expect((await refusal(client.runs.resume(request, { input: 'x' }, keyed))).code).toBe(
      'idempotency_conflict',
    );
    expect((await types(request)).filter((type) => type === 'ai.request.resumed')).toHaveLength(1);
  });
});

test('a run of a conversation goes on in it, unless a later run has', async () => {
  const conversation_id = 'talk';
  const start = async (query: string) =>
    (await client.runs.start({ agent: 'clerk', query, conversation_id })).request_id;
  away.add('first');
  const first = await start('first');
  await ended(first, 'failed');
  away.delete('first');
  await client.runs.resume(first);
  await ended(first, 'completed');
  away.add('second');
  const second = await start('second');
  await ended(second, 'failed');
  await eventually(async () => (await client.request(second))?.status).toBe('closed');
  const third = await start('third');
  await ended(third, 'completed');
  await client.runs.resume(second);
  await eventually(async () => (await runOf(second))?.termination_reason).toBe('conversation_changed');
  const last = await start('last');
  const view = await ended(last, 'completed');
  expect(JSON.stringify(view.messages)).toContain('third');
  away.delete('second');
});

describe('a run that was cancelled', () => {
  test('asks about its call of unknown outcome first, and then repeats, skips or takes the given result', async () => {
    for (const [decision, answer] of [
      [{ action: 'done', result: 'it was booked' }, 'it was booked'],
      [{ action: 'skip' }, 'unknown'],
    ] as const) {
      const query = `cancelled ${decision.action}: peer.wait`;
      const { request_id: request } = await client.runs.start({ agent: 'clerk', query });
      await eventually(async () => (await types(request)).includes('ai.tool.started')).toBe(true);
      await client.cancel(request);
      await ended(request, 'cancelled');
      await eventually(async () => (await client.request(request))?.status).toBe('closed');
      const problem = await refusal(client.runs.resume(request));
      expect(problem).toMatchObject({
        code: 'outcome_unknown',
        calls: [{ id: 'tool-1-0', tool_name: 'peer.wait' }],
      });
      await client.runs.resume(request, { decisions: { 'tool-1-0': decision } });
      await ended(request, 'completed');
      expect(JSON.stringify(provider.seen.at(-1)?.body)).toContain(answer);
      expect((await types(request)).filter((type) => type === 'ai.tool.started')).toHaveLength(1);
    }
  });

  // Issue 38, point 5: a person presses, and the run takes what was found.
  test('takes what a person has found out about its call of unknown outcome, without a decision', async () => {
    const { request_id: request } = await client.runs.start({ agent: 'clerk', query: 'found: peer.wait' });
    await eventually(async () => (await types(request)).includes('ai.tool.started')).toBe(true);
    await client.cancel(request);
    await ended(request, 'cancelled');
    await eventually(async () => (await client.request(request))?.status).toBe('closed');
    const found = await client.reconcile(request, 'tool-1-0');
    expect(found).toMatchObject({ outcome: 'happened', directive: { id: 'tool-1-0.reconcile-1' } });
    await client.runs.resume(request);
    await ended(request, 'completed');
    expect(JSON.stringify(provider.seen.at(-1)?.body)).toContain('found by its echo: tool-1-0');
    const started = (await client.page(request)).signals.filter(
      ({ type, data }) => type === 'ai.tool.started' && Object(data).call_id === 'tool-1-0',
    );
    expect(started).toHaveLength(1);
  });

  /** Its dead letter may be redriven besides: a resume that repeated it, too, would make it twice. */
  test('repeats no call that a person has found not to have happened, without a decision', async () => {
    const request = 'unmade';
    await client.runs.start({ agent: 'clerk', request_id: request, query: 'unmade: peer.wait' });
    await eventually(async () => (await types(request)).includes('ai.tool.started')).toBe(true);
    await client.cancel(request);
    await ended(request, 'cancelled');
    await eventually(async () => (await client.request(request))?.status).toBe('closed');
    await eventually(async () => (await client.reconcile(request, 'tool-1-0')).outcome).toBe('not_happened');
    expect(await refusal(client.runs.resume(request))).toMatchObject({
      code: 'outcome_unknown',
      detail: expect.stringContaining('tool-1-0 (found not to have happened)') as string,
    });
    await client.runs.resume(request, { decisions: { 'tool-1-0': { action: 'skip' } } });
    await ended(request, 'completed');
  });

  test('repeats such a call on request, under a new id, and can be cancelled again', async () => {
    const query = 'cancelled repeat: peer.wait';
    const { request_id: request } = await client.runs.start({ agent: 'clerk', query });
    await eventually(async () => (await types(request)).includes('ai.tool.started')).toBe(true);
    await client.cancel(request);
    await eventually(async () => (await client.request(request))?.status).toBe('closed');
    // As one is listed that the run had not read when it ended: a redrive of all failed calls would make it a third time.
    const connection = connectRedis(redis.url, 'commands');
    const dead = createDeadLetterIndex(connection, keySpace(service.prefix));
    await dead.add({ requestId: request, id: 'tool-1-0', lane: 'tool.peer', errorType: 'cancelled' });
    const listed = async () => (await client.deadLetters({ lane: 'tool.peer' })).dead_letters.length;
    expect(await listed()).toBe(1);
    await client.runs.resume(request, { decisions: { 'tool-1-0': { action: 'repeat' } } });
    expect(await listed()).toBe(0);
    await closeRedis(connection);
    await eventually(
      async () => (await types(request)).filter((type) => type === 'ai.tool.started').length,
    ).toBe(2);
    expect((await client.request(request))?.directives.map(({ id }) => id)).toContain('tool-1-0.resume-1');
    await client.cancel(request);
    await ended(request, 'cancelled');
  });
});

describe('a run that reached a limit', () => {
  test('goes on with more of it where its agent allows that', async () => {
    const query = 'limit: peer.pid';
    const { request_id: request } = await client.runs.start({ agent: 'brief', query });
    expect((await ended(request, 'completed')).termination_reason).toBe('max_iterations');
    await client.runs.resume(request, { overrides: { limits: { max_iterations: 5 } } });
    await eventually(async () => (await runOf(request))?.termination_reason).toBe('final_answer');
    const view = await runOf(request);
    expect(view).toMatchObject({ result: 'done by first: limit: peer.pid', tool_calls: 1, iterations: 2 });
    expect(JSON.stringify(view?.messages)).not.toContain('Maximum iterations');
  });

  test('is refused more than its operator allows', async () => {
    const { request_id: request } = await client.runs.start({ agent: 'fixed', query: 'fixed: peer.pid' });
    await ended(request, 'completed');
    const problem = await refusal(
      client.runs.resume(request, { overrides: { limits: { max_iterations: 5 } } }),
    );
    expect(problem).toMatchObject({
      code: 'invalid_body',
      errors: [{ path: 'overrides.limits.max_iterations' }],
    });
  });
});

// Issue 35, A3.
test('the redrive of a model call of an ended run is counted in its cost and its tokens, and does not resume it', async () => {
  const query = 'redriven';
  away.add(query);
  const { request_id: request } = await client.runs.start({ agent: 'clerk', query });
  const before = await ended(request, 'failed');
  away.delete(query);
  const [failed] = (await client.request(request))?.directives ?? [];
  const { redriven } = await client.redrive({ directives: [{ request_id: request, id: failed?.id ?? '' }] });
  const call = redriven[0]?.to.id ?? '';
  await eventually(async () => (await client.directive(request, call))?.status).toBe('succeeded');
  const view = await runOf(request);
  expect(view).toMatchObject({ status: 'failed', iterations: before.iterations });
  const cost = PRICE.input / 1_000_000 + PRICE.output / 1_000_000;
  expect(view?.cost).toBeCloseTo((before.cost ?? 0) + cost, 12);
  expect(view?.usage.total_tokens).toBe(before.usage.total_tokens + 2);
  await eventually(async () => {
    const { requests } = await client.requests({ q: request });
    return [requests[0]?.cost, requests[0]?.tokens];
  }).toEqual([view?.cost, { input: view?.usage.input_tokens, output: view?.usage.output_tokens }]);
});

test('a run without an end, and a request without a run, cannot be resumed', async () => {
  const { request_id: request } = await client.runs.start({ agent: 'clerk', query: 'open: peer.wait' });
  expect((await refusal(client.runs.resume(request))).code).toBe('not_resumable');
  await client.cancel(request);
  expect((await refusal(client.runs.resume('no-such-request'))).code).toBe('not_found');
});

describe('a provider that is away', () => {
  test(
    'ends no run: with the default number of retries all of them complete',
    { timeout: 2 * (OUTAGE_MS + AFTER_OUTAGE_MS) },
    async () => {
      outageEndsAt = Date.now() + OUTAGE_MS;
      const started = await Promise.all(
        Array.from({ length: OUTAGE_RUNS }, async (_, nth) =>
          client.runs.start({ agent: 'patient', query: `outage ${nth}: peer.pid` }),
        ),
      );
      const views = await Promise.all(
        started.map(async ({ request_id }) => ended(request_id, 'completed', OUTAGE_MS + AFTER_OUTAGE_MS)),
      );
      // A paid answer is that of a call that ended: each run has two, however often the first one was refused.
      expect(views.map(({ iterations, tool_calls }) => [iterations, tool_calls])).toEqual(
        views.map(() => [2, 1]),
      );
      const outages = [...refused].filter(([query]) => query.endsWith(': peer.pid'));
      expect(outages).toHaveLength(OUTAGE_RUNS);
      for (const [query, times] of outages) expect(asked(query)).toBe(times + 2);
    },
  );

  test('shows in the view of the request why its call waits, since when, and until when', async () => {
    const { request_id: request } = await client.runs.start({ agent: 'slow', query: 'outage seen' });
    const waiting = async () => (await client.request(request))?.directives[0]?.waiting;
    await eventually(async () => (await waiting())?.reason).toBe('retry');
    const seen = await waiting();
    expect(seen?.message).toMatch(/the model provider 'main' again: 1 attempt has failed since 20/);
    expect(Date.parse(seen?.until ?? '')).toBeGreaterThan(Date.now());
    const view = await client.request(request);
    expect(seen?.since).toBe(view?.directives[0]?.started_at);
    await client.cancel(request);
  });
});
