/** Whether something else works on this machine: a measurement beside it says nothing.
 *  It must look before the first load, and at what ran beside each. */
import { availableParallelism } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { type Measurement, OTHERS } from './measurement.ts';
import { machineTimeMs } from './processor-time.ts';

const LOOK_MS = 3_000;
/** Of all cores, before; of one core, beside a load. */
const MOST_BEFORE_PERCENT = 10;
const MOST_BESIDE_PERCENT = 25;

/** Percent of all cores that are busy while this process waits. */
async function busyPercent(lookMs = LOOK_MS): Promise<number> {
  const [usedBefore, startedAt] = [machineTimeMs(), performance.now()];
  await pause(lookMs);
  const usedMs = machineTimeMs() - usedBefore;
  return (usedMs / (performance.now() - startedAt) / availableParallelism()) * 100;
}

/** Why nothing is measured, and the remedy; null: the machine has no other work. */
export async function busyMachine(): Promise<string | null> {
  const percent = await busyPercent();
  if (percent <= MOST_BEFORE_PERCENT) return null;
  return `The machine is busy without the benchmark: ${percent.toFixed(0)} % of all cores. End what runs, or measure with --busy.`;
}

/** Of the rows beside which other processes worked. */
export function disturbed(measurements: readonly Measurement[]): string[] {
  return measurements.flatMap(({ scenario, concurrency, costs }) => {
    const percent = costs.find(({ name }) => name === OTHERS)?.corePercent ?? 0;
    if (percent <= MOST_BESIDE_PERCENT) return [];
    return [`${scenario}, ${concurrency} in flight: other processes used ${percent.toFixed(0)} % of a core`];
  });
}
