// A computed turn as it is written: that of an encrypted run encrypted, whole.
// Must never write a part of it in clear, not even of a turn that cannot be written.
import { PayloadUnreadable } from '../../contract/encrypted/encrypted.ts';
import { jsonText } from '../../platform/encryption/json-steps.ts';
import { brokenBy, type BrokenRunParts, endOf } from './broken-run.ts';
import { begun } from './fold.ts';
import { type RunSeal, sealFolded, sealSpec, unsealable } from '../encryption/run-seal.ts';
import type { StoredRun } from './run-store.ts';
import { textsOf, type Turn, type TurnTexts, writtenDocument, writtenSignals } from './turn-record.ts';

export interface WrittenAs {
  /** All that others see of it: the log, spans and notices too. */
  turn: Turn;
  texts: TurnTexts;
}

/** Replaces the turn if it cannot be written. */
export async function writtenTurn(parts: BrokenRunParts, run: StoredRun, turn: Turn): Promise<WrittenAs> {
  const { seal } = run;
  if (seal === null) return { texts: textsOf(parts, run, turn), turn };
  const type = unsealable(turn.folded);
  if (type !== null) {
    const message = `the run is encrypted, and a directive of the type "${type}" cannot be`;
    const end = endOf(parts, run, { reason: 'strategy_error', message });
    turn.folded = begun(end, run.spec.run_id);
  }
  try {
    return await sealedTurn(seal, run, turn);
  } catch (error) {
    // The cipher failed, not the turn: it is taken again.
    if (error instanceof DOMException || error instanceof PayloadUnreadable) throw error;
    turn.folded = begun(brokenBy(parts, run, error), run.spec.run_id);
    return sealedTurn(seal, run, turn);
  }
}

/** Throws for a turn that is not JSON. A history may be large, so that others have their turn between the steps. */
async function sealedTurn(seal: RunSeal, run: StoredRun, { folded, spec }: Turn): Promise<WrittenAs> {
  const { nextStep } = seal.codec;
  const written = spec ?? (run.hasSetup ? null : run.spec);
  const [sealed, sealedSpec] = await Promise.all([
    sealFolded(seal, folded, spec ?? run.spec),
    written && sealSpec(seal, written),
  ]);
  const texts = {
    document: await jsonText(writtenDocument(sealed), nextStep),
    signals: writtenSignals(run, sealed),
  };
  await nextStep?.();
  return { turn: { folded: sealed, spec: sealedSpec }, texts };
}
