// Archives closed requests before they expire. Every process does it; of what is due each request goes to one of them.
// Must never count a request as archived before it is stored, nor rely on being the only one: a repeat writes the same name.
import type { ArchiveQueue, DueRequest } from '../../store/index/archive-queue.ts';
import { asError, createLoop } from '../../platform/lifecycle.ts';
import { type ArchiveParts, archiveRequest, type ArchiveVerdict, LONGEST_MS } from './archive-request.ts';
import { removeOld } from './spool.ts';
import { createTimeLimit } from './time-limit.ts';

export interface ArchiverOptions extends Omit<ArchiveParts, 'inTime'> {
  readonly queue: ArchiveQueue;
  /** Called when a request stays for longer than it was to: what is kept beside it has to follow. */
  readonly onKept: (requestId: string) => void;
  /** Poll interval of the queue, milliseconds. Default: 1 000. */
  readonly intervalMs?: number;
  /** For one request, milliseconds. Default: 100 000. */
  readonly requestMs?: number;
  /** Interval of cleaning after dead processes, milliseconds. Default: 600 000. */
  readonly spoolLookMs?: number;
  readonly reports: ArchiveReports;
}

export interface ArchiveReports {
  archived(): void;
  /** Each request that could not be archived now; it is tried again. */
  failed(requestId: string, error: Error, until: number): void;
  works(): void;
  /** Gone from Redis, and not in the archive. */
  lost(requestId: string): void;
  /** The loop itself, as when Redis is away. */
  error(error: Error): void;
}

const BATCH = 100;
const MOST_TRIED = 2;
const SHORTEST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 300_000;
/** For those that are not tried, since each poll costs Redis time, that have failed before, or that do not exist. */
const LONG_WAIT_MS = 30_000;
const DEFAULT_INTERVAL_MS = 1_000;
const SPOOL_LOOK_MS = 600_000;
const LONGEST_STOP_MS = 1_000;

export function createArchiver(options: ArchiverOptions) {
  const { queue, store, source, reports, longestMs } = options;
  const parts: ArchiveParts = { ...options, inTime: createTimeLimit(options.requestMs ?? LONGEST_MS) };
  /** 0: the store works. */
  let pauseMs = 0;
  let tryAt = -Infinity;

  /** false: it has failed. */
  async function handle(taken: DueRequest, now: number): Promise<boolean> {
    let entry = taken;
    try {
      const verdict = await archiveRequest(parts, taken, loop.stopping, async (longerMs) => {
        entry = await queue.hold(entry, longerMs);
      });
      reportVerdict(reports, verdict, entry.requestId);
      if (verdict === 'missing') await queue.putOff(entry, now + LONG_WAIT_MS, 'once_more');
      else await queue.done(entry);
      return true;
    } catch (error) {
      if (loop.stopping.aborted) return false;
      await putOff(entry, now, asError(error));
      return false;
    }
  }

  /** Kept as long as it may be, from its close on at the most, once for all. */
  async function putOff(entry: DueRequest, now: number, error: Error): Promise<void> {
    const head = await source.journal.head(entry.requestId);
    const until = (head?.closedAt ?? now) + longestMs(entry.requestId);
    await queue.keep(entry.requestId, until - now);
    options.onKept(entry.requestId);
    reports.failed(entry.requestId, error, until);
    await queue.putOff(entry, now + Math.max(pauseMs, entry.failedBefore ? LONG_WAIT_MS : SHORTEST_PAUSE_MS));
  }

  /** Requests that are not tried, because another one has failed. */
  async function keepWaiting(entry: DueRequest, now: number): Promise<void> {
    if (loop.stopping.aborted) return;
    if (entry.failedBefore) await queue.putOff(entry, now + Math.max(pauseMs, LONG_WAIT_MS));
    else await putOff(entry, now, new Error(WAITS));
  }

  /** How many were tried until one could be stored: one that never can must not hold up the others. null: none could. */
  async function triedUntilStored(entries: readonly DueRequest[], now: number): Promise<number | null> {
    for (const [index, entry] of entries.entries()) if (await handle(entry, now)) return index + 1;
    return null;
  }

  /** While the store fails, two requests try it now and then, and all others are kept. */
  async function round(): Promise<boolean> {
    const { now, entries, more } = await queue.take(BATCH);
    if (entries.length === 0) return false;
    const isTried = performance.now() >= tryAt;
    const most = isTried ? MOST_TRIED : 0;
    const tried = await triedUntilStored(entries.slice(0, most), now);
    if (tried !== null) {
      if (pauseMs > 0) reports.works();
      pauseMs = 0;
      await eachOf(entries.slice(tried), store.atOnce, async (entry) => {
        if (!loop.stopping.aborted) await handle(entry, now);
      });
      return more;
    }
    if (isTried) {
      pauseMs = Math.min(Math.max(2 * pauseMs, SHORTEST_PAUSE_MS), LONGEST_PAUSE_MS);
      tryAt = performance.now() + pauseMs;
    }
    for (const entry of entries.slice(most)) await keepWaiting(entry, now);
    return more;
  }

  async function roundsOfDue(): Promise<void> {
    removeOldSometimes();
    while ((await round()) && !loop.stopping.aborted);
  }

  let removeAt = -Infinity;
  /** Not awaited: the place may hang. What died within the last hour is not old as this process starts. */
  function removeOldSometimes(): void {
    if (performance.now() < removeAt) return;
    removeAt = performance.now() + (options.spoolLookMs ?? SPOOL_LOOK_MS);
    void removeOld(store.spoolFolder, Date.now()).catch(reports.error);
  }

  const loop = createLoop({
    name: 'archiver',
    work: roundsOfDue,
    everyMs: options.intervalMs ?? DEFAULT_INTERVAL_MS,
    longestStopMs: LONGEST_STOP_MS,
    onError: reports.error,
  });
  return { ...loop, round };
}

function reportVerdict(reports: ArchiveReports, verdict: ArchiveVerdict, requestId: string): void {
  if (verdict === 'lost') reports.lost(requestId);
  if (verdict === 'stored') reports.archived();
}

const WAITS = 'waits until another request could be archived';

async function eachOf<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const left = items.values();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const item of left) await work(item);
    }),
  );
}
