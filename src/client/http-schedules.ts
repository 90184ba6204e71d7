/** Schedules over HTTP.
 *  It must never repeat a trigger that may have arrived without its key. */
import { schedulePath } from '../contract/api-path.ts';
import type { Firing, ScheduleClient, ScheduleListing, ScheduleView } from '../contract/schedule.ts';
import type { Exchanger } from './exchange.ts';

export function createHttpSchedules(
  exchanger: Exchanger,
  queryText: (query: object) => string,
): ScheduleClient {
  const post = async <T>(path: string, body: unknown): Promise<T> =>
    exchanger.json<T>({ method: 'POST', path, body });
  return {
    create: async (schedule) => post<ScheduleView>('/v1/schedules', schedule),
    list: async (query = {}) => exchanger.json<ScheduleListing>({ path: `/v1/schedules${queryText(query)}` }),
    get: async (id) => exchanger.json<ScheduleView>({ path: schedulePath(id) }),
    replace: async (id, body) =>
      exchanger.json<ScheduleView>({ method: 'PUT', path: schedulePath(id), body }),
    pause: async (id, body = {}) => post<ScheduleView>(`${schedulePath(id)}/pause`, body),
    resume: async (id) => post<ScheduleView>(`${schedulePath(id)}/resume`, {}),
    trigger: async (id, body = {}, { traceparent } = {}) =>
      exchanger.json<Firing>({
        method: 'POST',
        path: `${schedulePath(id)}/trigger`,
        headers: traceparent === undefined ? {} : { traceparent },
        body,
      }),
    delete: async (id) => exchanger.json<ScheduleView>({ method: 'DELETE', path: schedulePath(id) }),
  };
}
