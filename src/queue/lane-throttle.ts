// How fast the jobs of a lane are taken over all workers: how many at once, how many in a period, none for a while.
// Must never end a pause that another process asked for.
import type { Queue } from 'bullmq';

/** A rate that nothing reaches: present only so that pauses are honoured. */
const NO_RATE = 1_000_000;

export function createLaneThrottle(queueOf: (lane: string) => Queue) {
  /** Until when a lane is paused, as far as this process paused it; milliseconds since the epoch. */
  const pausedUntil = new Map<string, number>();

  async function setGlobalConcurrency(lane: string, limit: number | null): Promise<void> {
    if (limit === null) await queueOf(lane).removeGlobalConcurrency();
    else await queueOf(lane).setGlobalConcurrency(limit);
  }

  /** How many directives start in a period over all workers; null = as many as there are. */
  async function setRate(lane: string, rate: { max: number; per_ms: number } | null): Promise<void> {
    const opened = queueOf(lane);
    if (rate !== null) await opened.setGlobalRateLimit(rate.max, rate.per_ms);
    // Workers say each minute that a lane has no rate: a pause that one of them asked for stands.
    else if ((await opened.getGlobalRateLimit())?.max !== NO_RATE) await opened.removeGlobalRateLimit();
  }

  /** Nobody takes a job of the lane for `ms`. BullMQ looks at the pause only where a rate is set. */
  async function pauseFor(lane: string, ms: number): Promise<void> {
    pausedUntil.set(lane, Date.now() + ms);
    const opened = queueOf(lane);
    if ((await opened.getGlobalRateLimit()) === null) await opened.setGlobalRateLimit(NO_RATE, 1_000);
    await opened.rateLimit(ms);
  }

  /** Whether this process has paused the lane; of the pauses of others BullMQ knows. */
  function isPaused(lane: string): boolean {
    return (pausedUntil.get(lane) ?? 0) > Date.now();
  }

  return { setGlobalConcurrency, setRate, pauseFor, isPaused };
}
