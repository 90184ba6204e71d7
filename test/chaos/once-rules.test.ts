/** The rules about keys and webhooks: what kept every promise passes, each broken promise is reported.
 *  It must never need the service: the test writes its input by hand. */
import { expect, test } from 'vitest';
import { execution } from './directive-world.ts';
import { type OnceEvidence, onceViolationsOf } from './once-rules.ts';
import { type Delivered, webhookViolationsOf } from './webhook-rules.ts';

const request = (acceptedAt: number, closedAt: number) => ({ acceptedAt, closedAt, succeeded: true });

function kept(kind: OnceEvidence['kind'], second: number): OnceEvidence {
  const requests = new Map([
    ['b', request(second, second + 600)],
    ['a', request(1_000, 1_600)],
  ]);
  return { kind, windowMs: 2_500, requests, lost: 0, executions: [execution(1), execution(2, { key: 'l' })] };
}

test.each<[OnceEvidence, string | null]>([
  [kept('dedupe', 3_500), null],
  [kept('dedupe', 3_400), 'dedupe: b was accepted 100 ms too early after a'],
  [kept('singleton', 1_600), null],
  [kept('singleton', 1_500), 'singleton: b was accepted 100 ms too early after a'],
  [
    { ...kept('dedupe', 3_500), executions: ['k', 'l', 'm'].map((key) => execution(1, { key })) },
    'dedupe: 3 were executed, 2 were accepted',
  ],
])('keys %#', (evidence, sentence) => {
  expect(onceViolationsOf(evidence)).toEqual(sentence === null ? [] : [sentence]);
});

const delivery = (id: string, name = 'a', status = 'succeeded'): Delivered => ({
  id,
  event: { data: { request_id: 'r', id: name, status } },
});

test.each<[readonly Delivered[], string | null]>([
  [[delivery('w'), delivery('w')], null],
  [[], 'r/a has ended, and nobody was notified'],
  [[delivery('w'), delivery('x')], 'the end of r/a was delivered under 2 ids'],
  [[delivery('w', 'a', 'failed')], 'r/a is succeeded, and its webhook says something else'],
  [[delivery('w'), delivery('x', 'b')], 'r/b was delivered, and had not asked for it'],
])('webhooks %#', (received, sentence) => {
  const found = webhookViolationsOf(new Map([['r/a', 'succeeded']]), received);
  expect(found).toEqual(sentence === null ? [] : [sentence]);
});
