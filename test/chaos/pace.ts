/** Whether the machine has time for the processes under chaos: how long they waited for a processor, against how long they ran.
 *  It must never look at what the service does: a service that is slow by itself is no busy machine. */
import { readFileSync } from 'node:fs';

/** Since the start of a process, milliseconds. */
export interface ProcessorShare {
  readonly ranMs: number;
  readonly waitedMs: number;
}

export interface Pace {
  /** Takes one reading. `shares`: by process. */
  look(now: number, shares: ReadonlyMap<number, ProcessorShare>): void;
  /** Of the last minutes, or null: there was time enough. */
  tooBusy(now: number): string | null;
}

interface Span {
  readonly at: number;
  readonly waitsPerRun: number;
  readonly lateMs: number;
}

export const LOOK_MS = 15_000;
/** Longer than any deadline that is judged, and what is waited for after it. */
const LATELY_MS = 240_000;
/** One to three where nothing else runs; four to five beside a load of 13 on two cores, where all was still in time. */
const MOST_WAITS_PER_RUN = 6;
/** Of the look itself. */
const MOST_LATE_MS = 5_000;
/** Less says nothing: nobody had anything to do. */
const LEAST_MS = 300;

export function createPace(startedAt: number): Pace {
  let before: ReadonlyMap<number, ProcessorShare> = new Map();
  let lookedAt = startedAt;
  let spans: Span[] = [];

  return {
    look(now, shares) {
      const since = [...shares].map(([pid, { ranMs, waitedMs }]) => {
        const last = before.get(pid) ?? { ranMs: 0, waitedMs: 0 };
        return { ranMs: ranMs - last.ranMs, waitedMs: waitedMs - last.waitedMs };
      });
      const ranMs = since.reduce((sum, share) => sum + share.ranMs, 0);
      const waitedMs = since.reduce((sum, share) => sum + share.waitedMs, 0);
      const waitsPerRun = ranMs + waitedMs < LEAST_MS ? 0 : waitedMs / Math.max(ranMs, 1);
      const span = { at: now, waitsPerRun, lateMs: now - lookedAt - LOOK_MS };
      spans = [...spans.filter(({ at }) => now - at < LATELY_MS), span];
      [before, lookedAt] = [shares, now];
    },
    tooBusy(now) {
      const lately = spans.filter(({ at }) => now - at < LATELY_MS);
      const waits = Math.max(0, ...lately.map(({ waitsPerRun }) => waitsPerRun));
      const lateMs = Math.max(0, ...lately.map((span) => span.lateMs));
      if (waits > MOST_WAITS_PER_RUN)
        return `its processes waited ${waits.toFixed(1)} times as long for a processor as they ran`;
      return lateMs > MOST_LATE_MS ? `the judge itself stood still for ${Math.round(lateMs)} ms` : null;
    },
  };
}

/** Of the main threads, where the whole service runs. Without those that ended, and empty where the system does not say it. */
export function processorShares(pids: readonly number[]): Map<number, ProcessorShare> {
  return new Map(
    pids.flatMap((pid) => {
      try {
        const [ran, waited] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ').map(Number);
        return [[pid, { ranMs: (ran ?? 0) / 1e6, waitedMs: (waited ?? 0) / 1e6 }] as const];
      } catch {
        return [];
      }
    }),
  );
}
