// Joins what callers do with schedules with the store of a process.
// Must never fire one.
import { closedMsOf } from '../contract/access/tenant-limits.ts';
import type { ParseOptions } from '../contract/directive/directive.ts';
import { scopedId } from '../contract/access/tenant.ts';
import type { Capacity } from '../directives/capacity.ts';
import type { SchedulesOf } from '../directives/queue-client.ts';
import { redisClock } from '../platform/redis/clock.ts';
import type { ScheduleOwner } from '../features/schedules/schedule-record.ts';
import { createScheduleService } from '../features/schedules/schedule-service.ts';
import { createScheduleStore } from '../features/schedules/schedule-store.ts';
import type { Store } from './store.ts';

export interface SchedulesOptions extends Required<ParseOptions> {
  /** Rights of schedules that are made now. Default: no key is needed. */
  readonly owner?: (() => ScheduleOwner | null) | undefined;
}

export function schedulesOf(
  { connection, keys, queue, limitsOf, retentionMs, records }: Store,
  { requireMemory }: Pick<Capacity, 'requireMemory'>,
  { owner = () => null, maxDirectives, customTypes }: SchedulesOptions,
): SchedulesOf {
  return createScheduleService({
    store: createScheduleStore(connection, keys, queue.confirm),
    now: redisClock(connection),
    parsing: { maxDirectives, customTypes },
    closedMs: (tenant) => closedMsOf(limitsOf, scopedId(tenant, ''), retentionMs),
    statusOf: async (requestId) => (await records.journal.head(requestId))?.status ?? 'none',
    owner,
    requireMemory,
  });
}
