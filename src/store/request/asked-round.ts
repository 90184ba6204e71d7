// The newest round of questions of a directive's tool, as include-questions.lua keeps it in the state.
// Must never hold what was asked or answered: the bodies do.

export interface AskedRound {
  /** The worker holds the call; else the claim was given back. */
  held: boolean;
  /** From 1. */
  round: number;
  /** Numbers of its questions: from `first` on, `count` of them, `open` without an answer. */
  first: number;
  count: number;
  open: number;
  /** Milliseconds since the epoch, by the clock of Redis. */
  untilAt: number;
  /** Fence of the claim that asked. */
  fence: number;
  /** The server had lost the state of an earlier round, and was called anew. */
  afresh: boolean;
}

const ROUND = /^([hr]) (\d+) (\d+) (\d+) (\d+) (\d+) (\d+) ([01])$/;

/** null: nothing was asked. */
export function askedRound(stored: string): AskedRound | null {
  const found = ROUND.exec(stored);
  if (found === null) return null;
  const [round = 0, first = 0, count = 0, open = 0, untilAt = 0, fence = 0] = found.slice(2, 8).map(Number);
  return { held: found[1] === 'h', round, first, count, open, untilAt, fence, afresh: found[8] === '1' };
}
