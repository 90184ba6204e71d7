/** Calls that a server makes tasks of: written down, asked for until they end, cancelled; and servers that lie about them.
 *  It must never wait longer than a server asks for: the tests' server wants to be asked at once. */
import { describe, expect, test } from 'vitest';
import type { ToolCallOutcome, ToolCallRequest } from '../../../src/mcp/tools/tool-call.ts';
import { failureOf, openPool, type PoolUnderTest, textOf } from '../../support/mcp-pool.ts';
import { shared } from '../../support/shared.ts';
import { completed, startTaskServer } from '../../support/task-server.ts';

const server = shared(() => startTaskServer());
let calls = 0;

interface Begun {
  readonly pool: PoolUnderTest;
  readonly label: string;
  readonly outcome: Promise<ToolCallOutcome>;
  /** What was written down. */
  readonly kept: string[];
}

/** A call, from the moment at which its task is asked for. */
async function begin(more: Partial<ToolCallRequest> = {}, task: object = {}, tool = 'work'): Promise<Begun> {
  const pool = openPool(server.options);
  const label = `${calls++}`;
  const kept: string[] = [];
  const keepTask = async (text: string): Promise<boolean> => kept.push(text) > 0;
  const outcome = pool.call(tool, { label, task }, { keepTask, ...more });
  await Promise.race([outcome, server.until(() => server.asked.includes(`tasks/get ${label}`))]);
  return { pool, label, outcome, kept };
}

test('a task is written down before it is asked for, and its result is that of the call', async () => {
  const order: string[] = [];
  const keepTask = async (text: string): Promise<boolean> => {
    order.push(`${server.asked.length} questions`, text);
    return true;
  };
  const before = server.asked.length;
  const { label, outcome } = await begin({ keepTask });
  expect(order).toEqual([`${before} questions`, expect.stringContaining(`"id":"task-${label}"`)]);
  server.says(label, completed('it is done'));
  expect(textOf(await outcome)).toBe('it is done');
  expect((await outcome).task).toEqual({ end: 'ended', polls: expect.any(Number) });
  expect(server.ran.filter((each) => each === label)).toHaveLength(1);
});

test('the result of a task passes the checks of any result', async () => {
  const fit = await begin({}, {}, 'typed');
  server.says(fit.label, { status: 'completed', result: { content: [], structuredContent: { n: 1 } } });
  expect(await fit.outcome).toMatchObject({ kind: 'result', result: { structuredContent: { n: 1 } } });
  const misfit = await begin({}, {}, 'typed');
  server.says(misfit.label, completed('no structure'));
  expect(failureOf(await misfit.outcome).error).toMatchObject({ type: 'invalid_result' });
  const failed = await begin({}, {}, 'typed');
  server.says(failed.label, completed('no', { isError: true }));
  expect(await failed.outcome).toMatchObject({ kind: 'result', result: { isError: true } });
});

test.each([
  ['no result', undefined],
  ['a text', 'done'],
  ['content of another form', { content: [{ type: 'text' }] }],
  ['too much content', { content: Array.from({ length: 4_097 }, () => ({ type: 'text', text: '' })) }],
])('a completed task with %s ends as invalid_result', async (_what, result) => {
  const { label, outcome } = await begin();
  server.says(label, { status: 'completed', result });
  expect(failureOf(await outcome)).toMatchObject({
    error: { type: 'invalid_result' },
    task: { end: 'ended' },
  });
});

test.each([
  [{ code: -32_000, message: 'the disk is full' }, 'tool_error', 'the disk is full'],
  [{ code: -32_602, message: 'no such path' }, 'validation_error', 'no such path'],
  [undefined, 'tool_error', 'The MCP server answered with an error'],
])('a task that has failed ends in the error of its server: %j', async (error, type, message) => {
  const { label, outcome } = await begin();
  server.says(label, { status: 'failed', error });
  expect(failureOf(await outcome)).toMatchObject({ error: { type, message }, task: { end: 'ended' } });
});

test.each([
  ['forgotten', null, 'it does not know the task'],
  ['another task', { taskId: 'task-other', ...completed('of another') }, 'it answered with another task'],
  ['a later task of the same id', { createdAt: 'later', ...completed('of a later one') }, 'another task'],
  ['no task', { status: 'unheard-of' }, 'it answered with something that is not a task'],
  ['that it has no such method', { fault: -32_601 }, 'it does not answer questions about tasks'],
])('a server that answers %s leaves the outcome unknown', async (_what, report, reason) => {
  const { label, outcome } = await begin();
  server.says(label, report);
  const { error, task } = failureOf(await outcome);
  expect([error.type, task?.end]).toEqual(['network', 'forgotten']);
  expect(error.message).toContain(reason);
});

