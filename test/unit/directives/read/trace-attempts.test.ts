/** The attempts of a directive, from what the journal has noted of its claims.
 *  It must never need Redis. */
import { expect, test } from 'vitest';
import { type ClaimNote, claimNotes, turnNotes } from '../../../../src/store/log/history.ts';
import type { DirectiveRecord } from '../../../../src/store/request/records.ts';
import { claimsLeftOut, tracedAttempts } from '../../../../src/directives/read/trace-attempts.ts';
import { type LogFacts, noFacts, retryKey } from '../../../../src/directives/read/trace-log.ts';

const record = (more: Partial<DirectiveRecord>): DirectiveRecord => ({
  id: 'd',
  type: 'tool_exec',
  status: 'succeeded',
  digest: '',
  lane: 'tool.test',
  fence: 1,
  released: 0,
  failures: 0,
  redeliveries: 0,
  acceptedAt: 1_000,
  deadlineAt: 99_000,
  startedAt: 1_010,
  endedAt: 5_000,
  leaseUntil: null,
  claimedAt: null,
  nextAttemptAt: null,
  begin: null,
  behind: false,
  cancel: null,
  terminal: 9,
  waits: null,
  task: false,
  noticed: false,
  priority: null,
  asked: null,
  ...more,
});

/** `<number> <outcome> <reason> <due> <claimed> <ended>` of each. */
function attempts(of: DirectiveRecord, claims: readonly ClaimNote[], log: LogFacts = noFacts(), now = 4_000) {
  return tracedAttempts({ workers: new Map(), record: of, claims, log, now }).map(
    ({ attempt, outcome, reason, due_at: due, claimed_at: claimed, ended_at: ended }) =>
      [attempt, outcome, reason ?? '-', ...[due, claimed, ended].map((at) => at && Date.parse(at))].join(' '),
  );
}

const notes = (of: DirectiveRecord, fields: Record<string, string>): ClaimNote[] =>
  claimNotes(Object.fromEntries(Object.entries(fields).map(([field, value]) => [`d|${field}`, value])), of);

test('one attempt needs no note: it began with the directive and ended with it', () => {
  const one = record({});
  expect(attempts(one, notes(one, {}))).toEqual(['1 succeeded - 1000 1010 5000']);
});

test('each claim ends as it was noted, and the next one is due after its delay', () => {
  const of = record({ fence: 3 });
  const log = noFacts();
  log.retries.set(retryKey('d', 1), { error: 'timeout', model: null });
  const claims = notes(of, {
    claim1: '- 1050 1100 retry 200 1',
    claim2: '1310 - 1400 lost 0 1',
    claim3: '1410 1420',
  });
  expect(attempts(of, claims, log)).toEqual([
    '1 retry timeout 1000 1010 1100',
    '2 worker_lost worker_lost 1300 1310 1400',
    '3 succeeded - 1400 1410 5000',
  ]);
  const [first, , last] = tracedAttempts({ workers: new Map(), record: of, claims, log, now: 0 });
  expect(first?.first_output_at).toBe(new Date(1_050).toISOString());
  expect(last).toMatchObject({ redelivered: true, first_output_at: new Date(1_420).toISOString() });
});

test('claims that were no attempts take no number', () => {
  const of = record({ fence: 4, released: 2 });
  const claims = notes(of, {
    claim1: '- - 1100 rate_limited 500 0',
    claim2: '1600 - 1700 retry 0 1',
    claim3: '1700 - 1800 released 0 0',
    claim4: '1900',
  });
  expect(attempts(of, claims)).toEqual([
    '1 paused rate_limited 1000 1010 1100',
    '1 retry - 1600 1600 1700',
    '2 released - 1700 1700 1800',
    '2 succeeded - 1800 1900 5000',
  ]);
});

test('a claim that only recorded the end of the one before is no attempt', () => {
  const of = record({ fence: 2, released: 1, status: 'failed' });
  const log = noFacts();
  log.ends.set('d', { error: 'outcome_unknown', model: null });
  const claims = notes(of, { claim1: '- - 3000 lost 0 1', claim2: '3500 - 3500 unused 0 0' });
  expect(attempts(of, claims, log)).toEqual(['1 worker_lost worker_lost 1000 1010 3000']);
});

test.each([
  ['its lease is over: the worker is lost', 3_900, '1 worker_lost worker_lost 1000 1010 3900'],
  ['its lease holds: it runs', 4_100, '1 running - 1000 1010 '],
])('of an attempt without an end, %s', (_, leaseUntil, expected) => {
  const of = record({ status: 'running', endedAt: null, terminal: null, leaseUntil });
  expect(attempts(of, notes(of, {}))).toEqual([expected]);
});

test('what an older version has not noted is unknown, never lost', () => {
  const of = record({ fence: 2, status: 'waiting', endedAt: null });
  expect(attempts(of, notes(of, {}))).toEqual(['1 unknown - 1000 1010 ', '2 unknown -   ']);
});

test('what a later version may write is passed over', () => {
  const of = record({ fence: 2 });
  const claims = notes(of, { claim1: '- - 1100 moved_by_hand 0 1', claim2: 'v2:{}' });
  expect(attempts(of, claims)).toEqual(['1 moved_by_hand - 1000 1010 1100', '2 succeeded - 1100  5000']);
  expect(turnNotes({ '@run|turn1': '1 2 3', '@run|turn2': '5 6 0 2' })).toEqual([
    { version: 2, readAt: 5, writtenAt: 6, after: 0, last: 2 },
  ]);
});

test('of very many claims the first and the newest are read, and the others counted', () => {
  const of = record({ fence: 10_000 });
  const claims = notes(of, { claim9999: '2000 - 2100 retry 0 1', claim10000: '2200' });
  expect(claims.map(({ fence }) => fence)).toEqual([1, 9_999, 10_000]);
  expect(claimsLeftOut(of, claims)).toBe(9_997);
});
