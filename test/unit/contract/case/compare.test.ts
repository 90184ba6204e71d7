/** The comparison of two recorded requests: which turns belong together, and where they part first. */
import { expect, test } from 'vitest';
import type { CaseTurn, RecordedCase } from '../../../../src/contract/case/case.ts';
import { compareCases, firstDifference } from '../../../../src/contract/case/compare.ts';

type Called = readonly [tool: string, args?: Record<string, unknown>, payload?: unknown];

function turn(text: string, ...called: readonly Called[]): CaseTurn {
  const common = { id: crypto.randomUUID(), duration_ms: 5 };
  return {
    model: {
      kind: 'model',
      ...common,
      model: 'a:b',
      system_prompt: null,
      messages: [],
      tools: [],
      answer: { ok: true, payload: { text, tool_calls: [] }, effects: [] },
      usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
    },
    calls: called.map(([tool, args = {}, payload = null]) => ({
      kind: 'call',
      ...common,
      tool,
      arguments: args,
      answer: { ok: true, payload, effects: [] },
    })),
  };
}

function recorded(...turns: CaseTurn[]): RecordedCase {
  return {
    head: { kind: 'case', format: 1, request_id: 'r', agent: null, query: null, end: null },
    tools: [],
    turns,
  };
}

test('calls of one turn are compared as a set, ids are not compared', () => {
  const a = recorded(turn('x', ['s.a', { n: 1 }], ['s.a', { n: 2 }], ['s.b']));
  const b = recorded(turn('x', ['s.b'], ['s.a', { n: 2 }], ['s.a', { n: 1 }]));
  expect(compareCases(a, b)).toMatchObject({ parted: null, same_calls: true });
});

test('a turn that was inserted is found, and the turns after it belong together', () => {
  const a = recorded(turn('x', ['s.a']), turn('y', ['s.b']), turn('z'));
  const b = recorded(turn('x', ['s.a']), turn('w', ['s.c']), turn('y', ['s.b']), turn('z'));
  const comparison = compareCases(a, b);
  expect(comparison.turns.map((each) => [each.a, each.b])).toEqual([
    [1, 1],
    [null, 2],
    [2, 3],
    [3, 4],
  ]);
  expect(comparison).toMatchObject({ same_calls: false, parted: { place: 'turn 2' } });
});

test('a changed turn is one turn with two sides', () => {
  const comparison = compareCases(recorded(turn('x', ['s.a'])), recorded(turn('x', ['s.b'])));
  expect(comparison.turns).toMatchObject([{ a: 1, b: 1, calls: [{ kind: 'only_a' }, { kind: 'only_b' }] }]);
  expect(comparison.parted).toMatchObject({ place: 'turn 1, call s.a' });
});

test('the same call with another result is not another call', () => {
  const comparison = compareCases(
    recorded(turn('x', ['s.a', {}, { n: 1 }])),
    recorded(turn('x', ['s.a', {}, { n: 2 }])),
  );
  expect(comparison).toMatchObject({
    same_calls: true,
    parted: { place: 'turn 1, call s.a, result.payload.n', a: 1, b: 2 },
  });
});

/** A fork of the request `r` at a turn. */
function forkedAt(at: number, ...turns: CaseTurn[]): RecordedCase {
  const { head, ...rest } = recorded(...turns);
  const origin = { request_id: 'r', kind: 'fork' as const, turn: at };
  return { head: { ...head, request_id: `fork-${at}`, origin }, ...rest };
}

// Issue 35, A6: turns aligned, where they part.
test('a fork is compared from the turn that it was forked at, whatever the two have called', () => {
  const original = recorded(turn('x', ['s.a']), turn('y', ['s.a']), turn('z', ['s.b']), turn('end'));
  const fork = forkedAt(2, turn('y', ['s.b']), turn('end'));
  const comparison = compareCases(original, fork);
  expect(comparison.turns.map(({ a, b, taken_over }) => [a, b, taken_over === true])).toEqual([
    [1, null, true],
    [2, 1, false],
    [3, null, false],
    [4, 2, false],
  ]);
  expect(comparison.parted?.place).toBe('turn 2, call s.a');
  expect(compareCases(fork, original).turns.map(({ a, b }) => [b, a])).toEqual(
    comparison.turns.map(({ a, b }) => [a, b]),
  );
});

test('a fork that went as its original does not part; two forks are compared in the turns of their original', () => {
  const original = recorded(turn('x', ['s.a']), turn('y', ['s.b']), turn('z'));
  expect(compareCases(original, forkedAt(2, turn('y', ['s.b']), turn('z')))).toMatchObject({
    parted: null,
    same_calls: true,
  });
  const [early, late] = [forkedAt(2, turn('y', ['s.b']), turn('z')), forkedAt(3, turn('z'))];
  expect(compareCases(early, late)).toMatchObject({
    parted: null,
    turns: [
      { a: 1, b: null },
      { a: 2, b: 1 },
    ],
  });
  expect(compareCases(forkedAt(9, turn('x')), forkedAt(1)).turns).toMatchObject([{ a: 1, b: null }]);
});

test('2,000 turns of each are compared', () => {
  const turns = Array.from({ length: 2_000 }, (_, at) => turn(`t${at}`, ['s.a', { at }]));
  const comparison = compareCases(recorded(...turns), recorded(...turns.slice(0, -1)));
  expect(comparison.turns).toHaveLength(2_000);
  expect(comparison.parted).toMatchObject({ place: 'turn 2000' });
});

test.each([
  [{ a: [1, { b: 2 }] }, { a: [1, { b: 3 }] }, { place: 'a[1].b', a: 2, b: 3 }],
  [{ a: 1 }, {}, { place: 'a', a: 1 }],
  [[], {}, { place: '', a: [], b: {} }],
  [{ constructor: 1 }, {}, { place: 'constructor', a: 1 }],
  [[1], [1, 2], { place: '[1]', b: 2 }],
])('%j and %j differ first at its place', (a, b, difference) => {
  expect(firstDifference(a, b, '')).toEqual(difference);
});
