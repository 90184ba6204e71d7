/** A schedule as the service lists it, for tests of what is made of one.
 *  It must not read a clock. */
import type { ListedSchedule } from '../../src/contract/schedule/schedule.ts';

export function listedSchedule(more: Partial<ListedSchedule> = {}): ListedSchedule {
  return {
    id: 's',
    status: 'active',
    cron: '* * * * *',
    time_zone: 'UTC',
    every_ms: null,
    jitter_ms: 0,
    starts_at: null,
    ends_at: null,
    overlap: 'skip',
    catch_up_ms: 1_000,
    fires: 'directives',
    next_at: null,
    queued_at: null,
    created_at: '2026-11-23T00:00:00Z',
    edited_at: null,
    version: 'v1',
    fires_as: null,
    paused: null,
    waiting: null,
    counts: { fired: 0, triggered: 0, skipped: 0, failed: 0, missed: 0 },
    failures_in_a_row: 0,
    last: null,
    ...more,
  };
}
