/** The question of the README, with the repository's own configuration, two real MCP servers and no key.
 *  It must not replace a part of it. */
import { readdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { requestViewSchema, type RequestView } from '../../src/contract/request/request-view.ts';
import { signalSchema, type Signal } from '../../src/contract/signal/signal.ts';
import { startCli } from '../support/cli.ts';
import { untilHolds } from '../support/eventually.ts';
import { follow, get } from '../support/public-api.ts';
import { startRedis } from '../support/redis.ts';

const QUESTION = 'What is 17*23, and which files are in the examples folder?';

test('model, two tools at once, model, answer: in order on the wire, and complete afterwards', async () => {
  await using redis = await startRedis();
  const env = { REDIS_URL: redis.url, ADJUTANT_PORT: '0' };
  const up = startCli(['up', '--config', resolve('adjutant.json')], { cwd: process.cwd(), env });
  try {
    const url = /http\S+/.exec(await up.said(/listens on (http\S+)/))?.[0] ?? '';
    await untilHolds(async () => {
      const { body } = await get<{ tools: { name: string }[] }>(`${url}/v1/tools`);
      const names = body.tools.map(({ name }) => name);
      expect(names).toEqual(expect.arrayContaining(['everything.get-sum', 'filesystem.list_directory']));
    });
    const asked = startCli(['ask', QUESTION, '--json'], { cwd: process.cwd(), env: { ADJUTANT_URL: url } });
    const { code, stdout, stderr } = await asked.ended;
    expect({ code, stderr }).toMatchObject({ code: 0 });
    const requestId = /"(?:request_id|run_id)":\s*"([^"]+)"/.exec(stdout)?.[1] ?? '';

    const signals: Signal[] = [];
    for await (const signal of follow(url, requestId)) signals.push(signal);
    for (const signal of signals) expect(signalSchema.safeParse(signal).error, signal.type).toBeUndefined();
    expect(signals.map(({ sequence }) => sequence)).toEqual(signals.map((_, index) => index + 1));
    expect(storyOf(signals)).toEqual([
      'ai.request.started',
      'ai.llm.response',
      'ai.tool.started',
      'ai.tool.started',
      'ai.tool.result',
      'ai.tool.result',
      'ai.llm.response',
      'ai.request.completed',
    ]);
    expect(new Set(signals.map(({ traceparent }) => traceparent.slice(3, 35))).size).toBe(1);
    const { body: view } = await get<RequestView>(`${url}/v1/requests/${requestId}`);
    expect(requestViewSchema.safeParse(view).error).toBeUndefined();
    checkStory(view);
  } finally {
    up.child.kill('SIGTERM');
    await up.ended;
  }
});

/** The types without frequent ones; the second tool begins before the first one ends, or after it. */
function storyOf(signals: readonly Signal[]): string[] {
  const many = new Set(['ai.llm.delta', 'ai.usage', 'ai.tool.progress']);
  const types = signals.map(({ type }) => type as string).filter((type) => !many.has(type));
  const tools = types
    .filter((type) => type.startsWith('ai.tool.'))
    .toSorted((left, right) => (left > right ? -1 : 1));
  let next = 0;
  return types.map((type) => (type.startsWith('ai.tool.') ? (tools[next++] ?? '') : type));
}

function checkStory(view: RequestView): void {
  expect(view).toMatchObject({ status: 'closed', open: 0 });
  expect(view.directives.map(({ type, status, attempts }) => [type, status, attempts])).toEqual([
    ['llm_stream', 'succeeded', 1],
    ['tool_exec', 'succeeded', 1],
    ['tool_exec', 'succeeded', 1],
    ['llm_stream', 'succeeded', 1],
  ]);
  expect(view.run).toMatchObject({
    status: 'completed',
    query: QUESTION,
    iterations: 2,
    tool_calls: 2,
    termination_reason: 'final_answer',
    waiting_for: [],
  });
  expect(view.run?.messages.map(({ role }) => role)).toEqual([
    'user',
    'assistant',
    'tool',
    'tool',
    'assistant',
  ]);
  expect(view.run?.usage.total_tokens).toBeGreaterThan(0);
  const answer = JSON.stringify(view.run?.result);
  expect(answer).toContain('391');
  for (const file of readdirSync('examples')) expect(answer).toContain(file);
}
