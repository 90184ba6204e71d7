// What the deltas of model calls fold into: whole texts, restarts, late deltas, repeats.
// Must never compare the fold with another fold: the expected text is known from the input.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type FoldedCalls,
  foldDelta,
  NO_CALLS,
  readDelta,
  type TextEvent,
} from '../../../src/contract/model/delta-fold.ts';
import type { Signal } from '../../../src/contract/signal/signal.ts';
import { followText, textOf } from '../../../src/client/answer-text.ts';

interface Said {
  readonly kind: 'content' | 'thinking' | 'tool_call';
  readonly text: string;
  /** Of the tool call. */
  readonly index: number;
}

const piece: fc.Arbitrary<Said> = fc.record({
  kind: fc.constantFrom('content', 'thinking', 'tool_call'),
  text: fc.string({ minLength: 1, maxLength: 5 }),
  index: fc.nat(2),
});
/** The attempts of one call, with the output of each. */
const attempts = fc.array(fc.array(piece, { maxLength: 6 }), { minLength: 1, maxLength: 4 });

function delta(attempt: number, { kind, text, index }: Said, callId = 'c'): Draft {
  const told = kind === 'tool_call' ? { index, id: `id-${index}`, name: `t${index}`, arguments: text } : text;
  return { type: 'ai.llm.delta', attempt, data: { call_id: callId, chunk_type: kind, delta: told } };
}

function response(attempt: number, payload: unknown, callId = 'c'): Draft {
  const result = { ok: true, payload, effects: [] };
  return { type: 'ai.llm.response', attempt, data: { call_id: callId, result } };
}

interface Draft {
  readonly type: string;
  readonly attempt: number;
  readonly data: unknown;
}

function numbered(drafts: readonly Draft[]): Signal[] {
  return drafts.map((draft, index) => ({ ...draft, sequence: index + 1 }) as unknown as Signal);
}

function folded(signals: readonly Signal[]): FoldedCalls {
  return signals.reduce(foldDelta, NO_CALLS);
}

function eventsOf(signals: readonly Signal[]): TextEvent[] {
  let calls = NO_CALLS;
  return signals.flatMap((signal) => {
    const read = readDelta(calls, signal);
    calls = read.calls;
    return read.events;
  });
}

const content = (text: string): Said => ({ kind: 'content', text, index: 0 });

function joined(pieces: readonly Said[], kind: Said['kind'], index?: number): string {
  return pieces
    .filter((said) => said.kind === kind && (index === undefined || said.index === index))
    .map(({ text }) => text)
    .join('');
}

function signalsOf(all: readonly (readonly Said[])[]): Draft[] {
  return all.flatMap((pieces, index) => pieces.map((said) => delta(index + 1, said)));
}

/** The screen of a reader that prints the answer, and clears it at each restart. */
function printed(events: readonly TextEvent[], kind: 'content' | 'thinking'): string {
  return events.reduce((text, event) => {
    if (event.kind === 'restart') return '';
    return event.kind === kind ? text + event.text : text;
  }, '');
}

describe('the deltas of a call', () => {
  test('give the output of its last attempt that wrote any', () => {
    fc.assert(
      fc.property(attempts, (all) => {
        const call = folded(numbered(signalsOf(all))).get('c');
        const last = all.findLast((pieces) => pieces.length > 0) ?? [];
        expect(call?.content ?? '').toBe(joined(last, 'content'));
        expect(call?.thinking ?? '').toBe(joined(last, 'thinking'));
        const indexes = [
          ...new Set(last.filter(({ kind }) => kind === 'tool_call').map(({ index }) => index)),
        ];
        expect(call?.tool_calls ?? []).toEqual(
          indexes
            .toSorted((left, right) => left - right)
            .map((index) => ({
              index,
              id: `id-${index}`,
              name: `t${index}`,
              arguments: joined(last, 'tool_call', index),
            })),
        );
        expect(call?.restarts ?? 0).toBe(Math.max(0, all.filter(({ length }) => length > 0).length - 1));
      }),
    );
  });

  test('printed as they arrive give the same output', () => {
    fc.assert(
      fc.property(attempts, (all) => {
        const signals = numbered(signalsOf(all));
        const call = folded(signals).get('c');
        expect(printed(eventsOf(signals), 'content')).toBe(call?.content ?? '');
        expect(printed(eventsOf(signals), 'thinking')).toBe(call?.thinking ?? '');
      }),
    );
  });

  test('of an abandoned attempt are ignored', () => {
    fc.assert(
      fc.property(attempts, fc.array(fc.tuple(fc.nat(), piece), { maxLength: 5 }), (all, late) => {
        const begun = signalsOf(all);
        const last = begun.at(-1)?.attempt ?? 1;
        const stale = late
          .map(([attempt, said]) => delta(attempt % last, said))
          .filter(({ attempt }) => attempt > 0);
        const with_ = numbered([...begun, ...stale]);
        expect(eventsOf(with_)).toEqual(eventsOf(numbered(begun)));
      }),
    );
  });

  test('that are repeated count once', () => {
    fc.assert(
      fc.property(attempts, fc.array(fc.nat(), { maxLength: 5 }), (all, again) => {
        const signals = numbered(signalsOf(all));
        const repeated = [...signals];
        for (const place of again.toSorted((left, right) => right - left)) {
          const at = place % (signals.length + 1);
          repeated.splice(at, 0, ...signals.slice(0, at));
        }
        expect(folded(repeated)).toEqual(folded(signals));
      }),
    );
  });

  test('cut in other places give the same output', () => {
    fc.assert(
      fc.property(attempts, (all) => {
        const cut = all.map((pieces) =>
          pieces.flatMap((said) => said.text.split('').map((text) => ({ ...said, text }))),
        );
        const [one, other] = [all, cut].map((said) => folded(numbered(signalsOf(said))).get('c'));
        expect({ ...other, sequence: 0 }).toEqual({ ...one, sequence: 0 });
      }),
    );
  });

  test('of a tool call need not name it again', () => {
    const pieces = [
      { index: 0, id: 'i', name: 't', arguments: '{' },
      { index: 0, arguments: '}' },
    ];
    const drafts = pieces.map((told) => ({
      type: 'ai.llm.delta',
      attempt: 1,
      data: { call_id: 'c', chunk_type: 'tool_call', delta: told },
    }));
    const whole = { index: 0, id: 'i', name: 't', arguments: '{}' };
    expect(folded(numbered(drafts)).get('c')?.tool_calls).toEqual([whole]);
  });

  test('of several calls are told apart', () => {
    const calls = folded(
      numbered([delta(1, content('a'), 'x'), delta(1, content('b'), 'y'), delta(2, content('c'), 'x')]),
    );
    expect([...calls].map(([id, { content, attempt }]) => [id, content, attempt])).toEqual([
      ['x', 'c', 2],
      ['y', 'b', 1],
    ]);
  });

  test('that cannot be read add nothing', () => {
    for (const [kind, odd] of [
      ['content', { a: 1 }],
      ['tool_call', 'text'],
      ['tool_call', { id: 'x' }],
    ] as const) {
      const signals = numbered([
        { type: 'ai.llm.delta', attempt: 1, data: { call_id: 'c', chunk_type: kind, delta: odd } },
      ]);
      expect(eventsOf(signals)).toEqual([]);
      expect(folded(signals).get('c')).toMatchObject({ content: '', tool_calls: [] });
    }
  });
});

