// What is reported of a written turn: its time, and the beginning or the end of its run.
// Must never be called for a turn that another engine has written.
import type { Reports } from '../telemetry/reports.ts';
import { isOver } from './fold.ts';
import type { StoredRun } from './run-store.ts';
import type { Turn } from './turn-record.ts';

/** `startedAt`: by the process' monotonic clock. */
export function measureTurn(
  { meters }: Reports,
  { document: before, spec, now }: StoredRun,
  { folded: { document } }: Turn,
  startedAt: number,
): void {
  const { agent } = spec;
  meters.turnTaken(performance.now() - startedAt);
  if (before === null) meters.runStarted(agent);
  const hadEnded = before !== null && isOver(before);
  if (!hadEnded && isOver(document))
    meters.runEnded({ agent, status: document.status, durationMs: now - spec.started_at });
}
