/** Tasks of protocol 2025-11-25, at servers on the predecessor SDK: asked for, written down, waited for, cancelled.
 *  It must never end a task before its call waits for it. */
import { expect, test, vi } from 'vitest';
import type { ToolCallOutcome, ToolCallRequest } from '../../../src/mcp/tools/tool-call.ts';
import { failureOf, openPool, textOf } from '../../support/mcp-pool.ts';
import { everything } from '../../support/mcp-servers.ts';
import { startOlderTaskServer } from '../../support/older-task-server.ts';
import { shared } from '../../support/shared.ts';

const server = shared(() => startOlderTaskServer());
let calls = 0;

interface Begun {
  readonly label: string;
  readonly outcome: Promise<ToolCallOutcome>;
  /** What was written down. */
  readonly kept: string[];
}

/** A call, from the moment at which its result is waited for. */
async function begin(more: Partial<ToolCallRequest> = {}, args: object = {}): Promise<Begun> {
  const label = `${calls++}`;
  const kept: string[] = [];
  const keepTask = async (text: string): Promise<boolean> => kept.push(text) > 0;
  const outcome = openPool(server.options).call('required', { label, ...args }, { keepTask, ...more });
  await server.until(() => server.asked.includes(`tasks/result ${label}`));
  return { label, outcome, kept };
}

test('a call is made as a task that is written down, and ends with its result', async () => {
  const { label, outcome, kept } = await begin({ maxTotalMs: 40_000 });
  expect(kept).toHaveLength(1);
  expect(server.asked).toContain(`call ${label} 100000`);
  await server.complete(label, 'done');
  expect(textOf(await outcome)).toBe('done');
  expect((await outcome).task?.end).toBe('ended');
});

test('a task is asked of the server for the tools that allow it, and not of a process without need', async () => {
  const { call } = openPool(server.options);
  const optional = call('optional', { label: 'optional' }, { maxTotalMs: 1_000 });
  await server.until(() => server.asked.includes('call optional 61000'));
  await server.until(() => server.asked.includes('tasks/result optional'));
  await server.complete('optional', 'done');
  expect(textOf(await optional)).toBe('done');
  expect(textOf(await call('forbidden', { label: 'forbidden' }))).toBe('at once');
  expect(server.asked).toContain('call forbidden -');
});

test('a worker that has lost its connection asks again; another one finds the end, and runs nothing', async () => {
  const { label, outcome } = await begin();
  server.forget();
  await server.until(() => server.asked.filter((each) => each === `tasks/result ${label}`).length > 1);
  await server.complete(label, 'late');
  expect(textOf(await outcome)).toBe('late');

  const stop = new AbortController();
  const first = await begin({ signal: stop.signal, goesOn: () => true });
  stop.abort();
  expect(await first.outcome).toMatchObject({ kind: 'failed', task: { end: 'kept' } });
  expect(server.asked).not.toContain(`tasks/cancel ${first.label}`);
  const next = openPool(server.options).call('required', {}, { task: first.kept[0] ?? '' });
  await server.complete(first.label, 'of the first call');
  expect(textOf(await next)).toBe('of the first call');
});

test('a task that has failed, and one that was forgotten, end as the server says', async () => {
  const broken = await begin();
  await server.fail(broken.label, 'the disk is full');
  expect(failureOf(await broken.outcome)).toMatchObject({
    error: { type: 'tool_error', message: 'the disk is full' },
    task: { end: 'ended' },
  });
  const lost = await begin();
  server.forget(true);
  expect(failureOf(await lost.outcome)).toMatchObject({
    error: { type: 'network', message: expect.stringContaining('it does not know the task') },
    task: { end: 'forgotten' },
  });
});

