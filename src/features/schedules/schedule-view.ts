// A schedule as callers see it.
// Must never show a scoped id, nor what a key may do.
import { requestLinks } from '../../contract/api-path.ts';
import type { Firing, ListedSchedule, ScheduleView } from '../../contract/schedule/schedule.ts';
import { ownId } from '../../contract/access/tenant.ts';
import type { Schedule, ScheduleHead } from './schedule-record.ts';

export function listedSchedule(schedule: ScheduleHead, last: Firing | undefined): ListedSchedule {
  const { spec, owner, paused, counts, failing } = schedule;
  const { cron, time_zone, every_ms, jitter_ms, starts_at, ends_at, overlap, catch_up_ms } = spec;
  const status = schedule.endedAt !== null ? 'ended' : paused !== null ? 'paused' : 'active';
  return {
    id: ownId(schedule.id),
    status,
    cron,
    time_zone,
    every_ms,
    jitter_ms,
    starts_at,
    ends_at,
    overlap,
    catch_up_ms,
    fires: spec.fires,
    next_at: status === 'active' ? instantText(schedule.nextAt) : null,
    queued_at: instantText(schedule.queuedAt),
    created_at: spec.created_at,
    edited_at: spec.edited_at,
    version: versionOf(schedule),
    fires_as: owner?.name ?? null,
    paused,
    waiting: schedule.waiting,
    counts,
    failures_in_a_row: failing,
    last: last ?? null,
  };
}

/** As callers know it. */
export function versionOf({ versionText, made }: Pick<ScheduleHead, 'versionText' | 'made'>): string {
  return versionText || made || FIRST_VERSION;
}

const FIRST_VERSION = '1';

export function scheduleView(schedule: Schedule, history: readonly Firing[]): ScheduleView {
  return {
    ...listedSchedule(schedule, history[0]),
    template: templateOf(schedule),
    history: [...history],
  };
}

export function templateOf({
  template: { directives, run },
}: Pick<Schedule, 'template'>): ScheduleView['template'] {
  return run === undefined ? { directives: directives ?? [] } : { run };
}

/** Outcome of one instant. */
export interface FiringFacts {
  readonly scheduledAt: number;
  readonly at: number;
  readonly outcome: Firing['outcome'];
  readonly reason?: string | null;
  /** As the tenant knows it. */
  readonly requestId?: string | null;
  readonly missed?: { readonly instants: number; readonly until: number };
}

/** Reasons name what others have written: a tool, an agent. */
export const LONGEST_REASON = 400;

export function firingOf(facts: FiringFacts): Firing {
  const { scheduledAt, at, outcome, reason = null, requestId = null, missed } = facts;
  return {
    scheduled_at: new Date(scheduledAt).toISOString(),
    at: new Date(at).toISOString(),
    outcome,
    reason: reason === null ? null : reason.slice(0, LONGEST_REASON),
    request_id: requestId,
    instants: missed?.instants ?? 1,
    until: missed === undefined ? null : new Date(missed.until).toISOString(),
    links: requestId === null ? null : { request: requestLinks(requestId).request },
  };
}

function instantText(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
