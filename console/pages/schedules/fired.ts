/** The outcomes of the requests that schedules have submitted. Never reads more than one page of the list. */
import type { ListedRequest, RequestListing } from '../../../src/contract/request/request-listing.ts';
import { path } from '../../data/api.ts';
import { useRead } from '../../data/queries.ts';
import { scheduleOf } from '../../data/schedule-of.ts';

const EVERY_MS = 5_000;
const MOST = 200;

/** The newest requests of all schedules, or of one. Empty where the service keeps no list. */
export function useFired(scheduleId = ''): readonly ListedRequest[] {
  const prefix = scheduleId === '' ? 'schedule.' : `schedule.${scheduleId}.`;
  const { data } = useRead<RequestListing>(path`/v1/requests?q=${prefix}&limit=${MOST}`, {
    everyMs: EVERY_MS,
  });
  return data?.requests ?? [];
}

/** Number of the last requests of each schedule that failed one after the other. Requests that are in progress count as nothing. */
export function failuresOf(
  requests: readonly Pick<ListedRequest, 'request_id' | 'status'>[],
): ReadonlyMap<string, number> {
  const failures = new Map<string, number>();
  const settled = new Set<string>();
  for (const { request_id: id, status } of requests) {
    const schedule = scheduleOf(id);
    if (schedule === null || settled.has(schedule)) continue;
    if (status === 'failed') failures.set(schedule, (failures.get(schedule) ?? 0) + 1);
    else if (status === 'succeeded' || status === 'cancelled') settled.add(schedule);
  }
  return failures;
}
