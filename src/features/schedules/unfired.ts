// The record of an instant that may not be fired, for now or with this key. Never leaves its mark where it will not be
// fired.
import type { Problem, ProblemCode } from '../../contract/problem.ts';
import { NO_SPANS } from '../../platform/telemetry/traces/spans.ts';
import type { Instant } from './decision.ts';
import { createFiringSpans } from './firing-spans.ts';
import type { FiringParts, Given, Settle } from './firing.ts';
import { asRead, instantField, NOT_BEGUN, type Schedule } from './schedule-record.ts';
import type { ScheduleChange } from './schedule-store.ts';
import { firingOf, LONGEST_REASON } from './schedule-view.ts';

export function createUnfired(
  { store, onFiring, spans = NO_SPANS }: Pick<FiringParts, 'store' | 'onFiring' | 'spans'>,
  settle: Settle,
) {
  const { unfired } = createFiringSpans(spans);

  /** It is paused until a caller resumes it, with the rights of that caller. */
  async function halt(schedule: Schedule, instant: Instant, given: Given, note: string): Promise<boolean> {
    // Who has changed the schedule since answers for the next instant, not for this one.
    if (schedule.marked !== null)
      return settle(schedule, instant, given, { outcome: 'failed', reason: note });
    const by = JSON.stringify({ at: new Date(given.now).toISOString(), by: null, note });
    // Who paused it before still has.
    const paused = schedule.paused === null ? by : schedule.pausedText;
    const change: ScheduleChange = {
      over: { ...asRead(schedule), paused: schedule.pausedText },
      set: { ...NOT_BEGUN, paused },
      lookAt: 'never',
      entry: firingOf({ scheduledAt: instant.at, at: given.now, outcome: 'failed', reason: note }),
      add: { failed: 1, failing: 1 },
    };
    if ((await store.change(schedule, change)) !== 'done') return true;
    onFiring('failed', 1);
    unfired(schedule, instant.at, { outcome: 'failed', reason: note, code: 'forbidden', instants: 1 });
    return true;
  }

  async function refused(
    schedule: Schedule,
    { instant, isPaid }: { instant: Instant; isPaid: boolean },
    given: Given,
    { code, detail, title, status }: Problem,
  ): Promise<boolean> {
    const reason = `${code}: ${detail ?? title}`.slice(0, LONGEST_REASON);
    if (code === ONE_IS_OPEN) return settle(schedule, instant, given, { outcome: 'skipped', reason });
    if (status !== 429) return settle(schedule, instant, given, { outcome: 'failed', reason, code });
    // There may be room soon; until then the instant stays marked, and is missed in the end.
    const over = { firing: instantField(schedule.firingAt) };
    const since = schedule.waiting?.since ?? new Date(given.now).toISOString();
    const waiting = JSON.stringify({ since, reason });
    const set = { waiting, paid: isPaid ? String(instant.at) : '' };
    await store.change(schedule, { over, set, lookAt: given.taken.clock() + TRY_AGAIN_MS });
    return false;
  }

  return { halt, refused };
}

/** As `overlap` may say it, too. */
const ONE_IS_OPEN: ProblemCode = 'singleton_open';

/** When what was refused for now is tried again. */
const TRY_AGAIN_MS = 5_000;
