/** What the pages of approvals, dead letters and tools decide without a browser.
 *  It must never read a clock. */
import { describe, expect, test } from 'vitest';
import type { OpenApproval } from '../../src/contract/run/approval-listing.ts';
import type { DeadLetter } from '../../src/contract/directive/dead-letter.ts';
import { decidedWords, inOrder, noEditReason, shownArguments } from '../pages/approvals/inbox.ts';
import { sinceOf, stripOf } from '../pages/dead-letters/hours.ts';
import { filterOf, groupText, lettersPath } from '../pages/dead-letters/letters-query.ts';
import { planOf } from '../pages/dead-letters/redrive-plan.ts';
import { callState } from '../pages/tools/call-state.ts';
import { readObject } from '../data/typed-json.ts';
import { problem } from '../../src/contract/problem.ts';

function item(over: Partial<OpenApproval>): OpenApproval {
  return {
    kind: 'approval',
    request_id: 'r',
    call_id: 'c',
    input_id: null,
    tool: 'mail.send',
    agent: 'clerk',
    arguments: '{"to":"a"}',
    arguments_cut: false,
    message: null,
    said: '',
    since: null,
    deadline_at: '2026-01-01T00:10:00.000Z',
    ...over,
  };
}

describe('the inbox', () => {
  test('has the oldest deadline first, and each item once', () => {
    const late = item({ call_id: 'late', deadline_at: '2026-01-01T00:20:00.000Z' });
    const page = { approvals: [late, item({}), item({})], omitted: 0, next: null, lag_ms: 0 };
    expect(inOrder([page, page]).map(({ call_id }) => call_id)).toEqual(['c', 'late']);
  });

  test('says who decided first, as far as it is known', () => {
    const decided = { decision: 'approve', by: 'Ana', decided_at: '2026-01-01T00:00:00.000Z' };
    const now = Date.parse('2026-01-01T00:00:04.000Z');
    expect(decidedWords(problem('already_decided', { decided }), now)).toBe('Approved 4.0 s ago by Ana');
    expect(decidedWords(problem('already_decided', { detail: 'it is' }), now)).toBe('it is');
    expect(decidedWords(problem('request_closed'), now)).toBeNull();
  });

  test('lets nobody edit what is not shown whole', () => {
    expect(noEditReason(item({}))).toBeNull();
    expect(noEditReason(item({ arguments_cut: true }))).toMatch('too long');
    expect(noEditReason(item({ arguments: '{"token":"[REDACTED]"}' }))).toMatch('secrets');
    expect(noEditReason(item({ kind: 'budget' }))).not.toBeNull();
    const form = { codec: 'A256GCM', key_id: 'k1', data: 'abc' };
    for (const encrypted of [form, { key_id: 'k1' }]) {
      const closed = item({ arguments: JSON.stringify({ $encrypted: encrypted }) });
      expect([shownArguments(closed), noEditReason(closed)]).toEqual([
        'encrypted with the key "k1"',
        expect.stringContaining('--encrypt'),
      ]);
    }
    for (const disguised of [
      { $encrypted: form, path: '/' },
      { $encrypted: { ...form, data: 'rm -rf' } },
      { $encrypted: { key_id: 'k1', data: 'abc' } },
      { $encrypted: { key_id: 'k1', more: 1 } },
      { $encrypted: { key_id: '"; all is well' } },
    ])
      expect(shownArguments(item({ arguments: JSON.stringify(disguised) }))).toContain('$encrypted');
    expect(readObject('[1]')).toHaveProperty('fault');
    expect(readObject('{"a": 1}')).toEqual({ value: { a: 1 } });
  });
});

function letter(over: Partial<DeadLetter>): DeadLetter {
  return {
    request_id: 'r',
    id: 'd',
    type: 'tool_exec',
    lane: 'tool.mail',
    name: 'mail.send',
    error: { type: 'tool_error', message: '', details: {}, retryable: false },
    attempts: 1,
    ended_at: '2026-01-01T00:00:00.000Z',
    ...over,
  };
}

describe('dead letters', () => {
  test('are redriven by a plan that counts what may happen twice', () => {
    const unknown = { type: 'outcome_unknown', message: '', details: {}, retryable: false };
    const letters = [
      letter({}),
      letter({ id: 'e', error: unknown }),
      letter({ id: 'f', name: 'mail.search' }),
      letter({ id: 'g', name: 'gone.tool' }),
      letter({ id: 'h', type: 'llm_generate', name: 'fast' }),
    ];
    const plan = planOf(
      letters,
      new Map([
        ['mail.send', 'once'],
        ['mail.search', 'read'],
      ]),
    );
    expect(plan).toMatchObject({ count: 5, requests: 1, repeats: 3, uncertain: 1 });
    expect(plan.targets.map(({ name, effect }) => [name, effect])).toEqual([
      ['mail.send', 'once'],
      ['mail.search', 'read'],
      ['gone.tool', null],
      ['fast', 'model'],
    ]);
  });

  test('are asked for by group and time', () => {
    const group = { lane: 'tool.a', error_type: 'odd/type&' };
    const since = sinceOf('24', Date.parse('2026-01-02T00:00:30.000Z'));
    expect(since).toBe('2026-01-01T00:00:00.000Z');
    expect(lettersPath(filterOf(groupText(group), since), 5_000, '')).toBe(
      '/v1/dead-letters?limit=1000&lane=tool.a&error_type=odd%2Ftype%26&since=2026-01-01T00%3A00%3A00.000Z',
    );
    expect(lettersPath(filterOf('', sinceOf('x', 0)), 50, 'oldest')).toBe(
      '/v1/dead-letters?limit=50&order=oldest',
    );
  });

  test('are drawn by hour', () => {
    const hours = [
      { from: '2026-01-02T10:00:00.000Z', count: 2 },
      { from: '2026-01-01T00:00:00.000Z', count: 7 },
    ];
    const strip = stripOf({ hours, count: 9 }, Date.parse('2026-01-02T11:30:00.000Z'));
    expect([strip.hours.length, strip.hours[22], strip.older]).toEqual([24, 2, 7]);
  });
});

test('a call is what its own signals tell', () => {
  const at = (type: string, data: object) => ({ type, time: '2026-01-01T00:00:00.000Z', data });
  const signals = [
    at('directive.waiting', { call_id: 'call', message: 'no worker' }),
    at('ai.tool.started', { call_id: 'call' }),
    at('ai.tool.progress', { call_id: 'call', progress: 1, total: 4, message: 'one' }),
  ];
  expect(callState(signals, 'call')).toMatchObject({
    status: 'running',
    message: 'one',
    progress: { done: 1, total: 4 },
  });
  const ended = at('ai.tool.result', {
    call_id: 'call',
    result: { ok: false, error: { type: 'cancelled', message: 'm', details: {} } },
  });
  expect(callState([...signals, ended], 'call')).toMatchObject({ status: 'cancelled', progress: null });
  expect(callState([ended], 'other')).toMatchObject({ status: 'queued', error: null });
});
