/** What a redrive would do, in words: by what happened to each letter.
 *  It must never need a browser. */
import { expect, test } from 'vitest';
import type { DeadLetter } from '../../src/contract/directive/dead-letter.ts';
import { planOf, targetWords } from '../pages/dead-letters/redrive-plan.ts';

const letter = (name: string, type: string, attempts: number, more: object = {}): DeadLetter => ({
  request_id: 'r',
  id: `${name}-${type}-${attempts}`,
  type: 'tool_exec',
  lane: 'tool.mail',
  name,
  error: { type, message: '', details: {}, retryable: false, ...more },
  attempts,
  ended_at: '2026-01-01T00:00:00.000Z',
});
const EFFECTS = new Map([
  ['mail.send', 'once'],
  ['mail.list', 'read'],
] as const);

test('what never reached a server is no repeat, and asks nobody to look', () => {
  const letters = [letter('mail.sendd', 'unknown_tool', 1), letter('mail.send', 'deadline_exceeded', 0)];
  const plan = planOf(letters, EFFECTS);
  expect(plan).toMatchObject({ count: 2, repeats: 0, uncertain: 0 });
  for (const target of plan.targets)
    expect(targetWords(target)).toBe('Never reached a server: a redrive is the first call.');
});

test('a call that was made, one that may have happened and one that is safe are told apart', () => {
  const unknown = { details: { outcome: 'unknown' } };
  const plan = planOf(
    [
      letter('mail.send', 'tool_error', 1),
      letter('mail.send', 'unknown_tool', 2),
      letter('mail.send', 'timeout', 0, unknown),
      letter('mail.send', 'deadline_exceeded', 0),
      letter('mail.list', 'timeout', 4),
    ],
    EFFECTS,
  );
  expect(plan).toMatchObject({ count: 5, repeats: 3, uncertain: 1 });
  expect(plan.targets.map(targetWords)).toEqual([
    'Was called, and ended in an error: redriving calls it again. 1 of them never reached a server. 1 may have happened already.',
    'Safe to repeat: it only reads.',
  ]);
});
