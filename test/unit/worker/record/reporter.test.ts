/** How reports become appends: one at a time, in order, text joined, other reports replaced by their next.
 *  It must never rely on how fast an append is: the test answers each one. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { plainText } from '../../../../src/contract/json/plain-text.ts';
import type { SignalDraft } from '../../../../src/contract/signal/signal.ts';
import type { SignalData, ToolCallDelta } from '../../../../src/worker/executors/definition.ts';
import type { SignalLog } from '../../../../src/store/log/signal-log.ts';
import { newTraceparent } from '../../../../src/platform/telemetry/traces/trace-context.ts';
import { LONGEST_DELTA } from '../../../../src/worker/record/pending-reports.ts';
import { createReporter } from '../../../../src/worker/record/reporter.ts';
import { anyCharacter } from '../../../support/any-character.ts';

const claim = { requestId: 'r', id: 'a', fence: 1 };
const ORIGIN = { requestId: 'r', causationId: 'a', traceparent: newTraceparent(), attempt: 1 };

/** Its attempt goes on, unless `over` says otherwise; an unexpected error fails the test. */
function reporterOn(append: SignalLog['append'], over: Partial<Parameters<typeof createReporter>[0]> = {}) {
  return createReporter({
    log: { append, hurry: () => {} },
    claim,
    origin: ORIGIN,
    signal: new AbortController().signal,
    givenUp: new AbortController().signal,
    onLost: () => {},
    onError: (error) => {
      throw error;
    },
    ...over,
  });
}

type Delta = SignalData<'ai.llm.delta'>;

function setUp(correlation?: Record<string, unknown>) {
  type Verdict = Awaited<ReturnType<SignalLog['append']>>;
  const appends: { drafts: readonly SignalDraft[]; answer: PromiseWithResolvers<Verdict> }[] = [];
  const append: SignalLog['append'] = (_claim, drafts) => {
    const answer = Promise.withResolvers<Verdict>();
    appends.push({ drafts, answer });
    return answer.promise;
  };
  const [stop, givenUp] = [new AbortController(), new AbortController()];
  const heard: unknown[] = [];
  const reporter = reporterOn(append, {
    origin: { ...ORIGIN, attempt: 2 },
    ...(correlation ? { correlation } : {}),
    signal: stop.signal,
    givenUp: givenUp.signal,
    onLost: () => heard.push('lost'),
    onError: (error) => heard.push(error),
  });
  const progress = (value: number): void =>
    reporter.report('ai.tool.progress', { call_id: 'a', tool_name: 't', progress: value, metadata: {} });
  const written = () =>
    appends.map(({ drafts }) => drafts.map(({ data }) => ('progress' in data ? data.progress : data)));
  const delta = (chunk_type: Delta['chunk_type'], piece: Delta['delta']): void =>
    reporter.report('ai.llm.delta', { call_id: 'a', chunk_type, delta: piece, metadata: {} });
  const deltas = () => appends.map(({ drafts }) => drafts.map(({ data }) => data as Delta));
  /** Answers a write, and lets everything continue that needs no answer. */
  const answer = async (index: number, verdict: Verdict = 'appended'): Promise<void> => {
    appends[index]?.answer.resolve(verdict);
    await settle();
  };
  return { reporter, appends, answer, progress, written, delta, deltas, stop, givenUp, heard };
}

/** Lets everything continue that needs no answer. */
async function settle(): Promise<void> {
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
}

