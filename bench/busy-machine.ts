/** Whether something else works on this machine: a measurement beside it says nothing.
 *  It must look before the first load, and at what ran beside each. */
import { type Measurement, OTHERS } from './measurement.ts';
import { busyPercent } from './quiet.ts';

const LOOK_MS = 3_000;
/** Of all cores, before; of one core, beside a load. */
const MOST_BEFORE_PERCENT = 10;
const MOST_BESIDE_PERCENT = 25;

/** Why nothing is measured, and the remedy; null: the machine has no other work. */
export async function busyMachine(): Promise<string | null> {
  const percent = await busyPercent(LOOK_MS);
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
