/** The rules about schedules, budgets and what begins later: what kept every promise passes, each broken promise is reported.
 *  It must never need the service: the test writes its input by hand. */
import { describe, expect, test } from 'vitest';
import { budgetViolationsOf } from './budget-rules.ts';
import { violationsOf } from './checker.ts';
import { evidence, execution, failed, type Parts, signal, succeeded } from './directive-world.ts';
import { AT, instant } from './run-world.ts';
import { instantsOf, type Overlap, planSchedules } from './schedule-plan.ts';
import { type FiredRequest, type ScheduleEvidence, scheduleViolationsOf } from './schedule-rules.ts';
import type { WireFiring } from './wire.ts';

const START = Date.parse('2026-03-29T00:00:00Z');

/** Fired at each instant, and executed for a second. */
function kept(overlap: Overlap = 'allow'): ScheduleEvidence {
  const planned = planSchedules('s', START, START + 10_000).find((each) => each.overlap === overlap);
  if (planned === undefined) throw new Error(`none of ${overlap}`);
  const instants = instantsOf(planned, START - 1_000);
  const request = (at: number): string => `r-${at}`;
  const time = (at: number): string => new Date(at).toISOString();
  return {
    planned,
    madeAt: START - 1_000,
    status: 'ended',
    counts: { fired: instants.length, skipped: 0 },
    firings: instants.map((at) => ({
      scheduled_at: time(at),
      at: time(at + 20),
      outcome: 'fired',
      reason: null,
      request_id: request(at),
      instants: 1,
      until: null,
    })),
    requests: new Map(
      instants.map((at) => [request(at), { acceptedAt: at + 10, closedAt: at + 1_010, succeeded: true }]),
    ),
    executions: instants.map((at) => ({ ...execution(1), key: request(at) })),
  };
}

function withFirst(scene: ScheduleEvidence, more: Partial<WireFiring>): ScheduleEvidence {
  return { ...scene, firings: scene.firings.map((each, at) => (at === 0 ? { ...each, ...more } : each)) };
}

function withRequest(scene: ScheduleEvidence, nth: number, more: Partial<FiredRequest>): ScheduleEvidence {
  const requests = [...scene.requests].map(
    ([id, each], at) => [id, at === nth ? { ...each, ...more } : each] as const,
  );
  return { ...scene, requests: new Map(requests) };
}

test('an instant whose request was gone before it was seen closed was fired all the same', () => {
  const unseen = scheduleViolationsOf({ ...kept(), requests: new Map() });
  expect(unseen.filter((sentence) => !sentence.includes('never seen closed'))).toEqual([]);
});

describe('a schedule', () => {
  test.each<Overlap>(['allow', 'skip', 'queue_one', 'cancel_running'])(
    'that kept its promises passes: %s',
    (overlap) => {
      expect(scheduleViolationsOf(kept(overlap))).toEqual([]);
    },
  );

  test.each<[string, ScheduleEvidence, string]>([
    ['lost an instant', { ...kept(), firings: kept().firings.slice(1) }, 'has no outcome'],
    ['counts others', { ...kept(), counts: { fired: 1 } }, 'it counts {"fired":1} of 6 instants'],
    [
      'has two outcomes',
      { ...kept(), firings: [...kept().firings, ...kept().firings] },
      'has the outcomes fired, fired',
    ],
    [
      'has another instant',
      withFirst(kept(), { scheduled_at: new Date(START + 1).toISOString() }),
      'is none of its instants',
    ],
    ['missed one', withFirst(kept(), { outcome: 'missed', request_id: null }), 'is missed'],
    ['skipped with allow', withFirst(kept(), { outcome: 'skipped', request_id: null }), 'is skipped'],
    ['fired too early', withRequest(kept(), 0, { acceptedAt: START - 50 }), 'was accepted 50 ms too early'],
    ['did not submit', { ...kept(), requests: new Map() }, 'never seen closed'],
    [
      'fired beside an open one',
      withRequest(kept('skip'), 0, { closedAt: START + 2_500 }),
      'ms before the end of r-',
    ],
    [
      'skipped without a reason',
      withRequest(withFirst(kept('skip'), { outcome: 'skipped' }), 0, {
        acceptedAt: START - 40,
        closedAt: START - 30,
      }),
      'and nothing was open',
    ],
    [
      'was executed and not fired',
      { ...kept(), executions: [...kept().executions, execution(1)] },
      '7 instants were executed',
    ],
    ['was never executed', { ...kept(), executions: [] }, '6 instants succeeded, 0 were executed'],
    ['has not ended', { ...kept(), status: 'active' }, 'its status is active'],
  ])('that %s is reported', (_what, scene, sentence) => {
    expect(scheduleViolationsOf(scene).join('\n')).toContain(sentence);
  });
});

describe('what begins later', () => {
  const wait = { delayMs: 100, startByMs: 1_000 };
  const begun: Parts = { planned: { wait }, signals: [signal(1, 'ai.tool.started'), succeeded()] };
  const expired: Parts = {
    planned: { wait },
    signals: [{ ...failed('expired', 1), time: instant(11) }],
    executions: [],
    view: { status: 'failed', attempts: 0 },
  };

  test('passes when it began in time, or not at all', () => {
    expect(violationsOf(evidence(begun))).toEqual([]);
    expect(violationsOf(evidence(expired)).filter((each) => /begin|expired|began/.test(each))).toEqual([]);
  });

  test.each<[string, Parts, string]>([
    [
      'before its instant',
      { ...begun, executions: [execution(1, { at: AT + 50 })] },
      'ms before it might begin',
    ],
    [
      'after it had to',
      { ...begun, signals: [{ ...signal(1, 'ai.tool.started'), time: instant(80) }, succeeded()] },
      'ms after it had to',
    ],
    ['and is expired', { ...expired, executions: [execution(1)] }, 'ended as expired, and had begun'],
    [
      'never, and says so too early',
      { ...expired, signals: [{ ...failed('expired', 1), time: instant(2) }] },
      'ms too early',
    ],
    [
      'never, and ends long after',
      { ...expired, signals: [{ ...failed('deadline_exceeded', 1), time: instant(601) }] },
      'had to begin, never did',
    ],
    ['whenever, and is expired', { ...expired, planned: {} }, 'and might begin whenever'],
  ])('and begins %s is reported', (_when, parts, sentence) => {
    expect(violationsOf(evidence(parts)).join('\n')).toContain(sentence);
  });
});

test('a budget that has counted less than the providers is reported', () => {
  const log = [
    { ...execution(1), tokens: 60 },
    { ...execution(2), tokens: 40, fault: 'cut' },
    { ...execution(3), tokens: 99, fault: 'error' },
    execution(4),
  ];
  const counted = (used: number) => ({ budgets: [{ name: 'all', tokens: { used } }] });
  expect(budgetViolationsOf(counted(100), 'all', log)).toEqual([]);
  expect(budgetViolationsOf(counted(99), 'all', log)).toHaveLength(1);
  expect(budgetViolationsOf({ budgets: [] }, 'all', log)).toHaveLength(1);
});
