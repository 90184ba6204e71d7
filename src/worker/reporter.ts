// Writes what an attempt says while it runs, one append at a time, in order and under the claim.
// Must never let a talkative executor fill memory: an unwritten report is replaced by the next of its type.
import type { Report } from '../executors/definition.ts';
import type { ClaimRef, Journal } from '../journal/journal.ts';
import { draftSignal, type SignalOrigin } from '../journal/signal-draft.ts';
import type { SignalDraft } from '../contract/signal.ts';

export interface Reporter {
  report: Report;
  /** Resolves when everything said so far is written or given up. */
  settled(): Promise<void>;
}

export function createReporter(journal: Journal, claim: ClaimRef, origin: SignalOrigin): Reporter {
  const pending = new Map<string, SignalDraft>();
  let writing: Promise<void> | undefined;
  let stale = false;

  /** Only ever begun with something pending, so that it does not end before `writing` is set. */
  async function write(): Promise<void> {
    try {
      while (pending.size > 0 && !stale) {
        const batch = [...pending.values()];
        pending.clear();
        stale = (await journal.append(claim, batch)) === 'stale';
      }
    } finally {
      // In the same step as the last look at `pending`: a report is never left for nobody.
      writing = undefined;
    }
  }

  return {
    report(type, data) {
      if (stale) return;
      pending.set(type, draftSignal(type, data as never, origin));
      writing ??= write();
      writing.catch(() => {});
    },
    async settled() {
      await writing;
    },
  };
}
