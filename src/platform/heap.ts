// Lets V8 give back the memory that a thread has taken while it loaded.
// Must never block its thread for long: leases and connections are alive by then.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * While modules load, V8 lets the heap grow, above all its young generation. It shrinks the heap of a thread that allocates little, in steps,
 * but measures that since the last collection, which for an idle thread is one of its start, for minutes. A collection of the young
 * generation alone takes a few milliseconds; V8 shrinks the heap about ten seconds after it, if the thread is idle.
 */
export function endLoading(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options: Record<string, string>) => void;
  collect({ type: 'minor', execution: 'sync' });
}
