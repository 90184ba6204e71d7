/** The verdict of the demo: it finds the faults that it promises to find.
 *  It must not run the demo. */
import { expect, test } from 'vitest';
import type { DemoCase } from '../../../scripts/demo/cases.ts';
import { judge } from '../../../scripts/demo/verdict.ts';
import type { Signal } from '../../../src/contract/signal/signal.ts';

const twoCalls: DemoCase = {
  title: 'Two calls',
  directives: [
    { type: 'tool_exec', id: 'a', tool_name: 'everything.echo' },
    { type: 'tool_exec', id: 'b', tool_name: 'everything.echo' },
  ],
  expected: { ending: 'ok', attempts: 1 },
};

const envelope = {
  specversion: '1.0',
  source: '/ai/tool',
  subject: 'r',
  time: '2026-11-20T12:00:00.000Z',
  datacontenttype: 'application/json',
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  causationid: 'a',
} as const;

function resultOf(
  callId: string,
  sequence: number,
  overrides: Partial<{ attempt: number; ok: boolean }> = {},
): Signal {
  const { attempt = 1, ok = true } = overrides;
  const error = { type: 'timeout', message: 'Too late', details: {}, retryable: true };
  const result = ok ? { ok, payload: null, effects: [] } : { ok, error, effects: [] };
  const data = { call_id: callId, tool_name: 'everything.echo', result, metadata: {} };
  return { ...envelope, type: 'ai.tool.result', id: `s${sequence}`, sequence, attempt, data };
}

test('every directive ended once, as expected: no fault', () => {
  const verdict = judge(twoCalls, [resultOf('a', 1), resultOf('b', 2)]);
  expect(verdict).toEqual({ endings: '2 × ok', attempts: 1, faults: [] });
});

test.each([
  ['a directive without an end', [resultOf('a', 1)], '1 did not end'],
  ['a second end', [resultOf('a', 1), resultOf('b', 2), resultOf('b', 3)], '1 ended more than once'],
  ['another end', [resultOf('a', 1), resultOf('b', 2, { ok: false })], '1 ended in timeout instead of ok'],
  ['an attempt too many', [resultOf('a', 1), resultOf('b', 2, { attempt: 2 })], '2 attempts instead of 1'],
  ['a gap in the sequence', [resultOf('a', 1), resultOf('b', 3)], 'the sequence has gaps or repeats'],
])('%s is a fault', (_, signals, fault) => {
  expect(judge(twoCalls, signals).faults).toEqual([fault]);
});
