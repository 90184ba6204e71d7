/** Issue 37: an agent that knows nothing of the service (examples/agents/openai.ts) is killed in the middle and started again. Each turn is paid for once, and each `once` tool
 *  runs once, or its outcome is said to be unknown. It looks at what the provider and the tool have counted. */
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { untilListed } from '../support/eventually.ts';
import { install, type Installation } from '../support/installation.ts';
import { type Child, freePort, spawnNode } from '../support/process.ts';
import { startProvider } from '../support/provider-server.ts';
import { get } from '../support/public-api.ts';

const AGENT = fileURLToPath(new URL('../../examples/agents/openai.ts', import.meta.url));
const LONG_MS = 1_500;

interface Sent {
  readonly messages: readonly { readonly role: string; readonly content: string }[];
}

const refund = (id: string, label: string, delay_ms: number) => ({
  id,
  type: 'function',
  function: { name: 'counting__once', arguments: JSON.stringify({ label, delay_ms }) },
});

/** The first turn asks for two equal refunds, the second one for another; then the agent has what it needs. */
const TURNS: readonly (() => object)[] = [
  () => ({ content: null, tool_calls: [refund('a', 'A', 0), refund('b', 'A', LONG_MS)] }),
  () => ({ content: null, tool_calls: [refund('c', 'B', LONG_MS)] }),
  () => ({ content: 'All refunded.' }),
];

async function scene() {
  const provider = await startProvider((response, { body }) => {
    const turn = (body as Sent).messages.filter(({ role }) => role === 'assistant').length;
    const message = { role: 'assistant', ...TURNS[turn]?.() };
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({
        id: `chat-${turn}`,
        model: 'm',
        choices: [{ index: 0, message, finish_reason: 'stop' }],
      }),
    );
  });
  const installation = await install({
    config: {
      worker: { lease_ms: 1_500 },
      providers: { play: { type: 'openai-compatible', base_url: `${provider.url}/v1` } },
    },
  });
  const agent = (url: string): Child =>
    spawnNode([AGENT], {
      env: {
        OPENAI_BASE_URL: `${url}/runs/order-4711/openai/v1`,
        OPENAI_API_KEY: 'any',
        MODEL: 'play:m',
        MCP_URL: `${url}/runs/order-4711/mcp`,
      },
    });
  return {
    agent,
    installation,
    /** How often the provider was asked for each turn. */
    asked: () =>
      TURNS.map((_, turn) => provider.seen.filter(({ body }) => turnsIn(body as Sent) === turn).length),
    lastAsked: () => provider.seen.at(-1)?.body as Sent,
    async [Symbol.asyncDispose]() {
      await installation[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
}

const turnsIn = ({ messages }: Sent): number => messages.filter(({ role }) => role === 'assistant').length;
const countOf = (installation: Installation, label: string): number =>
  installation.executions().filter((execution) => execution.label === label).length;

test('the agent is killed during its tool calls, the API too; started again, it pays for nothing twice and refunds nothing twice', async () => {
  await using it = await scene();
  const { installation } = it;
  const port = await freePort();
  const [api] = await Promise.all([installation.start('api', port), installation.start('worker')]);
  await untilListed(api.url, 'counting.once');

  const first = it.agent(api.url);
  await installation.untilExecuted((all) => all.filter(({ label }) => label === 'A').length === 2);
  await first.kill9();
  const second = it.agent(api.url);
  await installation.untilExecuted((all) => all.some(({ label }) => label === 'B'));
  await Promise.all([second.kill9(), api.kill9()]);
  await installation.start('api', port);

  const third = it.agent(api.url);
  expect(await third.waitForLine(/^answer/)).toBe('answer: All refunded.');
  expect(it.asked(), 'turns that the provider was paid for').toEqual([1, 1, 1]);
  expect([countOf(installation, 'A'), countOf(installation, 'B')]).toEqual([2, 1]);
  const { body: view } = await get<Record<string, unknown>>(`${api.url}/v1/runs/order-4711`);
  expect(view).toMatchObject({ passes: 3, turns: 3, tool_calls: 3, branched: false });
  const { request_prefix: prefix, trace_id: trace } = view;
  const traces = await Promise.all(
    ['t1', 't2', 't3', 't1.c0', 't2.c0'].map(async (id) =>
      get<{ trace_id: string }>(`${api.url}/v1/requests/${String(prefix)}.${id}/trace`),
    ),
  );
  expect(traces.map(({ body }) => body.trace_id)).toEqual(Array(5).fill(trace));
});

test('the worker is killed during a refund: the outcome is unknown, the model reads it in words, and a restart repeats nothing', async () => {
  await using it = await scene();
  const { installation } = it;
  const [api, worker] = await Promise.all([installation.start('api'), installation.start('worker')]);
  await untilListed(api.url, 'counting.once');
  const first = it.agent(api.url);
  await installation.untilExecuted((all) => all.some(({ label }) => label === 'B'));
  await Promise.all([worker.kill9(), first.kill9()]);
  await installation.start('worker');
  const second = it.agent(api.url);
  await second.waitForLine(/^answer/);
  expect(it.asked()).toEqual([1, 1, 1]);
  expect(countOf(installation, 'B')).toBe(1);
  const read = it.lastAsked().messages.at(-1)?.content ?? '';
  expect(read).toContain('outcome_unknown');
  const { body: view } = await get(`${api.url}/v1/runs/order-4711`);
  expect(view).toMatchObject({ passes: 2, tool_calls: 3 });
});
