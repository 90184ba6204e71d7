// A computed turn as it is written: that of an encrypted run encrypted, whole.
// Must never write a part of it in clear, not even of a turn that cannot be written.
import { type BrokenRunParts, endOf } from './broken-run.ts';
import { begun } from './fold.ts';
import { type RunSeal, sealFolded, sealSpec, unsealable } from './run-seal.ts';
import type { StoredRun } from './run-store.ts';
import { plainTexts, textsOf, type Turn, type TurnTexts } from './turn-record.ts';

export interface WrittenAs {
  /** All that others see of it: the log, spans and notices too. */
  turn: Turn;
  texts: TurnTexts;
}

/** Replaces the turn if it cannot be written. */
export async function writtenTurn(parts: BrokenRunParts, run: StoredRun, turn: Turn): Promise<WrittenAs> {
  const texts = textsOf(parts, run, turn);
  if (run.seal === null) return { turn, texts };
  const type = unsealable(turn.folded);
  if (type !== null) {
    const message = `the run is encrypted, and a directive of the type "${type}" cannot be`;
    const end = endOf(parts, run, { reason: 'strategy_error', message });
    turn.folded = begun(end, run.spec.run_id);
  }
  const sealed = await sealTurn(run.seal, run, turn);
  return { turn: sealed, texts: plainTexts(run, sealed.folded) };
}

async function sealTurn(seal: RunSeal, run: StoredRun, { folded, spec }: Turn): Promise<Turn> {
  const written = spec ?? (run.hasSetup ? null : run.spec);
  const [sealed, sealedSpec] = await Promise.all([
    sealFolded(seal, folded, spec ?? run.spec),
    written && sealSpec(seal, written),
  ]);
  return { folded: sealed, spec: sealedSpec };
}
