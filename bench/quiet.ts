/** How much of the machine is used while the benchmark itself does nothing.
 *  It must not keep the machine busy while it looks. */
import { availableParallelism } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { machineTimeMs } from './processor-time.ts';

/** Percent of all cores that are busy while this process waits for so long, milliseconds. */
export async function busyPercent(lookMs: number): Promise<number> {
  const [usedBefore, startedAt] = [machineTimeMs(), performance.now()];
  await pause(lookMs);
  const usedMs = machineTimeMs() - usedBefore;
  return (usedMs / (performance.now() - startedAt) / availableParallelism()) * 100;
}

const LOOK_MS = 200;
const MOST_LOOKS = 25;
const MOST_PERCENT = 10;

/** Until what ran before has gone: processes that end, and Redis with what they left. Five seconds at the most. */
export async function untilQuiet(): Promise<void> {
  for (let looks = 0; looks < MOST_LOOKS; looks += 1)
    if ((await busyPercent(LOOK_MS)) <= MOST_PERCENT) return;
}
