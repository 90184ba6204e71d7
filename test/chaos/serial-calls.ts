/** The promise that no two calls of the serial server overlap.
 *  It must never take the service's word for what ran when. */
import { type CallLine, callsOf, runsAt } from './call-log.ts';
import type { Fault } from './history.ts';

/** Sentences, one for each call that began while another one ran. */
export function overlapsOf(lines: readonly CallLine[], faults: readonly Fault[]): string[] {
  const begun = callsOf(lines);
  return begun.flatMap(({ begin }) => {
    const first = begun.find((other) => runsAt(other, begin, faults));
    if (first === undefined) return [];
    return [`${begin.label} began on the serial server while ${first.begin.label} ran there`];
  });
}
