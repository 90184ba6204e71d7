// Decides when to report that something is away: once as it begins, once a minute while it lasts, once as it ends.
// Must never log anything itself, nor know what is away.

export type OutageNews =
  | { kind: 'began' }
  | { kind: 'lasts'; forMs: number; failures: number }
  | { kind: 'ended'; afterMs: number; failures: number };

export interface Outage {
  /** It failed once more. null: nothing to report now. */
  failed(): OutageNews | null;
  /** Checks the time, whether or not anything was tried. */
  look(): OutageNews | null;
  /** It works. null: it was not away. */
  works(): OutageNews | null;
  readonly away: boolean;
}

const EVERY_MS = 60_000;

/** `now` in milliseconds; any origin. */
export function createOutage(now: () => number = () => performance.now()): Outage {
  let beganAt: number | null = null;
  let reportedAt = 0;
  let failures = 0;

  function look(): OutageNews | null {
    if (beganAt === null || now() - reportedAt < EVERY_MS) return null;
    reportedAt = now();
    return { kind: 'lasts', forMs: reportedAt - beganAt, failures };
  }

  return {
    look,
    failed() {
      failures += 1;
      if (beganAt !== null) return look();
      beganAt = reportedAt = now();
      return { kind: 'began' };
    },
    works() {
      if (beganAt === null) return null;
      const ended: OutageNews = { kind: 'ended', afterMs: now() - beganAt, failures };
      beganAt = null;
      failures = 0;
      return ended;
    },
    get away() {
      return beganAt !== null;
    },
  };
}

/** For a line in the log: whole seconds. */
export const secondsOf = (ms: number): number => Math.round(ms / 1_000);