test('a task whose time is over is asked for once more, and given up where there is no answer', async () => {
  const { outcome } = await begin({}, { ttlMs: 1, fault: -32_603 });
  expect(failureOf(await outcome)).toMatchObject({ task: { end: 'forgotten' } });
});

test('a task that its server still reports when its time is over is waited for', async () => {
  const { label, outcome } = await begin({}, { ttlMs: 1 });
  const polls = (): number => server.asked.filter((each) => each === `tasks/get ${label}`).length;
  await Promise.race([outcome, server.until(() => polls() > 2)]);
  server.says(label, completed('late'));
  expect(textOf(await outcome)).toBe('late');
});

test('what a server quotes of its secrets in its answers about a task is hidden', async () => {
  const headers = { authorization: 'Bearer very-secret-token' };
  const pool = openPool({ ...server.options, transport: { kind: 'http', url: server.url, headers } });
  const said: unknown[] = [];
  const task = { statusMessage: 'working with very-secret-token' };
  const onProgress: ToolCallRequest['onProgress'] = ({ message }) => said.push(message);
  const outcome = pool.call('work', { label: 'quoting', task }, { onProgress });
  await server.until(() => server.asked.includes('tasks/get quoting'));
  server.says('quoting', { fault: -32_603, statusMessage: 'no access with very-secret-token' });
  await server.until(() => said.length > 1);
  server.says('quoting', completed('done'));
  await outcome;
  expect(said).toEqual([
    'working with [REDACTED]',
    'The task cannot be asked for its end at the moment: no access with [REDACTED]',
  ]);
});

test('a server that answers with errors is asked again, and what it says is progress', async () => {
  const said: unknown[] = [];
  const { label, outcome } = await begin({ onProgress: (progress) => said.push(progress) });
  server.says(label, { fault: -32_603 });
  await server.until(() => server.asked.at(-1) === `tasks/get ${label}`);
  await server.until(() => said.length > 0);
  server.says(label, { statusMessage: 'half way' });
  await server.until(() => said.length > 1);
  server.says(label, { statusMessage: 'half way', ...completed('done') });
  expect(textOf(await outcome)).toBe('done');
  expect(said).toEqual([
    { progress: 1, message: expect.stringContaining('cannot be asked for its end at the moment') },
    { progress: 2, message: 'half way' },
  ]);
});

describe('a cancelled call', () => {
  test.each([
    ['cancels its task', { status: 'cancelled' }, { error: { type: 'cancelled' }, task: { end: 'ended' } }],
    ['whose task completes all the same has its result', completed('late'), { kind: 'result' }],
    [
      'whose task goes on has an unknown outcome',
      {},
      { error: { type: 'cancelled' }, task: { end: 'lost' } },
    ],
  ])('%s', async (_what, report, expected) => {
    const stop = new AbortController();
    const { label, outcome } = await begin({ signal: stop.signal });
    server.onCancel(report);
    stop.abort();
    expect(await outcome).toMatchObject(expected);
    expect(server.asked).toContain(`tasks/cancel ${label}`);
  });

  test('leaves its task alone where the call goes on elsewhere, which asks for its end and runs nothing', async () => {
    const stop = new AbortController();
    const { label, outcome, kept } = await begin({ signal: stop.signal, goesOn: () => true });
    stop.abort();
    expect(await outcome).toMatchObject({ kind: 'failed', task: { end: 'kept' } });
    expect(server.asked).not.toContain(`tasks/cancel ${label}`);

    const next = openPool(server.options).call('work', {}, { task: kept[0] ?? '' });
    server.says(label, completed('of the first call'));
    expect(textOf(await next)).toBe('of the first call');
    expect(server.ran.filter((each) => each === label)).toHaveLength(1);
  });

  test('leaves its task to nobody at another place: a server there is not asked', async () => {
    const stop = new AbortController();
    const first = { signal: stop.signal, goesOn: () => true, endpoint: 'here' };
    const { label, outcome, kept } = await begin(first);
    stop.abort();
    await outcome;
    const { call } = openPool(server.options);
    const before = server.asked.length;
    for (const endpoint of [{ endpoint: 'there' }, {}]) {
      const next = await call('work', {}, { task: kept[0] ?? '', ...endpoint });
      expect(failureOf(next)).toMatchObject({
        error: { type: 'network' },
        task: { end: 'forgotten', polls: 0 },
      });
    }
    expect(server.asked).toHaveLength(before);
    server.says(label, completed('of the first call'));
    const same = await call('work', {}, { task: kept[0] ?? '', endpoint: 'here' });
    expect(textOf(same)).toBe('of the first call');
  });
});

