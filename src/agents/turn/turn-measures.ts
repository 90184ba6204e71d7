// The measurements of a written turn: its time, and the beginning or the end of its run. Never called for a turn that
// another engine has written.
import type { Reports } from '../../platform/telemetry/reports.ts';
import type { RunActivityIndex } from '../../store/run/run-activity-index.ts';
import { activityOf } from '../core/run-activity.ts';
import { isOver } from './fold.ts';
import type { StoredRun } from './run-store.ts';
import type { Turn } from './turn-record.ts';

interface Measuring {
  reports: Reports;
  activity: Pick<RunActivityIndex, 'note'>;
}

/** `startedAt`: by the process' monotonic clock. */
export function measureTurn(
  { reports: { meters }, activity }: Measuring,
  { requestId, document: before, spec, now }: StoredRun,
  { folded: { document } }: Turn,
  startedAt: number,
): void {
  const { agent } = spec;
  const did = before === null ? null : activityOf(before);
  const does = activityOf(document);
  if (did !== does) activity.note(requestId, does);
  meters.turnTaken(performance.now() - startedAt);
  if (before === null) meters.runStarted(agent);
  const hadEnded = before !== null && isOver(before);
  if (!hadEnded && isOver(document))
    meters.runEnded({ agent, status: document.status, durationMs: now - spec.started_at });
}