// Issue 37, A3: the log has the provider's bytes beside what is read of them.
test('raw text and pieces that are reported in turn are joined each with its own kind, and keep every character', async () => {
  const { reporter, appends, answer, delta } = setUp();
  const raw = (text: string, head?: SignalData<'ai.llm.raw'>['head']): void =>
    reporter.report('ai.llm.raw', {
      call_id: 'a',
      text,
      ...(head === undefined ? {} : { head }),
      metadata: {},
    });
  const head = { status: 200, headers: {} };
  raw('first', head);
  const long = `\u0000${'x'.repeat(LONGEST_DELTA)}`;
  for (const part of ['a\u0007', 'b', long]) {
    raw(part);
    delta('content', part);
  }
  await answer(0);
  const told = appends.map(({ drafts }) => drafts.map(({ type, data }) => ({ type, ...data })));
  expect(told[0]).toMatchObject([{ type: 'ai.llm.raw', text: 'first', head, seq: 0 }]);
  const rest = (told[1] ?? []) as {
    type: string;
    text?: string;
    delta?: string;
    seq: number;
    head?: object;
  }[];
  expect(rest.map(({ type, seq }) => [type, seq])).toEqual([
    ['ai.llm.raw', 1],
    ['ai.llm.raw', 2],
    ['ai.llm.delta', 0],
    ['ai.llm.delta', 1],
  ]);
  expect(rest.map(({ text = '' }) => text).join('')).toBe(`a\u0007b${long}`);
  expect(rest.map(({ delta: piece = '' }) => piece).join('')).toBe(plainText(`ab${long}`));
  expect(rest.every((each) => each.head === undefined)).toBe(true);
});

test('a report is written at once, with its attempt and cause', () => {
  const { appends, progress } = setUp();
  progress(1);
  expect(appends[0]?.drafts).toMatchObject([
    { type: 'ai.tool.progress', attempt: 2, causationid: 'a', subject: 'r', data: { progress: 1 } },
  ]);
});

test('the first words and what is left at the end wait for no other attempt', async () => {
  const asked: (boolean | undefined)[] = [];
  const answers: (() => void)[] = [];
  let hurried = 0;
  const append: SignalLog['append'] = (_claim, _drafts, soon) => {
    asked.push(soon);
    const answer = Promise.withResolvers<'appended'>();
    answers.push(() => answer.resolve('appended'));
    return answer.promise;
  };
  const reporter = reporterOn(append, { log: { append, hurry: () => void (hurried += 1) } });
  const said = (text: string): void =>
    reporter.report('ai.llm.delta', { call_id: 'a', chunk_type: 'content', delta: text, metadata: {} });
  said('a');
  said('b');
  answers[0]?.();
  await settle();
  said('c');
  expect([asked, hurried]).toEqual([[true, false], 0]);
  const closed = reporter.close();
  expect(hurried).toBe(1);
  answers[1]?.();
  await settle();
  expect(asked).toEqual([true, false, true]);
  answers[2]?.();
  await closed;
});

test('progress and pieces of text carry the run they belong to', async () => {
  const { appends, progress, delta, deltas, answer } = setUp({ request_id: 'r', run_id: 'run' });
  progress(1);
  delta('content', 'Hi');
  await answer(0);
  expect(appends[0]?.drafts[0]?.data).toMatchObject({ metadata: { request_id: 'r', run_id: 'run' } });
  expect(deltas()[1]).toMatchObject([{ delta: 'Hi', metadata: { request_id: 'r', run_id: 'run' } }]);
});

test('reports during a write are written next, only the newest', async () => {
  const { progress, written, answer } = setUp();
  for (const value of [1, 2, 3, 4]) progress(value);
  expect(written()).toEqual([[1]]);
  await answer(0);
  expect(written()).toEqual([[1], [4]]);
});

test('reports of different types do not replace each other', async () => {
  const { reporter, appends, progress, answer } = setUp();
  progress(1);
  progress(2);
  reporter.report('ai.tool.approval_requested', { call_id: 'a', tool_name: 't', metadata: {} });
  await answer(0);
  expect(appends[1]?.drafts.map(({ type }) => type)).toEqual([
    'ai.tool.progress',
    'ai.tool.approval_requested',
  ]);
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
    const settling = reporter.close();
    await settle();
    appends[1]?.answer.resolve('appended');
    await settling;
    expect(written()).toEqual([[1], [2]]);
  },
);