describe('the response', () => {
  const turn = (text: string) => ({
    text,
    thinking: 'hm',
    tool_calls: [{ id: 'i', name: 't', arguments: { a: 1 } }],
  });

  test('ends the call, and adds what was missed', () => {
    const signals = numbered([delta(1, content('one ')), response(1, turn('one two'))]);
    expect(eventsOf(signals).map(({ kind }) => kind)).toEqual(['content', 'content', 'end']);
    expect(printed(eventsOf(signals), 'content')).toBe('one two');
    expect(folded(signals).get('c')).toMatchObject({
      content: 'one two',
      thinking: 'hm',
      tool_calls: [{ index: 0, id: 'i', name: 't', arguments: '{"a":1}' }],
      restarts: 0,
      response: signals[1],
    });
  });

  test('replaces what it contradicts, with a restart', () => {
    const signals = numbered([delta(1, content('one ')), response(2, turn('two'))]);
    const events = eventsOf(signals);
    expect(events.map(({ kind }) => kind)).toEqual(['content', 'restart', 'content', 'end']);
    expect(events[1]).toMatchObject({ attempt: 2, void: { content: 'one ' } });
    expect(folded(signals).get('c')).toMatchObject({ content: 'two', attempt: 2, restarts: 1 });
  });

  test('alone makes a call that was not streamed', () => {
    expect(printed(eventsOf(numbered([response(1, turn('all'))])), 'content')).toBe('all');
  });

  test('that failed, or is a preview, keeps the output so far', () => {
    const error = { type: 'timeout', message: 'too slow', details: {}, retryable: true };
    const data = { call_id: 'c', result: { ok: false, error } };
    const failed = { type: 'ai.llm.response', attempt: 1, data };
    for (const end of [failed, response(1, { truncated: true, preview: '{"text":"ot' })]) {
      const call = folded(numbered([delta(1, content('one')), end])).get('c');
      expect(call).toMatchObject({ content: 'one', response: end });
    }
  });

  test('is the last signal that counts', () => {
    const late = [delta(2, content('more')), response(2, turn('other'))];
    const signals = numbered([response(1, turn('all')), ...late]);
    expect(eventsOf(signals).map(({ kind }) => kind)).toEqual(['content', 'end']);
    expect(folded(signals).get('c')?.content).toBe('all');
  });
});

describe('a client', () => {
  async function* stream(signals: readonly Signal[]): AsyncGenerator<Signal> {
    yield* signals;
  }

  test('follows the output of all calls', async () => {
    const signals = numbered([
      delta(1, content('a'), 'x'),
      delta(2, content('b'), 'x'),
      delta(1, content('c'), 'y'),
    ]);
    const kinds: string[] = [];
    for await (const { kind, call_id: id } of followText(stream(signals))) kinds.push(`${id} ${kind}`);
    expect(kinds).toEqual(['x content', 'x restart', 'x content', 'y content']);
  });

  test('waits for the output of one call, and reads no further', async () => {
    const signals = numbered([
      delta(1, content('a'), 'x'),
      response(1, { text: 'ab' }, 'x'),
      delta(1, content('c'), 'y'),
    ]);
    const source = stream(signals);
    expect(await textOf(source, 'x')).toMatchObject({ content: 'ab', sequence: 2 });
    expect((await source.next()).done).toBe(true);
    expect(await textOf(stream(signals), 'y')).toMatchObject({ content: 'c', response: null });
    expect(await textOf(stream(signals), 'z')).toBeNull();
  });
});
