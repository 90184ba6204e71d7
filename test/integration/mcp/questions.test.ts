/** Questions of servers at the pool: real servers of both eras, and of strangers, ask the test.
 *  It must never know how an answer is found: the service's tests do. */
import { expect, test } from 'vitest';
import type { QuestionAnswer, ToolQuestion } from '../../../src/contract/tool/tool-question.ts';
import { openPool, textOf, TRACEPARENT } from '../../support/mcp-pool.ts';
import { askingPeer, everything, startLegacyPeer } from '../../support/mcp-servers.ts';

const seats = (count: number): QuestionAnswer => ({ action: 'accept', content: { seats: count } });

/** Answers each question when the test says so. */
function person() {
  const asked: { question: ToolQuestion; withdrawn: AbortSignal; answer: (given: QuestionAnswer) => void }[] =
    [];
  return {
    asked,
    onQuestion: async (question: ToolQuestion, withdrawn: AbortSignal): Promise<QuestionAnswer> => {
      const { promise, resolve } = Promise.withResolvers<QuestionAnswer>();
      asked.push({ question, withdrawn, answer: resolve });
      return promise;
    },
  };
}

test('a legacy call waits for the answer beyond its own limit, and its limit counts again afterwards', async () => {
  const { call } = openPool(askingPeer('legacy'));
  expect(textOf(await call('plain'))).toBe('plain');
  const { asked, onQuestion } = person();
  const limits = { timeoutMs: 2_000, onQuestion };
  const booked = call('book', {}, limits);
  await expect.poll(() => asked).toHaveLength(1);
  // Behind it, for longer than its limit.
  expect(await call('plain', {}, { maxTotalMs: 2_100 })).toMatchObject({ kind: 'failed', sent: false });
  asked[0]?.answer(seats(2));
  expect(textOf(await booked)).toBe('{"seats":2}');
  expect(await call('endless', {}, limits)).toMatchObject({ kind: 'failed', error: { type: 'timeout' } });
});

test('a call behind one that waits for a person waits beyond its own limit, and says why', async () => {
  const { call, logs, pool } = openPool(askingPeer('legacy'));
  const { asked, onQuestion } = person();
  const booked = call('book', {}, { onQuestion });
  await expect.poll(() => asked).toHaveLength(1);
  const said: (string | undefined)[] = [];
  const behind = call(
    'plain',
    {},
    { timeoutMs: 2_000, onProgress: ({ message }) => void said.push(message) },
  );
  const cancel = new AbortController();
  const resumed = call('plain', {}, { task: 'a task', signal: cancel.signal });
  // Nobody has asked for the end of the task, so that it is not lost.
  cancel.abort();
  expect(await resumed).toMatchObject({ kind: 'failed', sent: false, task: { end: 'kept' } });
  // Longer than the limit of the call behind.
  expect(await call('plain', {}, { maxTotalMs: 2_400 })).toMatchObject({ kind: 'failed', sent: false });
  const limits = { timeoutMs: 300, maxTotalMs: 300, signal: new AbortController().signal };
  const list = { method: 'resources/list', params: {}, traceparent: TRACEPARENT, ...limits } as const;
  expect(await pool.read({ server: askingPeer('legacy').name, ...list })).toMatchObject({
    error: { type: 'timeout', message: expect.stringContaining('was not sent the request: it asks people') },
    sent: false,
  });
  asked[0]?.answer(seats(1));
  expect([textOf(await booked), textOf(await behind)]).toEqual(['{"seats":1}', 'plain']);
  expect(said).toEqual([expect.stringContaining('waits behind another call')]);
  expect(logs.filter(({ message }) => message.includes('one call at a time'))).toHaveLength(1);
});

test('two calls that ask at once are nobody’s questions; after that each asks alone', async () => {
  const { call } = openPool(askingPeer('legacy'));
  await call('plain');
  const { asked, onQuestion } = person();
  const nobody = { onQuestion: async () => ({ action: 'cancel' }) as const };
  const both = await Promise.all([call('book', {}, nobody), call('book', {}, nobody)]);
  expect(both.map(textOf)).toEqual(['cancel', 'cancel']);
  const one = call('book', {}, { onQuestion });
  const other = call('book', {}, { onQuestion });
  await expect.poll(() => asked).toHaveLength(1);
  asked[0]?.answer(seats(1));
  expect(textOf(await one)).toBe('{"seats":1}');
  await expect.poll(() => asked).toHaveLength(2);
  asked[1]?.answer(seats(2));
  expect(textOf(await other)).toBe('{"seats":2}');
});

