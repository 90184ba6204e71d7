/** How reports become appends: one at a time, in order, the newest of each type.
 *  It must never rely on how fast an append is: each is answered by hand. */
import { expect, test } from 'vitest';
import type { SignalDraft } from '../../../src/contract/signal.ts';
import type { Journal } from '../../../src/journal/journal.ts';
import { newTraceparent } from '../../../src/telemetry/trace-context.ts';
import { createReporter } from '../../../src/worker/reporter.ts';

const claim = { requestId: 'r', id: 'a', fence: 1 };

function setUp() {
  const appends: { drafts: readonly SignalDraft[]; answer: PromiseWithResolvers<'appended' | 'stale'> }[] =
    [];
  const append: Journal['append'] = (_claim, drafts) => {
    const answer = Promise.withResolvers<'appended' | 'stale'>();
    appends.push({ drafts, answer });
    return answer.promise;
  };
  const origin = { requestId: 'r', causationId: 'a', traceparent: newTraceparent(), attempt: 2 };
  const reporter = createReporter({ append } as Journal, claim, origin);
  const progress = (value: number): void =>
    reporter.report('ai.tool.progress', { call_id: 'a', tool_name: 't', progress: value, metadata: {} });
  const written = () =>
    appends.map(({ drafts }) => drafts.map(({ data }) => ('progress' in data ? data.progress : data)));
  return { reporter, appends, progress, written };
}

/** Lets everything that can go on without an answer go on. */
async function settle(): Promise<void> {
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
}

test('a report is written at once, with its attempt and cause', () => {
  const { appends, progress } = setUp();
  progress(1);
  expect(appends[0]?.drafts).toMatchObject([
    { type: 'ai.tool.progress', attempt: 2, causationid: 'a', subject: 'r', data: { progress: 1 } },
  ]);
});

test('what is said while one is being written is written next, the newest only', async () => {
  const { appends, progress, written } = setUp();
  for (const value of [1, 2, 3, 4]) progress(value);
  expect(written()).toEqual([[1]]);
  appends[0]?.answer.resolve('appended');
  await settle();
  expect(written()).toEqual([[1], [4]]);
});

test('reports of different types do not replace each other', async () => {
  const { reporter, appends, progress } = setUp();
  progress(1);
  progress(2);
  reporter.report('ai.tool.approval_requested', { call_id: 'a', tool_name: 't', metadata: {} });
  appends[0]?.answer.resolve('appended');
  await settle();
  expect(appends[1]?.drafts.map(({ type }) => type)).toEqual([
    'ai.tool.progress',
    'ai.tool.approval_requested',
  ]);
});

test('it is settled when everything said is written', async () => {
  const { reporter, appends, progress } = setUp();
  progress(1);
  progress(2);
  let settled = false;
  const settling = reporter.settled().then(() => (settled = true));
  appends[0]?.answer.resolve('appended');
  await settle();
  expect(settled).toBe(false);
  appends[1]?.answer.resolve('appended');
  await settling;
  expect(appends).toHaveLength(2);
});

test('it is settled at once when nothing was said', async () => {
  await setUp().reporter.settled();
});

test('nothing is said after the claim was lost', async () => {
  const { reporter, appends, progress } = setUp();
  progress(1);
  progress(2);
  appends[0]?.answer.resolve('stale');
  await reporter.settled();
  progress(3);
  await settle();
  expect(appends).toHaveLength(1);
});

// The end of a write takes several microtasks; a report may come in between any two.
test.each([0, 1, 2, 3, 4, 5, 6, 7, 8])(
  'a report %i microtasks after the end of a write is written',
  async (turns) => {
    const { reporter, appends, progress, written } = setUp();
    progress(1);
    appends[0]?.answer.resolve('appended');
    for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
    progress(2);
    const settling = reporter.settled();
    await settle();
    appends[1]?.answer.resolve('appended');
    await settling;
    expect(written()).toEqual([[1], [2]]);
  },
);

test('a failed write does not stop the next report', async () => {
  const { reporter, appends, progress, written } = setUp();
  progress(1);
  appends[0]?.answer.reject(new Error('LOADING'));
  await settle();
  progress(2);
  appends[1]?.answer.resolve('appended');
  await reporter.settled();
  expect(written()).toEqual([[1], [2]]);
});
