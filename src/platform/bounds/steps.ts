/** Long work in short steps: what else the process has to do runs between them.
 *  It must never sleep: without other work it goes on at once. */
import { setImmediate as nextTurn } from 'node:timers/promises';

/** Heartbeats and calls do not wait longer, milliseconds. */
const STEP_MS = 5;

/** Bytes given to sockets in a step: they are written after it, which its clock does not see. */
const STEP_BYTES = 512 * 1_024;

/** To be awaited between two parts of the work. `bytes`: what the next part gives to a socket; default: none. */
export type NextStep = (bytes?: number) => Promise<void>;

/** One of all who share it goes on at a time: what they do at once is one long step otherwise. */
export function createSteps(now: () => number = () => performance.now()): NextStep {
  let begunAt = now();
  let given = 0;
  let last = Promise.resolve();
  const step = async (bytes: number): Promise<void> => {
    given += bytes;
    if (now() - begunAt < STEP_MS && given < STEP_BYTES) return;
    await nextTurn();
    begunAt = now();
    given = bytes;
  };
  return (bytes = 0) => (last = last.then(async () => step(bytes)));
}