describe('its end', () => {
  test('comes when every report is written', async () => {
    const { reporter, appends, progress, answer } = setUp();
    progress(1);
    progress(2);
    let closed = false;
    const closing = reporter.close().then(() => (closed = true));
    await answer(0);
    expect(closed).toBe(false);
    appends[1]?.answer.resolve('appended');
    await closing;
    expect(appends).toHaveLength(2);
  });

  test('comes at once without reports', async () => {
    const { reporter } = setUp();
    await reporter.close();
    expect(reporter.hasSpoken()).toBe(false);
  });

  test('is final: later reports are not written', async () => {
    const { reporter, appends, progress } = setUp();
    await reporter.close();
    progress(1);
    await settle();
    expect(appends).toEqual([]);
  });

  test('comes when Redis is given up, without an error', async () => {
    const { reporter, appends, progress, givenUp, heard } = setUp();
    progress(1);
    const closing = reporter.close();
    givenUp.abort();
    await closing;
    expect(appends).toHaveLength(1);
    expect(heard).toEqual([]);
  });
});

test('nothing is written after the claim is lost, and the attempt is stopped', async () => {
  const { reporter, appends, progress, heard, answer } = setUp();
  progress(1);
  progress(2);
  await answer(0, 'stale');
  progress(3);
  await reporter.close();
  expect(appends).toHaveLength(1);
  expect(heard).toEqual(['lost']);
  expect(reporter.hasSpoken()).toBe(false);
});

test('a write that failed is repeated with the same signals before anything else is written', async () => {
  const { reporter, appends, delta, heard, answer } = setUp();
  delta('content', 'one ');
  delta('content', 'two');
  appends[0]?.answer.reject(new Error('LOADING Redis is loading'));
  await expect.poll(() => appends.length).toBe(2);
  expect(appends[1]?.drafts).toEqual(appends[0]?.drafts);
  await answer(1);
  appends[2]?.answer.resolve('appended');
  await reporter.close();
  expect(appends[2]?.drafts).toMatchObject([{ data: { delta: 'two', seq: 1 } }]);
  expect(heard).toEqual([]);
});

test('a write that a repeat cannot fix is the last one, and is reported', async () => {
  const { reporter, appends, delta, heard } = setUp();
  delta('content', 'one ');
  delta('content', 'two');
  appends[0]?.answer.reject(new Error('ERR broken script'));
  await reporter.close();
  expect(appends).toHaveLength(1);
  expect(heard).toMatchObject([{ message: 'ERR broken script' }]);
});

