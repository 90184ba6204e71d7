// Limits how fast all workers together take the jobs of a lane: jobs at once, jobs in a period, pauses.
// Must never end or shorten a pause that another process asked for.
import type { Queue } from 'bullmq';

/** A rate that no lane reaches. BullMQ obeys a pause only in a lane that has a rate. */
const NO_RATE = 1_000_000;

/** Time for which no worker dequeues a job of the lane. `byRate`: the rate is exhausted; else it is paused. */
export interface HeldBack {
  forMs: number;
  byRate: boolean;
  /** The one that its workers have set. */
  rate?: { max: number; per_ms: number };
}

export function createLaneThrottle(queueOf: (lane: string) => Queue) {
  /** End of the last pause that this process asked for, by lane; milliseconds since the epoch. */
  const pausedUntil = new Map<string, number>();

  async function setGlobalConcurrency(lane: string, limit: number | null): Promise<void> {
    if (limit === null) await queueOf(lane).removeGlobalConcurrency();
    else await queueOf(lane).setGlobalConcurrency(limit);
  }

  /** The most directives that start in a period over all workers; null = no limit. */
  async function setRate(lane: string, rate: { max: number; per_ms: number } | null): Promise<void> {
    const opened = queueOf(lane);
    if (rate !== null) await opened.setGlobalRateLimit(rate.max, rate.per_ms);
    // `NO_RATE` carries a pause: removing it would end a pause that another process asked for.
    else if ((await opened.getGlobalRateLimit())?.max !== NO_RATE) await opened.removeGlobalRateLimit();
  }

  /** No worker takes a job of the lane for `ms` or longer. */
  async function pauseFor(lane: string, ms: number): Promise<void> {
    pausedUntil.set(lane, Math.max(pausedUntil.get(lane) ?? 0, Date.now() + ms));
    const opened = queueOf(lane);
    const [rate, leftMs] = await Promise.all([opened.getGlobalRateLimit(), opened.getRateLimitTtl()]);
    if (rate === null) await opened.setGlobalRateLimit(NO_RATE, 1_000);
    // Without a rate, what is left may be of one that was removed.
    if (rate === null || leftMs < ms) await opened.rateLimit(ms);
  }

  /** null: jobs of the lane are taken. */
  async function heldBack(lane: string): Promise<HeldBack | null> {
    const opened = queueOf(lane);
    const [forMs, rate] = await Promise.all([opened.getRateLimitTtl(), opened.getGlobalRateLimit()]);
    if (forMs <= 0) return null;
    if (rate === null || rate.max === NO_RATE) return { forMs, byRate: false };
    return { forMs, byRate: forMs <= rate.duration, rate: { max: rate.max, per_ms: rate.duration } };
  }

  /** Whether this process has paused the lane. Pauses by other processes are known to BullMQ alone. */
  function isPaused(lane: string): boolean {
    return (pausedUntil.get(lane) ?? 0) > Date.now();
  }

  return { setGlobalConcurrency, setRate, pauseFor, heldBack, isPaused };
}
