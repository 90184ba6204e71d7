/** Issue 37: agents that know nothing of the service (examples/agents) are killed in the middle and started again. Each turn is paid for once, and each
 *  `once` tool runs once, or its outcome is said to be unknown. It looks at what the provider and the tool have counted; `npm run test:agents` is the long form. */
import { expect, test } from 'vitest';
import {
  ANSWER,
  exampleOf,
  type StartAgent,
  startForeignAgents,
  starterOf,
  untilRefundIsListed,
} from '../support/foreign-agents.ts';
import { freePort } from '../support/process.ts';
import { get } from '../support/public-api.ts';

const RUN = 'order-4711';
const REFUND_MS = 1_500;

/** OpenAI's SDK alone. */
const start = (await starterOf(exampleOf('openai.ts'))) as StartAgent;

/** Each turn was paid for once; the two equal refunds that the first turn asks for are two. */
const ONCE = { asked: [1, 1, 1], refunds: [2, 1], isUnknown: false };

test('the agent is killed during its tool calls, the API too; started again, it pays for nothing twice and refunds nothing twice', async () => {
  await using it = await startForeignAgents(REFUND_MS);
  const { installation } = it;
  const port = await freePort();
  const [api] = await Promise.all([installation.start('api', port), installation.start('worker')]);
  await untilRefundIsListed(api.url);

  const first = start(api.url, RUN);
  await it.untilRefunded(RUN, 'A', 2);
  await first.kill9();
  const second = start(api.url, RUN);
  await it.untilRefunded(RUN, 'B', 1);
  await Promise.all([second.kill9(), api.kill9()]);
  await installation.start('api', port);

  const third = start(api.url, RUN);
  expect(await third.waitForLine(/^answer/)).toBe(`answer: ${ANSWER}`);
  expect(it.counted(RUN)).toEqual(ONCE);
  const { body: view } = await get<Record<string, unknown>>(`${api.url}/v1/runs/${RUN}`);
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
  await using it = await startForeignAgents(REFUND_MS);
  const { installation } = it;
  const [api, worker] = await Promise.all([installation.start('api'), installation.start('worker')]);
  await untilRefundIsListed(api.url);
  const first = start(api.url, RUN);
  await it.untilRefunded(RUN, 'B', 1);
  await Promise.all([worker.kill9(), first.kill9()]);
  await installation.start('worker');
  const second = start(api.url, RUN);
  await second.waitForLine(/^answer/);
  expect(it.counted(RUN)).toEqual({ ...ONCE, isUnknown: true });
  const read = it.lastBody(RUN).messages?.at(-1)?.content;
  expect(read).toContain('outcome_unknown');
  const { body: view } = await get(`${api.url}/v1/runs/${RUN}`);
  expect(view).toMatchObject({ passes: 2, tool_calls: 3 });
});
