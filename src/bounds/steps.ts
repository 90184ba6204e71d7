/** Long work in short steps: what else the process has to do runs between them.
 *  It must never sleep: without other work it goes on at once. */
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Heartbeats and calls do not wait longer, milliseconds. */
const STEP_MS = 5;

/** To be awaited between two pieces of work. */
export type NextStep = () => Promise<void>;

/** Of all who share it, one goes on at a time: what they do at once is one long piece otherwise. */
export function createSteps(now: () => number = () => performance.now()): NextStep {
  let begunAt = now();
  let last = Promise.resolve();
  const step = async (): Promise<void> => {
    if (now() - begunAt < STEP_MS) return;
    await nextTurn();
    begunAt = now();
  };
  return () => (last = last.then(step));
}
