/** The filter of the list of requests as text.
 *  It must not know the API: only its parameters. */
import { expect, test } from 'vitest';
import { has, readFilter, toggled } from '../pages/requests/filter-text.ts';

const NOW = new Date(2026, 10, 22, 14, 30);

test('words and members become parameters', () => {
  const { query, faults } = readFilter(
    'status:failed tool:mail.send tag:"a b" error:timeout october ledger',
    NOW,
  );
  expect(faults).toEqual([]);
  expect(query).toEqual({
    status: 'failed',
    tool: 'mail.send',
    tag: 'a b',
    error_type: 'timeout',
    q: 'october ledger',
  });
});

test('times are durations, words of the local day, clock times or instants', () => {
  const since = (text: string): string | undefined => readFilter(`since:${text}`, NOW).query['since'];
  expect(since('2h')).toBe(new Date(2026, 10, 22, 12, 30).toISOString());
  expect(since('noon')).toBe(new Date(2026, 10, 22, 12).toISOString());
  expect(since('18:00')).toBe(new Date(2026, 10, 21, 18).toISOString());
  expect(since('yesterday')).toBe(new Date(2026, 10, 21).toISOString());
  expect(since('2026-11-22T10:00:00Z')).toBe('2026-11-22T10:00:00.000Z');
});

test.each([
  'status:done',
  'since:soon',
  'colour:red',
  '__proto__:x',
  'constructor:x',
  'status:open status:failed',
  'tag:""',
])('%s is refused in a sentence', (text) => {
  expect(readFilter(text, NOW).faults).toHaveLength(1);
});

test('a chip writes its part of the text, and takes it out again', () => {
  const on = toggled('ledger status:open', 'status', 'failed');
  expect(on).toBe('ledger status:failed');
  expect(has(on, 'status', 'failed')).toBe(true);
  expect(toggled(on, 'status', 'failed')).toBe('ledger');
  const quoted = toggled('', 'error', 'not "found" here');
  expect(readFilter(quoted, NOW).query).toEqual({ error_type: 'not found here' });
});