test('a task of another caller that has got the id is not the call’s, however soon it has ended', async () => {
  const { label, outcome } = await begin();
  // A server that begins is not there at once, and a question for the result would be answered first.
  server.refuse(1);
  await server.giveAway(label, 'of a stranger');
  expect(failureOf(await outcome)).toMatchObject({
    error: { type: 'network', message: expect.stringContaining('it answered with another task') },
    task: { end: 'forgotten' },
  });
});

test('a result that the server has held back counts once the server has said whose it is', async () => {
  const { label, outcome } = await begin();
  server.refuse(1);
  await server.complete(label, 'done');
  expect(textOf(await outcome)).toBe('done');
  const last = (method: string): number => server.asked.lastIndexOf(`${method} ${label}`);
  expect(last('tasks/get')).toBeGreaterThan(last('tasks/result'));
});

test('a cancelled call cancels its task', async () => {
  const stop = new AbortController();
  const { label, outcome } = await begin({ signal: stop.signal });
  stop.abort();
  expect(failureOf(await outcome)).toMatchObject({ error: { type: 'cancelled' }, task: { end: 'ended' } });
  expect(server.asked).toContain(`tasks/cancel ${label}`);
});

test('a server that has forgotten the session is asked again, over a new one, to cancel a task', async () => {
  // A cancelled call has 1.5 s for that, too little for a new session on a busy machine: then a worker withdraws the task later.
  const { timeout } = AbortSignal;
  vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => timeout.call(AbortSignal, ms * 40));
  const stop = new AbortController();
  const { label, outcome } = await begin({ signal: stop.signal });
  server.forget();
  stop.abort();
  expect(failureOf(await outcome)).toMatchObject({ error: { type: 'cancelled' }, task: { end: 'ended' } });
  expect(server.asked).toContain(`tasks/cancel ${label}`);

  const gone = new AbortController();
  const next = await begin({ signal: gone.signal, goesOn: () => true, endpoint: 'here' });
  gone.abort();
  await next.outcome;
  const { call, pool } = openPool(server.options);
  await call('forbidden', { label: 'other' });
  server.forget();
  const withdraw = async () => (await pool.withdraw('older', next.kept[0] ?? '', 'here')).kind;
  expect(await withdraw()).toBe('away');
  await expect.poll(withdraw).toBe('cancelled');
  expect(server.asked).toContain(`tasks/cancel ${next.label}`);
});

test('the questions of tasks that run side by side reach the calls they are about', async () => {
  const { call } = openPool(server.options);
  const asked: string[][] = [[], []];
  const outcomes = [0, 1].map(async (n) =>
    call(
      'required',
      { label: `asks ${n}`, asks: true },
      {
        async onQuestion({ message }) {
          asked[n]?.push(message);
          return { action: 'accept', content: { n } };
        },
      },
    ),
  );
  await server.until(() => server.answers.length === 2);
  expect(asked).toEqual([['Which one, asks 0?'], ['Which one, asks 1?']]);
  expect(server.answers.toSorted()).toEqual([0, 1].map((n) => `{"action":"accept","content":{"n":${n}}}`));
  await Promise.all([0, 1].map(async (n) => server.complete(`asks ${n}`, `${n}`)));
  expect((await Promise.all(outcomes)).map(textOf)).toEqual(['0', '1']);
});

test('the official example server: a tool that insists on a task asks, says how far it is, and ends', async () => {
  const { call } = openPool({ ...everything(), questions: true });
  const said: (string | undefined)[] = [];
  const outcome = await call(
    'simulate-research-query',
    { topic: 'tasks', ambiguous: true },
    {
      onProgress: ({ message }) => void said.push(message),
      onQuestion: async () => ({ action: 'accept', content: { interpretation: 'technical' } }),
      keepTask: async () => expect.fail('a task of a process is written down'),
    },
  );
  expect(textOf(outcome)).toContain('# Research Report: tasks (technical)');
  // Its stages last as long as it wants to be left in peace: which ones are seen is chance.
  expect(said).toContainEqual(expect.stringMatching(/^(Gathering|Analyzing|Synthesizing|Generating) /));
});
