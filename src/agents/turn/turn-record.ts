// A computed turn as the journal writes it.
// Must never hold what the journal cannot write: a turn that is not JSON is replaced by the end of its run.
import type { Prepared } from '../../directives/prepare.ts';
import type { RunCommit } from '../../store/run/run-journal.ts';
import { newIdentifier } from '../../platform/telemetry/identifier.ts';
import { type BrokenRunParts, guarded } from './broken-run.ts';
import { begun, type Folded, isOver } from './fold.ts';
import { runSignal } from '../run-signal.ts';
import { limitsOf } from '../overrides.ts';
import type { StoredRun } from './run-store.ts';
import type { RunSpec } from './transition.ts';

/** The records that a turn will write. `spec` null: unchanged. */
export interface Turn {
  folded: Folded;
  spec: RunSpec | null;
}

export type TurnTexts = Pick<RunCommit, 'document' | 'signals'>;

/** Replaces the turn if it cannot be written. */
export function textsOf(parts: BrokenRunParts, run: StoredRun, turn: Turn): TurnTexts {
  return guarded(
    parts,
    run,
    () => plainTexts(run, turn.folded),
    (end) => {
      turn.folded = begun(end, run.spec.run_id);
      return plainTexts(run, turn.folded);
    },
  );
}

/** Throws for a turn that is not JSON. */
function plainTexts(run: StoredRun, folded: Folded): TurnTexts {
  return { document: JSON.stringify(writtenDocument(folded)), signals: writtenSignals(run, folded) };
}

/** The document as it is written, as JSON. */
export function writtenDocument({ document }: Folded): object {
  return { ...document, setup: undefined };
}

/** Throws for a type that a run may not write. */
export function writtenSignals(
  { requestId, traceparent, now }: StoredRun,
  { signals }: Folded,
): TurnTexts['signals'] {
  const origin = { requestId, traceparent, now };
  return signals.map(({ signal, cause }) => runSignal(signal, { ...origin, cause }));
}

export function commitOf(
  run: StoredRun,
  { folded, spec }: Turn,
  texts: TurnTexts,
  prepared: readonly Prepared[],
): RunCommit {
  const { requestId, version, now: readAt, unreadBytes, signals } = run;
  const { document } = folded;
  return {
    requestId,
    version,
    token: newIdentifier(),
    inboxBytes: unreadBytes,
    readAt,
    ...texts,
    spec:
      spec === null && run.hasSetup ? '' : JSON.stringify({ ...(spec ?? run.spec), setup: document.setup }),
    status: document.status,
    wakeAt: document.wake_at,
    final: isOver(document),
    outbox: document.outbox.length,
    inputsConsumed: signals.filter(({ type }) => type === 'ai.request.input').length,
    inputsHeld: document.inputs,
    maxOpen: limitsOf(document.setup.agent, run.spec.overrides).max_pending,
    directives: prepared.map(({ acceptance }) => acceptance),
  };
}
