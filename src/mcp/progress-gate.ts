/** Passes progress notes to the caller: a burst unchanged, a flood thinned to its latest note.
 *  It must never hold back more than one note, nor pass one on after the call has ended. */
import type { ToolProgress } from './tools/tool-call.ts';

const BURST = 50;
const PER_SECOND = 20;

export interface ProgressGate {
  offer(progress: ToolProgress): void;
  /** Passes on the note that is held back; nothing passes afterwards. */
  close(): void;
}

export function createProgressGate(
  pass: (progress: ToolProgress) => void,
  now: () => number = () => performance.now(),
): ProgressGate {
  let tokens = BURST;
  let refilledAt = now();
  let held: ToolProgress | null = null;
  let open = true;
  return {
    offer(progress) {
      if (!open) return;
      const time = now();
      tokens = Math.min(BURST, tokens + ((time - refilledAt) * PER_SECOND) / 1_000);
      refilledAt = time;
      held = progress;
      if (tokens < 1) return;
      tokens -= 1;
      held = null;
      pass(progress);
    },
    close() {
      open = false;
      if (held !== null) pass(held);
      held = null;
    },
  };
}
