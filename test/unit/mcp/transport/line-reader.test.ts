/** Lines from bytes, wherever they are cut, at any length.
 *  It must never depend on where one chunk ends. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createLineReader } from '../../../../src/mcp/transport/line-reader.ts';
import { anyCharacter } from '../../../support/any-character.ts';

function read(
  chunks: readonly Buffer[],
  maxLineBytes = 1_000,
): { lines: string[]; oversized: [string, string][]; endless: () => number } {
  const lines: string[] = [];
  const oversized: [string, string][] = [];
  let endless = 0;
  const reader = createLineReader({
    maxLineBytes,
    onLine: (line) => lines.push(line.toString()),
    onOversized: (head, tail) => oversized.push([head, tail]),
    onEndless: () => (endless += 1),
  });
  for (const chunk of chunks) reader.push(chunk);
  return { lines, oversized, endless: () => endless };
}

describe('line reader', () => {
  test('gives the same lines wherever the bytes are cut', () => {
    const texts = fc.array(
      fc.string({ unit: anyCharacter, maxLength: 40 }).map((text) => text.replaceAll('\n', ' ')),
    );
    fc.assert(
      fc.property(texts, fc.array(fc.nat(20), { minLength: 1 }), (lines, cuts) => {
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
        const chunks: Buffer[] = [];
        for (let start = 0, turn = 0; start < bytes.length; turn += 1) {
          const size = 1 + (cuts[turn % cuts.length] ?? 0);
          chunks.push(bytes.subarray(start, start + size));
          start += size;
        }
        expect(read(chunks).lines).toEqual(lines.map((line) => Buffer.from(line).toString()));
      }),
    );
  });

  test('keeps back a line that has not ended', () => {
    expect(read([Buffer.from('one\ntwo')]).lines).toEqual(['one']);
  });

  test('skips a line past the bound, reports its two ends, and goes on', () => {
    const long = `head${'x'.repeat(5_000)}tail`;
    const chunks = `a\n${long}\nb\n`.match(/[^]{1,100}/g)?.map((part) => Buffer.from(part)) ?? [];
    const { lines, oversized } = read(chunks);
    expect(lines).toEqual(['a', 'b']);
    expect(oversized).toEqual([
      [expect.stringMatching(/^head/), ''],
      [expect.stringMatching(/^head/), expect.stringMatching(/tail$/)],
    ]);
  });

  test('names a line past the bound before it has ended', () => {
    const { lines, oversized } = read([Buffer.from(`head${'x'.repeat(2_000)}`), Buffer.from('more')]);
    expect(lines).toEqual([]);
    expect(oversized).toEqual([[expect.stringMatching(/^head/), '']]);
  });

  test('reports a line that does not end', () => {
    const chunks = Array.from({ length: 6 }, () => Buffer.from('x'.repeat(1_000)));
    expect(read(chunks.slice(0, 5)).endless()).toBe(0);
    expect(read([...chunks, Buffer.from('x')]).endless()).toBeGreaterThan(0);
  });

  test('skips a long line that comes in one piece', () => {
    const { lines, oversized } = read([Buffer.from(`${'y'.repeat(2_000)}\nnext\n`)]);
    expect(lines).toEqual(['next']);
    expect(oversized).toHaveLength(2);
  });
});
