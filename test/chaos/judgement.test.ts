/** What a busy machine excuses, and what nothing excuses: false violations cost the trust in the true ones.
 *  It must not measure this machine. */
import { describe, expect, test } from 'vitest';
import { judgementOf, mayHaveExpired, notInTime } from './judgement.ts';
import { createPace, LOOK_MS, type ProcessorShare } from './pace.ts';
import { sentences, undisturbed } from './run-world.ts';

const WRONG = 'two ends';
const LATE = notInTime('the request is open');

test('a busy machine excuses what depends on time, and nothing else', () => {
  expect(judgementOf([WRONG, LATE], true)).toEqual({ violations: [WRONG], unjudged: [LATE] });
  expect(judgementOf([WRONG, LATE], false)).toEqual({ violations: [WRONG, LATE], unjudged: [] });
});

test('a run that passed its deadline on a busy machine is no violation, and its second end is one', () => {
  const world = undisturbed();
  world.run = { ...world.run, status: 'timeout', termination_reason: 'deadline_exceeded' };
  const late = sentences(world).filter((each) => each.includes('ended as timeout'));
  expect(late).toHaveLength(1);
  expect(judgementOf(late, true).violations).toEqual([]);
  const end = world.signals.findLast(({ type }) => type === 'ai.request.completed');
  if (end !== undefined) world.signals.push({ ...end, sequence: end.sequence + 1, id: 'another' });
  expect(judgementOf(sentences(world), true).violations).toContain('2 ends of the run');
});

describe('evidence', () => {
  const RETENTION_MS = 50_000;
  const view = { sequence: 3 };
  const whole = [1, 2, 3];

  test.each([
    ['of which signals are missing, read late', { view, signals: [], readAfterMs: 49_000 }, true],
    ['that is gone, read late', { view: null, signals: [], readAfterMs: 49_000 }, true],
    ['that is whole, read late', { view, signals: whole, readAfterMs: 90_000 }, false],
    ['of which signals are missing, read soon', { view, signals: [1], readAfterMs: 18_000 }, false],
    ['that is gone, read soon', { view: null, signals: [], readAfterMs: 18_000 }, false],
  ])('%s', (_name, reading, expired) => {
    expect(mayHaveExpired(reading, RETENTION_MS)).toBe(expired);
  });
});

describe('the pace', () => {
  const share = (ranMs: number, waitedMs: number): ReadonlyMap<number, ProcessorShare> =>
    new Map([[1, { ranMs, waitedMs }]]);

  test('is enough while the processes run most of the time that they want to, whatever they waited before', () => {
    const pace = createPace(0);
    pace.look(LOOK_MS, share(10_000, 20_000));
    pace.look(2 * LOOK_MS, share(20_000, 40_000));
    expect(pace.tooBusy(2 * LOOK_MS)).toBeNull();
  });

  test('is too slow where they wait nine times as long, and for some minutes after that', () => {
    const pace = createPace(0);
    pace.look(LOOK_MS, share(10_000, 0));
    pace.look(2 * LOOK_MS, share(11_000, 9_000));
    pace.look(3 * LOOK_MS, share(21_000, 9_000));
    expect(pace.tooBusy(3 * LOOK_MS)).toContain('waited 9.0 times as long');
    expect(pace.tooBusy(30 * LOOK_MS)).toBeNull();
  });

  test('of a process that has just started counts from its start, and one that idles says nothing', () => {
    const pace = createPace(0);
    pace.look(LOOK_MS, share(1, 200));
    expect(pace.tooBusy(LOOK_MS)).toBeNull();
    pace.look(2 * LOOK_MS, new Map([[2, { ranMs: 100, waitedMs: 1_000 }]]));
    expect(pace.tooBusy(2 * LOOK_MS)).toContain('waited 10.0 times as long');
  });

  test('is too slow where the judge itself stood still', () => {
    const pace = createPace(0);
    pace.look(LOOK_MS + 20_000, share(10_000, 0));
    expect(pace.tooBusy(LOOK_MS + 20_000)).toContain('stood still for 20000 ms');
  });
});
