/** Hostile text as the console shows it, and the order of signals.
 *  It must not need a browser. */
import { expect, test } from 'vitest';
import { denseTaker } from '../data/dense.ts';
import { safePieces, safeText } from '../data/safe-text.ts';
import { clockText, durationText, moneyText, preciseClockText, shortId, showInZone } from '../data/shown.ts';
import type { Signal } from '../../src/contract/signal/signal.ts';

test.each([
  ['\u001b[31mred', '[U+001B][31mred'],
  ['pay\u202egpj.exe', 'pay[U+202E]gpj.exe'],
  ['zero\u200bwidth\ufeff', 'zero[U+200B]width[U+FEFF]'],
  ['half \ud800', 'half [U+D800]'],
  ['tag \u{e0041}', 'tag [U+E0041]'],
  ['many \u200b\u200b\u200b\u200c', 'many [U+200B ×3][U+200C]'],
  ['tags \u{e0041}\u{e0041}', 'tags [U+E0041 ×2]'],
  ['hidden\ufe01\u{e0100}', 'hidden[U+FE01][U+E0100]'],
  ['a\ufe0f 1\ufe0f', 'a[U+FE0F] 1[U+FE0F]'],
  ['❤\ufe0f 1\ufe0f\u20e3 ❤\ufe0f\ufe0f', '❤\ufe0f 1\ufe0f\u20e3 ❤\ufe0f[U+FE0F]'],
  ['<b>tab\tand\nline</b> 日本 👩\u200d👩', '<b>tab\tand\nline</b> 日本 👩[U+200D]👩'],
])('%j is shown as %j', (text, shown) => {
  expect(safeText(text)).toBe(shown);
  expect(
    safePieces(text)
      .map(({ text: piece, isToken }) => (isToken ? `[${piece}]` : piece))
      .join(''),
  ).toBe(shown);
});

test('many characters that cannot be seen are few pieces, and none of them is hidden', () => {
  expect(safePieces('\u200b'.repeat(30_000))).toEqual([{ text: 'U+200B ×30000', isToken: true }]);
  const pieces = safePieces('\u200b\u200c'.repeat(15_000));
  expect(pieces).toHaveLength(2_001);
  expect(pieces.at(-1)?.text).toBe('[U+200B][U+200C]'.repeat(14_000));
});

test('signals come in order, each once, and a gap is noticed', () => {
  const handed: number[] = [];
  const take = denseTaker(2, (fresh) => handed.push(...fresh.map(({ sequence }) => sequence)));
  const signals = (...sequences: number[]): Signal[] => sequences.map((sequence) => ({ sequence }) as Signal);
  take(signals(1, 2, 3, 4));
  take(signals(4));
  take(signals(4, 5));
  expect(handed).toEqual([3, 4, 5]);
  expect(() => take(signals(7))).toThrow('gap before 7');
  expect(take.last()).toBe(5);
  take(signals(6, 7));
  expect(handed).toEqual([3, 4, 5, 6, 7]);
});

test('numbers keep what counts', () => {
  expect([0.4, 999, 1_250, 72_000, 5_400_000, 100_000_000].map(durationText)).toEqual([
    '0 ms',
    '999 ms',
    '1.2 s',
    '1 m 12 s',
    '1 h 30 m',
    '1 d 3 h',
  ]);
  expect([0, 0.000_42, 0.0412, 12.345].map(moneyText)).toEqual(['$0', '$0.000420', '$0.0412', '$12.35']);
  expect(shortId('01a2055f-f361-7286-978c-2f896594181e')).toBe('01a2055f-…6594181e');
  expect(clockText('no instant')).toBe('no instant');
});

// Issue 35, point 14: one choice of the zone holds for every time that the pages show.
test('times are in UTC where that is chosen, those of signals too', () => {
  const instant = '2026-11-28T00:09:00.011Z';
  showInZone('utc');
  expect(clockText(instant, Date.parse(instant))).toBe('00:09:00Z');
  expect(preciseClockText(instant)).toBe('00:09:00.011Z');
  showInZone('');
  expect(preciseClockText(instant)).not.toContain('Z');
});
