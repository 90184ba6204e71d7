/** Events from bytes: the same for the parser wherever the bytes are cut, and none above its limits.
 *  It must never depend on where one chunk ends. */
import { createParser } from 'eventsource-parser';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createEventCutter, type RefusedEvent } from '../../../../src/platform/bounds/event-cutter.ts';

const LIMITS = { maxEventBytes: 200, maxDepth: 8, maxValues: 50 };

function cut(chunks: readonly Buffer[], limits = LIMITS): { passed: string; refused: RefusedEvent[] } {
  const passed: Buffer[] = [];
  const refused: RefusedEvent[] = [];
  const cutter = createEventCutter({
    limits,
    onEvents: (bytes) => passed.push(Buffer.from(bytes)),
    onRefused: (event) => refused.push(event),
  });
  for (const chunk of chunks) cutter.push(chunk);
  passed.push(Buffer.from(cutter.rest()));
  return { passed: Buffer.concat(passed).toString(), refused };
}

function dataOf(text: string): string[] {
  const found: string[] = [];
  createParser({ onEvent: ({ data }) => found.push(data) }).feed(text);
  return found;
}

/** The text in chunks of the given sizes, over and over. */
function chunksOf(text: string, sizes: readonly number[]): Buffer[] {
  const bytes = Buffer.from(text);
  const chunks: Buffer[] = [];
  for (let start = 0, turn = 0; start < bytes.length; turn += 1) {
    const size = 1 + (sizes[turn % sizes.length] ?? 0);
    chunks.push(bytes.subarray(start, start + size));
    start += size;
  }
  return chunks;
}

const sizes = fc.array(fc.nat(20), { minLength: 1 });

describe('event cutter', () => {
  test('passes on every byte of events within the limits, however lines end', () => {
    const line = fc.constantFrom(
      'data: {"a":1}',
      'data',
      'id: 7',
      ': note',
      'event: x',
      '',
      '\u{feff}data:é',
    );
    const end = fc.constantFrom('\n', '\r', '\r\n');
    const text = fc.array(fc.tuple(line, end)).map((lines) => lines.flat().join(''));
    fc.assert(
      fc.property(text, sizes, (events, cuts) => {
        const { passed, refused } = cut(chunksOf(events, cuts), { ...LIMITS, maxEventBytes: 10_000 });
        expect(passed).toBe(events);
        expect(refused).toEqual([]);
      }),
    );
  });

  test('leaves out just the events that cross a limit, wherever the bytes are cut', () => {
    const bad = fc.constantFrom(
      `data: ${'x'.repeat(300)}`,
      `event: message\ndata: ${'['.repeat(9)}${']'.repeat(9)}`,
      `data: [${'0,'.repeat(60)}0]`,
      'data: [[[[[\r\ndata: [[[[]]]]\r\ndata: ]]]]]',
      Array.from({ length: 60 }, () => 'data: 1').join('\n'),
    );
    const good = fc.constantFrom(
      'data: {"ok":"[[[[[[[[[[[["}',
      'data: a\ndata: b',
      ': still here',
      'id: "\ndata: 1',
    );
    const events = fc.array(
      fc.oneof(
        fc.record({ text: good, fits: fc.constant(true) }),
        fc.record({ text: bad, fits: fc.constant(false) }),
      ),
    );
    fc.assert(
      fc.property(events, fc.constantFrom('\n\n', '\r\n\r\n'), sizes, (list, end, cuts) => {
        const textOf = (some: typeof list): string => some.map(({ text }) => text + end).join('');
        const { passed } = cut(chunksOf(textOf(list), cuts));
        expect(dataOf(passed)).toEqual(dataOf(textOf(list.filter(({ fits }) => fits))));
      }),
    );
  });

  test('names the limit at once, and the end of the event when it comes', () => {
    const { refused } = cut(chunksOf(`data: {"id":7,${'x'.repeat(900)},"end":1}\n\ndata: 1\n\n`, [49]));
    expect(refused).toHaveLength(2);
    expect(refused[0]).toMatchObject({ reason: 'is larger than 200 bytes', tail: '' });
    expect(refused[0]?.head).toMatch(/^data: \{"id":7/);
    expect(refused[1]?.tail).toMatch(/"end":1\}\n$/);
  });
});
