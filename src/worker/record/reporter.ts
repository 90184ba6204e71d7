// Writes what an attempt says while it runs: one append at a time, in order and under the claim.
// Must never leave a hole: an append that failed is repeated until Redis answers, and nothing follows one that was given up.
import type { SignalDraft } from '../../contract/signal/signal.ts';
import type { Report } from '../executors/definition.ts';
import type { SignalLog } from '../../store/log/signal-log.ts';
import { draftSignal, type SignalOrigin } from '../../store/log/signal-draft.ts';
import type { SignalMetadata } from '../../store/log/terminal-signal.ts';
import { pause } from '../../platform/lifecycle.ts';
import { type Amount, amountOf, createPendingReports, type Said } from './pending-reports.ts';
import { createReportBudget, type Unreported } from './report-budget.ts';
import type { ClaimRef } from '../../store/refs.ts';
import { persistently } from './durably.ts';

export interface Reporter {
  report: Report;
  /** Resolves when little is left to write; false: nothing more will be written. Never rejects. */
  drained(): Promise<boolean>;
  /** Nothing is heard any more; resolves when everything said so far is written or given up. */
  close(): Promise<void>;
  /** Whether anything was written: readers may have seen it under this attempt's number. */
  hasSpoken(): boolean;
  /** The reported signals that will never be in the log; null: none. */
  unreported(): Unreported | null;
}

export interface ReporterOptions {
  log: Pick<SignalLog, 'append' | 'hurry'>;
  claim: ClaimRef;
  origin: SignalOrigin;
  /** Added to the metadata of everything that has some, so that readers find the run it belongs to. Default: {}. */
  correlation?: SignalMetadata;
  /** Turns a reported signal into the one that may be written. Default: it is written unchanged. */
  protect?: (said: Said) => Promise<Said>;
  /** Most characters that are written. Default: 8 Mi. */
  mostCharacters?: number | undefined;
  /** The signal of the attempt: when it aborts, no executor needs to wait for capacity any more. */
  signal: AbortSignal;
  /** Redis is not waited for any longer. */
  givenUp: AbortSignal;
  /** The claim is not ours any more. */
  onLost(): void;
  onError(error: unknown): void;
}

/** The amount of a report without a reader. */
const UNSAID: Amount = { signals: 1, characters: 0 };

/** More unwritten text than this makes executors wait, characters. */
const MUCH_PENDING = 262_144;

export function createReporter(options: ReporterOptions): Reporter {
  const { log, claim, signal, givenUp } = options;
  const pending = createPendingReports();
  const budget = createReportBudget(options.mostCharacters);
  /** Ends a pause of the writing loop. */
  let hurry: AbortController | undefined;
  let writing: Promise<void> | undefined;
  let room: PromiseWithResolvers<void> | undefined;
  let mute = false;
  let closed = false;
  let spoken = false;
  let refusedBy: Unreported['limit'] | null = null;

  /** Only ever begun with something pending, so that it does not end before `writing` is set. */
  async function write(): Promise<void> {
    try {
      while (pending.size() > 0) {
        const restMs = closed || pending.size() > MUCH_PENDING ? 0 : budget.restMs();
        if (restMs > 0) await pause(restMs, (hurry ??= new AbortController()).signal);
        const batch = pending.take();
        if (pending.size() <= MUCH_PENDING) makeRoom();
        if (!(await append(batch))) return fallSilent();
      }
    } catch (error) {
      fallSilent();
      if (!givenUp.aborted) options.onError(error);
    } finally {
      // In the same step as the last look at `pending`: a report is never left for nobody.
      writing = undefined;
    }
  }

  /**
   * Appends a batch. false: the claim is lost, or the request is full. The signals are the same each time, so that a
   * repeat is recognised.
   */
  async function append(batch: readonly Said[]): Promise<boolean> {
    const amount = amountOf(batch);
    if (!budget.fits(amount.characters)) return refuse(amount, 'call');
    // Without a step in between where nothing is to be protected.
    const drafts = options.protect ? await protectedDrafts(batch, options) : draftsOf(batch, options);
    // A reader waits for the first words, and the end for the last ones.
    const verdict = await persistently(() => log.append(claim, drafts, closed || !spoken), givenUp);
    if (verdict === 'no_room') return refuse(amount, 'request_bytes');
    if (verdict === 'stale') options.onLost();
    // A wait is no part of an answer: an attempt that only waited is no attempt.
    else spoken ||= batch.some(({ type }) => type !== 'directive.waiting');
    budget.wrote(amount);
    return verdict === 'appended';
  }

  /** From here on reports are only counted. */
  function refuse(amount: Amount, limit: Unreported['limit']): false {
    budget.dropped(amount, limit);
    refusedBy = limit;
    return false;
  }

  function fallSilent(): void {
    mute = true;
    const lost = pending.clear();
    if (refusedBy !== null && lost.signals > 0) budget.dropped(lost, refusedBy);
    makeRoom();
  }

  function makeRoom(): void {
    room?.resolve();
    room = undefined;
  }

  signal.addEventListener('abort', makeRoom, { once: true });

  return {
    report(type, data) {
      if (mute) return refusedBy === null ? undefined : budget.dropped(UNSAID, refusedBy);
      if (!pending.add(type, data)) {
        // What was said before is still written; text with a hole in it would be taken for whole.
        mute = true;
        refuse(UNSAID, 'call');
      }
      if (pending.size() > 0) writing ??= write();
    },
    async drained() {
      if (pending.size() > MUCH_PENDING && !signal.aborted)
        await (room ??= Promise.withResolvers<void>()).promise;
      return !mute;
    },
    async close() {
      mute = true;
      refusedBy = null;
      closed = true;
      hurry?.abort();
      log.hurry();
      await writing;
      signal.removeEventListener('abort', makeRoom);
    },
    hasSpoken: () => spoken,
    unreported: budget.unreported,
  };
}

async function protectedDrafts(batch: readonly Said[], options: ReporterOptions): Promise<SignalDraft[]> {
  const { protect } = options;
  return draftsOf(protect === undefined ? batch : await Promise.all(batch.map(protect)), options);
}

function draftsOf(
  batch: readonly Said[],
  { origin, correlation = {} }: Pick<ReporterOptions, 'origin' | 'correlation'>,
): SignalDraft[] {
  return batch.map((said) => draftOf(said, origin, correlation));
}

function draftOf({ type, data }: Said, origin: SignalOrigin, correlation: SignalMetadata): SignalDraft {
  const correlated = 'metadata' in data ? { ...data, metadata: { ...correlation, ...data.metadata } } : data;
  return draftSignal(type, correlated as never, origin);
}
