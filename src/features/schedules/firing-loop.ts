// Checks due schedules in every process, and fires them. Never holds a schedule for good: a process that dies leaves
// its share to the others.
import { tenantOf } from '../../contract/access/tenant.ts';
import { asError, createLoop, type Startable } from '../../platform/lifecycle.ts';
import { following, nextStep, type Step } from './decision.ts';
import { createFire, createSettle, type FiringParts, type Given, type Taken } from './firing.ts';
import { asMarked, asRead, instantField, type Schedule } from './schedule-record.ts';
import { openOf, wasSent } from './sending.ts';
import { requestOf } from './template.ts';

export interface FiringLoopParts extends FiringParts {
  onError(error: Error): void;
}

const LOOK_EVERY_MS = 250;
const TAKEN_AT_ONCE = 32;
/** Schedules that a dead process had taken are due again after this time. */
const HOLD_MS = 5_000;
/** Most consecutive instants of one schedule, as after an outage, before others are fired. */
const MOST_STEPS = 8;
const LONGEST_STOP_MS = 1_000;

export type FiringLoop = Startable & { fireDue(): Promise<number> };

/** Redis took it somewhere between the two: nothing is due too early, and nothing is held too long. */
function takenBetween(now: number, askedAt: number, answeredAt: number): Taken {
  return {
    // @guard schedule-too-early
    clock: () => now + Math.floor(performance.now() - answeredAt),
    isOver: () => performance.now() - askedAt > HOLD_MS,
  };
}

export function createFiringLoop(parts: FiringLoopParts): FiringLoop {
  const { store, onError } = parts;
  const settle = createSettle(parts);
  const fire = createFire(parts, settle);

  /** Rotation among the tenants with due schedules. */
  let turn = 0;

  /** Returns how many were due. */
  async function fireDue(): Promise<number> {
    const askedAt = performance.now();
    // @guard schedule-decided-over-2
    const { now, ids } = await store.take(TAKEN_AT_ONCE, HOLD_MS, turn);
    turn += TAKEN_AT_ONCE;
    const taken = takenBetween(now, askedAt, performance.now());
    await Promise.all(
      ids.map(async (id) => fireOne(id, taken).catch((error: unknown) => onError(asError(error)))),
    );
    return ids.length;
  }

  async function fireOne(id: string, taken: Taken): Promise<void> {
    for (let left = MOST_STEPS; left > 0 && !taken.isOver(); left -= 1) {
      const found = await store.read(id);
      if (found === null) return void (await store.remove({ id, made: '' }));
      const schedule = asMarked(found);
      const now = taken.clock();
      const open = await openNow(schedule);
      const step = nextStep(schedule, { now, open, catchUpMs: catchUpOf(schedule) });
      if (!(await take(schedule, step, { now, open, taken }))) return;
    }
    // What is left is due at once.
    await store.change({ id, made: (await store.read(id))?.made ?? '' }, { lookAt: taken.clock() });
  }

  async function openNow(schedule: Schedule): Promise<string[]> {
    if (schedule.spec.overlap === 'allow' && schedule.queuedAt === null) return [];
    return openOf(schedule, parts.statusOf);
  }

  /** A repeat after its request is gone would be another firing. */
  function catchUpOf({ id, spec }: Schedule): number {
    return Math.min(spec.catch_up_ms, Math.floor(parts.closedMs(tenantOf(id)) * 0.9));
  }

  /** Whether it is due again at once. */
  async function take(schedule: Schedule, step: Step, given: Given): Promise<boolean> {
    const { now } = given;
    switch (step.kind) {
      case 'wait':
        await store.change(schedule, { over: asRead(schedule), lookAt: step.until ?? 'never' });
        return false;
      case 'remove':
        await store.remove(schedule);
        return false;
      case 'queue': {
        const { nextAt } = following(schedule, step.instant, now);
        const set = { queued: String(step.instant.at), next_at: instantField(nextAt) };
        await store.change(schedule, { over: asRead(schedule), set });
        return true;
      }
      case 'skip':
        return settle(schedule, step.instant, given, { outcome: 'skipped', reason: step.reason });
      case 'lose': {
        const requestId = requestOf(schedule, step.instant.at);
        const isFired = await wasSent(schedule, requestId, parts.statusOf);
        const facts = { outcome: 'missed' as const, reason: lost(schedule) };
        return settle(schedule, step.instant, given, isFired ? { outcome: 'fired', requestId } : facts);
      }
      case 'miss':
        return settle(schedule, step.instant, given, {
          outcome: 'missed',
          reason: NOBODY,
          missed: step.missed,
        });
      case 'fire':
        return fire(schedule, step, given);
    }
  }

  const loop = createLoop({
    name: 'schedules',
    work: async () => {
      while ((await fireDue()) === TAKEN_AT_ONCE && !loop.stopping.aborted);
    },
    everyMs: LOOK_EVERY_MS,
    longestStopMs: LONGEST_STOP_MS,
    onError,
  });
  return { ...loop, fireDue };
}

const NOBODY = 'no process fired it within catch_up_ms';
const lost = ({ waiting }: Schedule): string =>
  waiting === null
    ? 'the process that fired it died, and catch_up_ms is over'
    : `refused until catch_up_ms was over: ${waiting.reason}`;