test('a call that is cancelled withdraws its question', async () => {
  const { call } = openPool(askingPeer('legacy'));
  const { asked, onQuestion } = person();
  const cancel = new AbortController();
  const booked = call('book', {}, { onQuestion, signal: cancel.signal });
  await expect.poll(() => asked).toHaveLength(1);
  cancel.abort();
  expect(await booked).toMatchObject({ kind: 'failed', error: { type: 'cancelled' } });
  expect(asked[0]?.withdrawn.aborted).toBe(true);
});

test('a question of a call that was ended, whose server goes on with it, is shown to nobody', async () => {
  const { call, logs } = openPool(askingPeer('legacy'));
  await call('plain');
  const { asked, onQuestion } = person();
  const cancel = new AbortController();
  const orphan = call('orphan', {}, { onQuestion, signal: cancel.signal });
  await call('plain');
  cancel.abort();
  expect(await orphan).toMatchObject({ kind: 'failed', error: { type: 'cancelled' } });
  expect(textOf(await call('host', {}, { onQuestion }))).toBe('cancel');
  expect(asked).toEqual([]);
  expect(logs.find(({ fields }) => fields['until'] !== undefined)?.message).toMatch(/was ended/);
});

test('over HTTP a question is of the call on whose stream it comes: calls ask at once, and beside one that was ended', async () => {
  await using peer = await startLegacyPeer();
  const { call } = openPool({ ...peer.options, questions: true });
  const cancel = new AbortController();
  const beats = { beats: 1_000, everyMs: 20 };
  const orphan = call('beat', beats, { signal: cancel.signal, onProgress: () => cancel.abort() });
  expect(await orphan).toMatchObject({ kind: 'failed', error: { type: 'cancelled' } });
  const both = Promise.withResolvers<void>();
  const asked: string[] = [];
  const ask = async (label: string) => {
    const onQuestion = async ({ message }: ToolQuestion): Promise<QuestionAnswer> => {
      asked.push(message);
      if (asked.length === 2) both.resolve();
      // Each answer waits for the other question.
      await both.promise;
      return { action: 'accept', content: { of: label } };
    };
    return textOf(await call('ask', { label }, { onQuestion }));
  };
  expect(await Promise.all([ask('one'), ask('two')])).toEqual([
    'one {"action":"accept","content":{"of":"one"}}',
    'two {"action":"accept","content":{"of":"two"}}',
  ]);
  expect(asked.toSorted()).toEqual(['one', 'two']);
});

test('a modern call ends with what is asked, and another process of the server takes the answers', async () => {
  const key = { ASKING_KEY: 'of all its processes, 32 bytes or more' };
  const asks = await openPool(askingPeer('modern', key)).call('two');
  if (asks.kind !== 'asks') throw new Error(JSON.stringify(asks));
  expect(asks.questions.map(({ key: name, question }) => [name, question.mode])).toEqual([
    ['there', 'form'],
    ['back', 'form'],
  ]);
  const resume = { state: asks.state, answers: { there: seats(1), back: { action: 'decline' } as const } };
  const { call } = openPool(askingPeer('modern', key));
  expect(textOf(await call('two', {}, { resume }))).toBe('{"seats":1} decline');
  const forged = { ...resume, state: 'forged' };
  const refused = await call('two', {}, { resume: forged });
  expect(refused).toMatchObject({
    kind: 'failed',
    error: { details: { code: -32_602, data: { reason: 'invalid_request_state' } } },
  });
});

test('a server that only wants to be asked again is, in the same call', async () => {
  const { call } = openPool(askingPeer('modern'));
  expect(textOf(await call('legs', {}, { timeoutMs: 5_000 }))).toBe('after 3');
});

test('server-everything asks with all kinds of fields, and for a URL', async () => {
  const { call, pool, until } = openPool({ ...everything(), questions: true });
  pool.start();
  const name = 'trigger-elicitation-request';
  await until(() => pool.describe('everything', name) !== null);
  const { asked, onQuestion } = person();
  const called = call(name, {}, { onQuestion });
  await expect.poll(() => asked).toHaveLength(1);
  const [{ question, answer } = { question: undefined, answer: () => {} }] = asked;
  expect(question).toMatchObject({ mode: 'form', schema: { required: ['name'] } });
  answer({ action: 'accept', content: { name: 'Ada' } });
  expect(textOf(await called)).toMatch(/provided|Ada/i);
});
