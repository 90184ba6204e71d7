// How much one attempt may write into the log while it runs, and how fast: the more it has written, the longer it waits
// before the next append, so that what comes meanwhile is joined or replaced.
// Must never hold back an attempt that writes as much as a long answer does.

/** Characters that one attempt writes at most where its type allows no more, each signal counted with its attributes. */
const MOST_CHARACTERS = 8 * 1_024 * 1_024;
/** What a signal holds beside the text: attributes, identity, trace. */
export const SIGNAL_CHARACTERS = 512;

/** After so much an append waits one step longer. */
const STEP_SIGNALS = 2_000;
const STEP_CHARACTERS = 1_024 * 1_024;
const STEP_MS = 100;

/** What was said and is not in the log. */
export interface Unreported {
  signals: number;
  characters: number;
  /** What refused it: the bound of a call, or `limits.request_bytes`. */
  limit: 'call' | 'request_bytes';
}

export function createReportBudget(
  most: number = MOST_CHARACTERS,
  now: () => number = () => performance.now(),
) {
  let signals = 0;
  let characters = 0;
  let nextAt = 0;
  let unreported: Unreported | null = null;

  return {
    /** Whether so much more fits. */
    fits: (more: number): boolean => characters + more <= most,
    /** Counts what was written. */
    wrote(batch: { signals: number; characters: number }): void {
      signals += batch.signals;
      characters += batch.characters;
      const steps = Math.floor(signals / STEP_SIGNALS) + Math.floor(characters / STEP_CHARACTERS);
      nextAt = now() + steps * STEP_MS;
    },
    /** How long the next append waits, milliseconds. */
    restMs: (): number => Math.max(0, nextAt - now()),
    /** Counts what will never be written. */
    dropped(lost: { signals: number; characters: number }, limit: Unreported['limit']): void {
      unreported = {
        signals: (unreported?.signals ?? 0) + lost.signals,
        characters: (unreported?.characters ?? 0) + lost.characters,
        limit: unreported?.limit ?? limit,
      };
    },
    /** null: all of it is in the log. */
    unreported: (): Unreported | null => unreported,
  };
}