describe('text', () => {
  test('is joined while something is being written, its kinds in order, and numbered from 0', async () => {
    const { reporter, appends, delta, deltas, answer } = setUp();
    delta('thinking', 'a');
    for (const piece of ['b', 'c']) delta('thinking', piece);
    for (const piece of ['d', 'e']) delta('content', piece);
    delta('thinking', 'f');
    await answer(0);
    appends[1]?.answer.resolve('appended');
    await reporter.close();
    expect(deltas()).toMatchObject([
      [{ chunk_type: 'thinking', delta: 'a', seq: 0 }],
      [
        { chunk_type: 'thinking', delta: 'bc', seq: 1 },
        { chunk_type: 'content', delta: 'de', seq: 2 },
        { chunk_type: 'thinking', delta: 'f', seq: 3 },
      ],
    ]);
    expect(reporter.hasSpoken()).toBe(true);
  });

  test('loses terminal control characters, and is not written if nothing is left', async () => {
    const { reporter, appends, delta, deltas } = setUp();
    delta('content', '\u0000\u001b');
    await reporter.close();
    expect(appends).toEqual([]);
    const other = setUp();
    other.delta('content', '\u001b[31mred\u009b0m\ttab\r\n\u007f');
    expect(other.deltas()[0]).toMatchObject([{ delta: '[31mred0m\ttab\r\n' }]);
    expect(deltas()).toEqual([]);
  });

  test('too long for one signal is cut, never within a character', async () => {
    const { appends, delta, deltas } = setUp();
    const text = `x${'😀'.repeat(LONGEST_DELTA)}`;
    delta('content', text);
    const pieces = deltas()[0]?.map(({ delta: piece }) => String(piece)) ?? [];
    expect(pieces.join('')).toBe(text);
    expect(pieces.length).toBe(3);
    for (const piece of pieces) {
      expect(piece.length).toBeLessThanOrEqual(LONGEST_DELTA);
      expect(piece.isWellFormed()).toBe(true);
    }
    expect(appends).toHaveLength(1);
  });

  test('that piles up makes an executor wait, until there is room', async () => {
    const { reporter, appends, delta } = setUp();
    delta('content', 'first');
    delta('content', 'x'.repeat(262_000));
    await reporter.drained();
    delta('content', 'x'.repeat(1_000));
    let drained = false;
    const waiting = reporter.drained().then(() => (drained = true));
    await settle();
    expect(drained).toBe(false);
    appends[0]?.answer.resolve('appended');
    await waiting;
  });

  test('that was written no longer counts', async () => {
    const { reporter, appends, delta, answer } = setUp();
    for (let round = 0; round < 3; round += 1) {
      delta('content', 'x'.repeat(250_000));
      await answer(round);
      await reporter.drained();
    }
    expect(appends).toHaveLength(3);
  });

  test.each<[string, (parts: ReturnType<typeof setUp>) => void]>([
    ['its attempt is stopped', ({ stop }) => stop.abort()],
    ['its claim is lost', ({ appends }) => appends[0]?.answer.resolve('stale')],
    ['Redis is given up', ({ givenUp }) => givenUp.abort()],
  ])('keeps no executor waiting when %s', async (_why, happens) => {
    const parts = setUp();
    parts.delta('content', 'first');
    parts.delta('content', 'x'.repeat(300_000));
    const waiting = parts.reporter.drained();
    happens(parts);
    await waiting;
    await parts.reporter.drained();
  });
});

describe('a call that reports very much', () => {
  const LARGE = 'x'.repeat(15_000);

  function flood() {
    const written: SignalDraft[] = [];
    const append: SignalLog['append'] = async (_claim, drafts) => {
      written.push(...drafts);
      return 'appended';
    };
    const reporter = reporterOn(append);
    return { reporter, written, size: () => JSON.stringify(written).length };
  }

  test('fills the log up to a bound, with progress or with text, and its end counts what is missing', async () => {
    for (const chunk_type of ['content', 'tool_call', null] as const) {
      const { reporter, written, size } = flood();
      for (let round = 0; round < 700; round += 1) {
        const metadata = { round };
        if (chunk_type === null)
          reporter.report('ai.tool.progress', {
            call_id: 'a',
            tool_name: 't',
            progress: round,
            message: LARGE,
            metadata,
          });
        else {
          const call = { index: round, id: 'c', name: 'n', arguments: LARGE };
          const delta = chunk_type === 'content' ? LARGE : call;
          reporter.report('ai.llm.delta', { call_id: 'a', chunk_type, delta, metadata });
        }
        if (chunk_type !== null) await settle();
      }
      await reporter.close();
      expect(size()).toBeLessThan(9 * 1_024 * 1_024);
      if (chunk_type === null) expect(written.at(-1)?.data).toMatchObject({ metadata: { coalesced: 698 } });
      else expect(reporter.unreported()).toMatchObject({ limit: 'call' });
    }
  });

  test('is not written any more when its request is full, and its end reports that', async () => {
    const { reporter, appends, delta, answer } = setUp();
    delta('content', 'one');
    delta('content', 'two');
    await answer(0, 'no_room');
    delta('content', 'three');
    await reporter.close();
    expect(appends).toHaveLength(1);
    expect(reporter.hasSpoken()).toBe(false);
    expect(reporter.unreported()).toMatchObject({ signals: 3, limit: 'request_bytes' });
  });

  test('in small pieces is written in few signals', async () => {
    const { reporter, written } = flood();
    for (let piece = 0; piece < 30_000; piece += 1) {
      reporter.report('ai.llm.delta', { call_id: 'a', chunk_type: 'content', delta: 'x', metadata: {} });
      for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
    }
    await reporter.close();
    const text = written.map(({ data }) => (data as Delta).delta).join('');
    expect(text).toHaveLength(30_000);
    expect(written.length).toBeLessThan(4_000);
  });
});

