/** What a directive waits for, in words.
 *  It must never need Redis. */
import { expect, test } from 'vitest';
import type { GateWait, Ticket, TicketLimit } from '../../../../src/contract/directive/flow.ts';
import { gateWait, limitText } from '../../../../src/queue/flow/gate-wait.ts';

const limits: TicketLimit[] = [
  { name: 'own', label: 'account', concurrency: 2 },
  { name: 'rule', label: 'rule all', concurrency: 3, shared: true },
  { name: 'rate', label: 'mail', rate: { max: 10, per_ms: 60_000 } },
];
const ticket: Ticket = { turn: 'acme', weight: 1, priority: 4, limits };

const words = (wait: GateWait, tenant = 'acme') => gateWait(ticket, wait, tenant)?.detail;
const full = (name: string, before = 0): GateWait => ({
  kind: 'limit',
  name,
  running: 2,
  limit: 2,
  before,
});

test.each([
  [{ kind: 'turn', before: 12 }, 'its turn, 12 before it in its line'],
  [{ kind: 'turn', before: 0 }, 'its turn'],
  [full('own'), 'account, 2 of 2 are running'],
  [full('own', 3), 'account, 2 of 2 are running, 3 before it in its line'],
  [{ kind: 'rate', name: 'rate', untilAt: 1, before: 0 }, 'mail, 10 in 60 s: starts are spaced'],
  [{ kind: 'passed' }, undefined],
  [{ kind: 'none' }, undefined],
] satisfies [GateWait, string | undefined][])('%j: %s', (wait, text) => {
  expect(words(wait)).toBe(text);
});

test('how much others run under a shared limit is for the operators only', () => {
  expect(words(full('rule'))).toBe('rule all, as many run as may');
  expect(words(full('rule'), 'default')).toBe('rule all, 2 of 2 are running');
});

test('what limits allow', () => {
  expect(limits.map(limitText)).toEqual(['account, 2 at once', 'rule all, 3 at once', 'mail, 10 in 60 s']);
});