describe('the task of a call that has ended', () => {
  test('is left to be cancelled where its server does not answer: only an answer about the task is one', async () => {
    const stop = new AbortController();
    const { pool, label, outcome, kept } = await begin({ signal: stop.signal, endpoint: 'here' });
    const withdraw = async (endpoint = 'here') =>
      (await pool.pool.withdraw('tasks', kept[0] ?? '', endpoint)).kind;
    server.says(label, { fault: -32_603 });
    stop.abort();
    expect(await outcome).toMatchObject({ error: { type: 'cancelled' }, task: { end: 'left' } });
    expect(await withdraw()).toBe('away');
    expect(await withdraw('there')).toBe('moot');
    server.says(label, {});
    expect(await withdraw()).toBe('cancelled');
    server.says(label, null);
    expect(await withdraw()).toBe('moot');
  });
});

test('a call past its limit cancels its task', async () => {
  const { label, outcome } = await begin({ maxTotalMs: 1_000 });
  server.onCancel({ status: 'cancelled' });
  expect(failureOf(await outcome)).toMatchObject({ error: { type: 'timeout' }, task: { end: 'ended' } });
  expect(server.asked).toContain(`tasks/cancel ${label}`);
});

const QUESTION = {
  method: 'elicitation/create',
  params: {
    message: 'Which one?',
    requestedSchema: { type: 'object', properties: { n: { type: 'number' } } },
  },
};

test('a task that asks gets the answer of whoever answers questions of tools', async () => {
  const asked: string[] = [];
  const onQuestion: ToolCallRequest['onQuestion'] = async ({ message }) => {
    asked.push(message);
    return { action: 'accept', content: { n: 1 } };
  };
  const { label, outcome } = await begin({ onQuestion });
  const inputRequests = { which: QUESTION };
  server.says(label, { status: 'input_required', inputRequests });
  await server.until(() => server.answers.has(label));
  // The server has not noticed yet.
  const before = server.asked.length;
  await server.until(() => server.asked.slice(before).includes(`tasks/get ${label}`));
  server.says(label, completed('done'));
  expect(textOf(await outcome)).toBe('done');
  expect(server.answers.get(label)).toEqual({ which: { action: 'accept', content: { n: 1 } } });
  expect(asked).toEqual(['Which one?']);
});

test('a task that wants an answer is cancelled where nobody answers, and its call says why', async () => {
  const { label, outcome } = await begin();
  server.says(label, { status: 'input_required', inputRequests: { which: QUESTION } });
  expect(failureOf(await outcome).error.message).toContain(
    'asks for something that this client does not support',
  );
  expect(server.asked).toContain(`tasks/cancel ${label}`);
});

test('a task that wants more than answers is cancelled', async () => {
  const { label, outcome } = await begin({ onQuestion: async () => ({ action: 'decline' }) });
  server.says(label, {
    status: 'input_required',
    inputRequests: { sample: { method: 'sampling/createMessage', params: {} } },
  });
  expect(failureOf(await outcome)).toMatchObject({ error: { type: 'executor' }, task: { end: 'lost' } });
});

test.each([5, '', 'x'.repeat(1_025), 'a\nb', '\ud800'])('a task of the id %j is refused', async (taskId) => {
  const { outcome, kept } = await begin({}, { taskId });
  expect(failureOf(await outcome)).toMatchObject({
    error: { type: 'invalid_result' },
    task: { end: 'lost' },
  });
  expect(kept).toEqual([]);
});

test('what was written down in another form is an unknown outcome', async () => {
  const outcome = await openPool(server.options).call('work', {}, { task: '{"id":5}' });
  expect(failureOf(outcome)).toMatchObject({ task: { end: 'forgotten', polls: 0 } });
});
