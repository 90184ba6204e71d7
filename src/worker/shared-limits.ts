// The limits of lanes over all workers: the lowest applies, and each worker keeps to it. Never loosens what another
// present worker has configured.
import { randomUUID } from 'node:crypto';
import { type LaneLimit, type LaneLimits, NO_LIMIT } from '../store/catalog/lane-limits.ts';
import { PRESENT_EVERY_MS } from '../store/catalog/presence.ts';
import type { SerialLanes } from '../store/limits/serial-lanes.ts';
import type { Lanes } from '../queue/lanes.ts';
import type { Logger } from '../platform/telemetry/logger.ts';
import type { ServedLane } from './worker.ts';

export interface SharedLimitsOptions {
  serves: readonly ServedLane[];
  limits: LaneLimits;
  serial: Pick<SerialLanes, 'declare'>;
  lanes: Pick<Lanes, 'setGlobalConcurrency' | 'setRate'>;
  logger: Logger;
  onError(error: Error): void;
}

export function createSharedLimits({ serves, limits, serial, lanes, logger, onError }: SharedLimitsOptions) {
  const worker = randomUUID();
  const own = Object.fromEntries(serves.map((lane) => [lane.name, limitOf(lane)]));
  const inForce = new Map<string, LaneLimit>();
  let timer: NodeJS.Timeout | undefined;

  /** Says what is configured here, and takes over what is tighter elsewhere. */
  async function agree(): Promise<void> {
    await Promise.all(serves.filter((lane) => lane.serial).map(({ name }) => serial.declare(name)));
    await limits.announce(worker, own);
    // Another worker may have said something tighter before this one has written what it read: its limit must stand.
    for (
      let [before, read] = ['', await tightest()];
      before !== JSON.stringify(read);
      read = await tightest()
    ) {
      before = JSON.stringify(read);
      for (const [lane, limit] of read) await apply(lane, limit);
    }
  }

  async function tightest(): Promise<[lane: string, limit: LaneLimit][]> {
    const read = await limits.read();
    return serves.map(({ name }) => [name, read.get(name) ?? NO_LIMIT]);
  }

  async function apply(lane: string, limit: LaneLimit): Promise<void> {
    const known = JSON.stringify(inForce.get(lane));
    inForce.set(lane, limit);
    // @guard serial-place-2
    await lanes.setGlobalConcurrency(lane, limit.concurrency);
    await lanes.setRate(lane, limit.rate);
    const text = JSON.stringify(limit);
    if (text !== JSON.stringify(own[lane]) && text !== known)
      logger.warn(
        { lane, own: own[lane], limit },
        'another worker limits this lane more tightly: its limit holds',
      );
  }

  return {
    async start(): Promise<void> {
      await agree();
      timer = setInterval(() => void agree().catch(onError), PRESENT_EVERY_MS).unref();
    },
    stop(): void {
      clearInterval(timer);
    },
    /** Whether a limit over all workers applies to the lane: then only a job may begin an attempt. */
    isLimited(lane: string): boolean {
      const { concurrency, rate } = inForce.get(lane) ?? own[lane] ?? NO_LIMIT;
      return concurrency !== null || rate !== null;
    },
  };
}

function limitOf({ globalConcurrency, rate }: ServedLane): LaneLimit {
  return { concurrency: globalConcurrency, rate };
}
