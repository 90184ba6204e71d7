// Gives memory back that a thread has taken while it loaded.
// Must never be called but at the end of a start: it blocks its thread for about 0.1 s, which leases and connections outlive.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * While modules load, V8 lets the heap grow, above all its young generation. Only a full collection shrinks it, and an idle thread has none.
 * Under load it grows again.
 */
export function shrinkHeap(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as (options: Record<string, string>) => void;
  // The code that has been compiled so far runs again soon.
  setFlagsFromString('--no-flush-bytecode');
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  setFlagsFromString('--flush-bytecode');
}
