/** A question of a tool outlives every process between question and answer; where its server held the call, it ends as any call does.
 *  It must not warn the processes that it kills. */
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { DirectiveView } from '../../src/contract/request/request-view.ts';
import { install } from '../support/installation.ts';
import { ownServerEntry } from '../support/mcp-servers.ts';
import { askModern } from '../support/modern-requests.ts';
import { json, startProvider } from '../support/provider-server.ts';
import { get, post, untilClosed } from '../support/public-api.ts';
import { openStore } from '../support/store.ts';

const LOG = join(mkdtempSync(join(tmpdir(), 'asking-')), 'log');
const asking = (env: Record<string, string>) => ({
  ...ownServerEntry('asking-peer.ts', { ASKING_LOG: LOG, ...env }),
  questions: true,
});
const mcpServers = {
  asking: asking({ ASKING_KEY: 'of all its processes, 32 bytes or more' }),
  forgetful: asking({}),
  holding: asking({ ASKING_ERA: 'legacy' }),
  other: asking({ ASKING_ERA: 'legacy' }),
};

const call = (id: string, tool_name: string, effect = 'once') => ({
  type: 'tool_exec',
  request_id: 'r',
  id,
  tool_name,
  effect,
  arguments: { label: id },
});

const events = (start: string): string[] =>
  readFileSync(LOG, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith(start));

test('kill -9 of worker, API and Redis between question and answer', async () => {
  await using installation = await install({
    redis: { appendonly: true, appendfsync: 'always' },
    config: { mcpServers, worker: { lease_ms: 2_000 } },
  });
  const [api, worker] = await Promise.all([installation.start('api'), installation.start('worker')]);
  const view = async (url: string, id: string): Promise<DirectiveView> =>
    (await get<DirectiveView>(`${url}/v1/requests/r/directives/${id}`)).body;
  const asked = async (url: string, id: string, input: string): Promise<void> =>
    expect.poll(async () => (await view(url, id)).inputs?.[0]?.input_id, { interval: 100 }).toBe(input);
  const directives = [
    call('kept', 'asking.book'),
    call('lost', 'forgetful.book'),
    call('once', 'holding.book'),
    call('read', 'other.book', 'read'),
  ];
  expect((await post(`${api.url}/v1/directives`, { directives })).status).toBe(202);
  for (const { id } of directives) await asked(api.url, id, `${id}.1`);

  // An MCP host whose tool asks has left with the question.
  const host = async (at: string, more: object = {}) => {
    const params = { name: 'asking__book', arguments: { label: 'host' }, ...more };
    const capabilities = { elicitation: {} };
    const asked = { method: 'tools/call', name: 'asking__book', params, capabilities };
    return (await askModern(`${at}/mcp`, asked)).result ?? {};
  };
  const { inputRequests, requestState } = await host(api.url);
  expect(inputRequests).toMatchObject({
    seats: { params: { message: 'asking.book asks: How many seats for seats?' } },
  });

  await Promise.all([worker.kill9(), api.kill9()]);
  await installation.redis.kill9();
  await installation.redis.restart();
  const [{ url }] = await Promise.all([installation.start('api'), installation.start('worker')]);
  const answer = async (input: string): Promise<{ status: number; body: unknown }> =>
    post(`${url}/v1/requests/r/inputs/${input}`, { action: 'accept', content: { seats: 4 } });

  expect(await view(url, 'kept')).toMatchObject({ status: 'waiting', waiting: { reason: 'input_required' } });
  expect(await answer('kept.1')).toMatchObject({ status: 200 });
  // The process that had sealed its state is dead: it asks afresh, once.
  expect(await answer('lost.1')).toMatchObject({ status: 200 });
  await asked(url, 'lost', 'lost.2');
  expect(await answer('lost.2')).toMatchObject({ status: 200 });
  // Nobody had an answer to these: the call was the worker's.
  await expect.poll(async () => (await view(url, 'once')).status).toBe('failed');
  expect(await answer('once.1')).toMatchObject({ status: 409 });
  await asked(url, 'read', 'read.2');
  expect(await answer('read.2')).toMatchObject({ status: 200 });
  await untilClosed(url, 'r');
  expect((await host(url, { requestState }))['inputRequests'], 'the same question').toEqual(inputRequests);
  const inputResponses = { seats: { action: 'accept', content: { seats: 5 } } };
  const content = [{ text: '{"window":true,"seats":5}' }];
  // An answer that is brought again is the same answer.
  for (let times = 0; times < 2; times += 1)
    expect(await host(url, { requestState, inputResponses })).toMatchObject({ content });

  const result = async (id: string): Promise<unknown> => (await view(url, id)).result?.data;
  expect(await result('kept')).toMatchObject({ result: { ok: true, payload: '{"window":true,"seats":4}' } });
  expect(await result('lost')).toMatchObject({ result: { ok: true } });
  expect(await result('once')).toMatchObject({ result: { ok: false, error: { type: 'outcome_unknown' } } });
  expect(await result('read')).toMatchObject({ result: { ok: true }, metadata: { redeliveries: 1 } });
  expect((await view(url, 'kept')).failures).toBe(0);
  for (const id of ['kept', 'lost', 'read', 'host']) expect(events(`book ${id} {`)).toHaveLength(1);
  expect(events('book once')).toEqual([]);
});

test('kill -9 of a worker whose tool asks a model: the call is repeated, and the budget knows both requests', async () => {
  const held = Promise.withResolvers<void>();
  const message = { role: 'assistant', content: 'in short' };
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  const choices = [{ index: 0, finish_reason: 'stop', message }];
  const answer = json(200, { id: 'a', object: 'chat.completion', model: 'm', choices, usage });
  // The first request is never answered: its worker dies.
  await using provider = await startProvider((response, request, index) =>
    index === 0 ? held.resolve() : answer(response, request, index),
  );
  const sampling = { model: 'real:any', max_tokens: 100 };
  await using installation = await install({
    config: {
      providers: { real: { type: 'openai-compatible', base_url: `${provider.url}/v1` } },
      mcpServers: { asking: { ...asking({ ASKING_ERA: 'legacy' }), sampling } },
      worker: { lease_ms: 2_000 },
    },
  });
  const [{ url }, worker] = await Promise.all([installation.start('api'), installation.start('worker')]);
  const directives = [call('sampled', 'asking.sum-up', 'read')];
  expect((await post(`${url}/v1/directives`, { directives })).status).toBe(202);
  await held.promise;
  await worker.kill9();
  await installation.start('worker');
  await untilClosed(url, 'r');
  const { body } = await get<DirectiveView>(`${url}/v1/requests/r/directives/sampled`);
  expect(body.result?.data).toMatchObject({
    result: { ok: true, payload: 'in short' },
    metadata: { redeliveries: 1, sampling: { requests: 1, total_tokens: 15 } },
  });
  expect(events('sum-up sampled')).toHaveLength(1);
  await using store = await openStore(installation.redis.url, { prefix: installation.prefix });
  const [day] = store.keys.sampling('asking', '');
  const counted = Number(await store.connection.hget(day, 'tokens'));
  const [counter = ''] = await store.connection.keys(day.replace(/day$/, 'call:*'));
  expect(await store.connection.hget(counter, 'requests')).toBe('2');
  // What was reserved for the first, which nobody settled, and what the second took.
  expect(counted).toBeGreaterThan(115);
  expect(counted).toBeLessThan(215);
});
