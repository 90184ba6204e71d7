/** Which signals share a line, and that none is lost or held back for long. */
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { createSignalLines } from '../../../../src/cli/following/signal-lines.ts';
import type { Signal } from '../../../../src/contract/signal/signal.ts';

const plain = (_style: string, text: string): string => text;

let sequence = 0;

function signal(type: string, data: object, attempt = 1): Signal {
  sequence += 1;
  return {
    type,
    data,
    attempt,
    sequence,
    subject: 'r',
    time: '2026-01-02T03:04:05.678Z',
  } as unknown as Signal;
}

function delta(text: unknown, { kind = 'content', id = 'c', attempt = 1 } = {}): Signal {
  return signal('ai.llm.delta', { call_id: id, chunk_type: kind, delta: text }, attempt);
}

/** The lines without their time and type. */
function linesOf(signals: readonly Signal[]): string[] {
  const printed: string[] = [];
  const lines = createSignalLines((line) => void printed.push(line), plain);
  for (const each of signals) lines.add(each);
  lines.end();
  return printed.map((line) => line.replace(/ 03:04:05\.678 \S+ +/, ' ').trim());
}

beforeEach(() => {
  sequence = 0;
});

describe('deltas', () => {
  test('that follow one another share a line, with their sequences', () => {
    expect(linesOf([delta('a b'), delta(' c'), delta('d')])).toEqual(['1–3 c a b cd']);
  });

  test.each([
    ['another call', [delta('a'), delta('b', { id: 'd' })], ['1 c a', '2 d b']],
    ['another attempt', [delta('a'), delta('b', { attempt: 2 })], ['1 c a', '2 c b']],
    ['another kind', [delta('a'), delta('b', { kind: 'thinking' })], ['1 c a', '2 c thinking b']],
    [
      'another signal',
      [delta('a'), signal('ai.request.started', { query: 'why?' }), delta('b')],
      ['1 c a', '2 r why?', '3 c b'],
    ],
  ])('of %s do not', (_, signals, lines) => {
    const renumbered = signals.map((each, index) => ({ ...each, sequence: index + 1 }));
    expect(linesOf(renumbered)).toEqual(lines);
  });

  test('of a tool call are joined by its arguments, those of another are not', () => {
    const call = (index: number, text: string) =>
      delta({ index, id: 'i', name: `t${index}`, arguments: text }, { kind: 'tool_call' });
    expect(linesOf([call(0, '{"a"'), call(0, ':1}'), call(1, '{}')])).toEqual([
      '1–2 c tool_call t0 {"a":1}',
      '3 c tool_call t1 {}',
    ]);
  });

  test('that fill a line are printed at once', () => {
    const printed: string[] = [];
    const lines = createSignalLines((line) => void printed.push(line), plain);
    lines.add(delta('x'.repeat(99)));
    expect(printed).toHaveLength(0);
    lines.add(delta('y'));
    expect(printed).toHaveLength(1);
  });

  test('are not held back for long', () => {
    vi.useFakeTimers();
    try {
      const printed: string[] = [];
      const lines = createSignalLines((line) => void printed.push(line), plain);
      lines.add(delta('a'));
      vi.advanceTimersByTime(200);
      lines.add(delta('b'));
      expect(printed).toHaveLength(0);
      vi.advanceTimersByTime(100);
      expect(printed).toHaveLength(1);
    } finally {
      vi.useRealTimers();
    }
  });
});

test('a result after a redelivery says so, an ordinary one does not', () => {
  const result = { ok: true, payload: 'done', effects: [] };
  const ended = (metadata: object): Signal => signal('ai.tool.result', { call_id: 'c', result, metadata });
  expect(linesOf([ended({ attempts: 2, redeliveries: 1 }), ended({ attempts: 2 })])).toEqual([
    '1 c (redelivered 1×) done',
    '2 c done',
  ]);
});