type Step = { kind: Delta['chunk_type']; index: number; text: string; turns: number };

/** Each kind's text as a reader joins it. */
function folded(deltas: readonly Pick<Delta, 'chunk_type' | 'delta'>[]): Record<string, string> {
  const texts: Record<string, string> = {};
  for (const { chunk_type, delta } of deltas) {
    const call = chunk_type === 'tool_call' ? (delta as ToolCallDelta) : null;
    const key = call ? `tool ${call.index}` : chunk_type;
    texts[key] = (texts[key] ?? '') + (call ? call.arguments : String(delta));
  }
  return texts;
}

/** The order in which kinds follow each other, without empty ones. */
function turnsOf(deltas: readonly Pick<Delta, 'chunk_type' | 'delta'>[]): string[] {
  const keys = deltas
    .filter((delta) => Object.values(folded([delta])).join('') !== '')
    .map((delta) => Object.keys(folded([delta]))[0] ?? '');
  return keys.filter((key, position) => key !== keys[position - 1]);
}

test('the text is whole, in order and numbered, whatever is reported and however slow or faulty the writes are', async () => {
  const text = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 20 }),
    fc.string({ unit: fc.constantFrom('\u001b', 'a', '😀', '\ud83d', '\ude00', '\u0085') }),
    fc.integer({ min: 15_990, max: 50_000 }).map((length) => '😀'.repeat(length)),
  );
  const step: fc.Arbitrary<Step> = fc.record({
    kind: fc.constantFrom('content', 'thinking', 'tool_call'),
    index: fc.nat({ max: 2 }),
    text,
    turns: fc.nat({ max: 6 }),
  });
  const answers = fc.array(fc.record({ turns: fc.nat({ max: 8 }), again: fc.boolean() }), { minLength: 1 });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), answers, async (steps, drawn) => {
      const log: SignalDraft[] = [];
      let appended = '';
      let [calls, underWay] = [0, 0];
      const append: SignalLog['append'] = async (_claim, drafts) => {
        underWay += 1;
        expect(underWay).toBe(1);
        const { turns, again } = drawn[calls++ % drawn.length] ?? { turns: 0, again: false };
        for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
        // Like the script: recognises what was executed before the connection was cut.
        const last = drafts.at(-1)?.id ?? '';
        if (last !== appended) log.push(...drafts);
        const isNew = last !== appended;
        appended = last;
        underWay -= 1;
        if (again && isNew && calls === 1) throw new Error('the connection was cut');
        return 'appended';
      };
      const reporter = reporterOn(append);
      const said: Pick<Delta, 'chunk_type' | 'delta'>[] = [];
      for (const { kind, index, text: piece, turns } of steps) {
        const call = { index, id: 'c', name: 'n', arguments: piece };
        const delta = kind === 'tool_call' ? call : piece;
        reporter.report('ai.llm.delta', { call_id: 'a', chunk_type: kind, delta, metadata: {} });
        said.push({ chunk_type: kind, delta: kind === 'tool_call' ? call : plainText(piece) });
        for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
      }
      await reporter.close();
      const written = log.map(({ data }) => data as Delta);
      const spoken = Object.entries(folded(said)).filter(
        ([key, whole]) => whole !== '' || key.startsWith('tool'),
      );
      expect(folded(written)).toEqual(Object.fromEntries(spoken));
      expect(turnsOf(written)).toEqual(turnsOf(said));
      expect(written.map(({ seq }) => seq)).toEqual(written.map((_, position) => position));
      for (const { delta } of written)
        if (typeof delta === 'string') expect(delta.length).toBeLessThanOrEqual(LONGEST_DELTA);
    }),
    { numRuns: 60 },
  );
});
