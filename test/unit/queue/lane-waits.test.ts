/** Why the directives of a lane wait, decided from what is known of it.
 *  It must never need Redis. */
import { expect, test } from 'vitest';
import type { PresentWorker } from '../../../src/store/catalog/workers.ts';
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
  silentMs: 0,
  drain: false,
  ...more,
});

const NO_LOAD = { waiting: 0, active: 0, globalConcurrency: null };

const QUIET: LaneFacts = {
  workers: [worker()],
  heldBack: null,
  load: NO_LOAD,
};

const why = (facts: Partial<LaneFacts>) => laneWait('tool.a', { ...QUIET, ...facts }, NOW);

test('a lane with a worker and room does not wait', () => {
  expect(why({})).toBeNull();
  expect(why({ load: { ...NO_LOAD, waiting: 3 } })).toBeNull();
  expect(why({ workers: [worker({ lanes: null })] })).toBeNull();
});

test.each([
  ['without any process', []],
  ['whose workers serve other lanes', [worker({ lanes: [] })]],
  ['whose worker is in a state of a later version', [worker({ state: 'resting' })]],
])('a lane %s has no worker', (_name, workers) => {
  expect(why({ workers, load: { ...NO_LOAD, waiting: 3, active: 1 } })).toEqual({
    reason: 'no_worker',
    untilAt: null,
  });
});

test('a lane whose workers are drained has no worker, and that is why', () => {
  const drained = worker({ state: 'draining' });
  const reason = { reason: 'no_worker', untilAt: null };
  expect(why({ workers: [drained] })).toEqual({ ...reason, detail: 'the one that could is drained' });
  const others = worker({ state: 'draining', lanes: [] });
  expect(why({ workers: [drained, drained, others] })).toEqual({
    ...reason,
    detail: 'all 2 that could are drained',
  });
});

test('a remote type with work and without a program waits for one, before anything else but a worker', () => {
  const load = { waiting: 3, active: 2, globalConcurrency: 2 };
  const absent = { isServed: false, askedAt: NOW, waiting: 1 };
  expect(why({ load, programs: absent })).toMatchObject({
    reason: 'no_program',
    detail: `the last one asked for work at ${new Date(NOW).toISOString()}`,
  });
  expect(why({ workers: [], programs: absent })).toMatchObject({ reason: 'no_worker' });
  for (const programs of [null, { ...absent, isServed: true }, { ...absent, waiting: 0 }])
    expect(why({ load, programs })).toMatchObject({ reason: 'concurrency' });
});

test('a server that is left alone is tried again at a known instant, and after it at any moment', () => {
  const blocked = (untilAt: number) => why({ blocked: { untilAt } });
  expect(blocked(NOW + 1)).toEqual({ reason: 'server_down', untilAt: NOW + 1 });
  expect(blocked(NOW - 1)).toEqual({ reason: 'server_down', untilAt: null });
  expect(blocked(NOW - 60_000)).toBeNull();
});

test('of a server that is down it is known why, how often it was tried and for how long', () => {
  const down = { sinceAt: NOW - 150_000, tries: 12 };
  expect(why({ blocked: { untilAt: NOW + 1, cause: 'exited with code 1', down } })?.detail).toBe(
    'exited with code 1 (tried 12 times in 2 min)',
  );
});

test('a pause that a server asked for and a rate that is used up are told apart', () => {
  const paused = { heldBack: { forMs: 700, byRate: false } };
  expect(why(paused)).toEqual({ reason: 'rate_limited', untilAt: NOW + 700 });
  const rate = { max: 2, per_ms: 20_000 };
  expect(why({ heldBack: { forMs: 700, byRate: true, rate } })).toEqual({
    reason: 'limit_reached',
    untilAt: null,
    detail: 'its rate, 2 per 20 s',
  });
});

test('what waits behind others waits for a place', () => {
  expect(why({ load: { ...NO_LOAD, waiting: 1, active: 2 } })).toEqual({
    reason: 'concurrency',
    untilAt: null,
  });
});

test('no limit is named where there is room, or where nobody was heard since the jobs were taken', () => {
  const load = { ...NO_LOAD, waiting: 1, active: 1 };
  const full = { reason: 'concurrency', untilAt: null };
  expect(why({ load })).toBeNull();
  expect(why({ load: { ...load, globalConcurrency: 1 } })).toEqual(full);
  const dead = worker({ silentMs: 9_000 });
  expect(why({ workers: [dead], load: { ...load, active: 2, globalConcurrency: 1 } })).toBeNull();
  expect(why({ workers: [dead, worker()], load: { ...load, active: 2 } })).toEqual(full);
  expect(why({ workers: [worker({ lanes: null })], load })).toEqual(full);
});
