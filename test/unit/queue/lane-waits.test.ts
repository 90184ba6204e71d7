/** Why the directives of a lane wait, decided from what is known of it.
 *  It must never need Redis. */
import { expect, test } from 'vitest';
import type { PresentWorker } from '../../../src/catalog/workers.ts';
import { type LaneFacts, laneWait } from '../../../src/queue/lane-waits.ts';

const NOW = 1_800_000_000_000;

const worker = (more: Partial<PresentWorker> = {}): PresentWorker => ({
  id: 'w',
  roles: ['worker'],
  state: 'working',
  host: 'h',
  pid: 1,
  version: '1',
  started_at: NOW,
  lanes: [{ name: 'tool.a', concurrency: 2, running: 0 }],
  seenAt: NOW,
  drain: false,
  ...more,
});

const QUIET: LaneFacts = {
  workers: [worker()],
  blockedUntil: 0,
  heldBack: null,
  load: { waiting: 0, active: 0 },
};

const why = (facts: Partial<LaneFacts>) => laneWait('tool.a', { ...QUIET, ...facts }, NOW);

test('a lane with a worker and room does not wait', () => {
  expect(why({})).toBeNull();
  expect(why({ load: { waiting: 3, active: 0 } })).toBeNull();
  expect(why({ workers: [worker({ lanes: null })] })).toBeNull();
});

test.each([
  ['without any process', []],
  ['whose workers serve other lanes', [worker({ lanes: [] })]],
  ['whose worker is drained', [worker({ state: 'draining' })]],
  ['whose worker is in a state of a later version', [worker({ state: 'resting' })]],
])('a lane %s has no worker', (_name, workers) => {
  expect(why({ workers, load: { waiting: 3, active: 1 } })).toEqual({ reason: 'no_worker', untilAt: null });
});

test('a server that is left alone is tried again at a known instant, and after it at any moment', () => {
  expect(why({ blockedUntil: NOW + 1 })).toEqual({ reason: 'server_down', untilAt: NOW + 1 });
  expect(why({ blockedUntil: NOW - 1 })).toEqual({ reason: 'server_down', untilAt: null });
  expect(why({ blockedUntil: NOW - 60_000 })).toBeNull();
});

test('a pause that a server asked for and a rate that is used up are told apart', () => {
  const paused = { heldBack: { forMs: 700, byRate: false } };
  expect(why(paused)).toEqual({ reason: 'rate_limited', untilAt: NOW + 700 });
  expect(why({ heldBack: { forMs: 700, byRate: true } })).toEqual({ reason: 'limit_reached', untilAt: null });
});

test('what waits behind others waits for a place', () => {
  expect(why({ load: { waiting: 1, active: 2 } })).toEqual({ reason: 'concurrency', untilAt: null });
});
