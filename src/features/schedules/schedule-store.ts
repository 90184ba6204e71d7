// The schedules in Redis: all keys of them are in one slot, so that each change is one step.
// Must never decide: it compares what was decided over, and writes.
import { DEFAULT_TENANT, ownId, tenantOf } from '../../contract/access/tenant.ts';
import type { Firing } from '../../contract/schedule/schedule.ts';
import type { KeySpace } from '../../store/keys.ts';
import { prepareScripts } from '../../store/scripts.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import {
  HEAD_FIELDS,
  readHead,
  readHistory,
  readSchedule,
  type Schedule,
  type ScheduleFields,
  type ScheduleHead,
} from './schedule-record.ts';

export const MOST_SCHEDULES = 1_000;
export const MOST_HISTORY = 100;
/** Due schedules taken at once: all of several tenants with the maximum. */
const MOST_SEEN = 5 * MOST_SCHEDULES;

/** A change of a schedule as it was decided over. */
export interface ScheduleChange {
  /** Fields that must be as they were. `made` always is. */
  readonly over?: ScheduleFields;
  /** Next due time, by the clock of Redis; `never`. Default: unchanged. */
  readonly lookAt?: number | 'never';
  readonly entry?: Firing;
  /** Fields to add to. */
  readonly add?: Readonly<Record<string, number>>;
  readonly set?: ScheduleFields;
}

export interface NewSchedule {
  readonly id: string;
  readonly digest: string;
  readonly lookAt: number;
  readonly fields: ScheduleFields;
}

/** Begun before a write, awaited after it: rejects when the write may still be lost. null: Redis' own durability. */
type BeginConfirm = () => Promise<(() => Promise<void>) | null>;

export type ScheduleStore = ReturnType<typeof createScheduleStore>;

export function createScheduleStore(connection: RedisConnection, keys: KeySpace, confirm: BeginConfirm) {
  const run = prepareScripts(connection);
  const due = keys.schedulesDue;

  async function confirmed<T>(write: () => Promise<T>): Promise<T> {
    const confirmation = await confirm();
    const answer = await write();
    await confirmation?.();
    return answer;
  }

  return {
    /**
     * Due schedules that no process holds, of each tenant in turn. `holdMs`: how long they are held. `turn`: with which tenant
     * it begins, another one at each call. `now`: by the clock of Redis.
     */
    async take(limit: number, holdMs: number, turn: number): Promise<{ now: number; ids: string[] }> {
      const [now, ...ids] = await run('schedule-take', [due], [limit, holdMs, MOST_SEEN, turn]);
      return { now: Number(now), ids: ids.map(String) };
    },
    async read(id: string): Promise<Schedule | null> {
      const [record] = keys.schedule(id);
      return readSchedule(id, await connection.hgetall(record));
    },
    /** Without what it submits, which may be long. */
    async head(id: string): Promise<ScheduleHead | null> {
      const [record] = keys.schedule(id);
      const values = await connection.hmget(record, ...HEAD_FIELDS);
      const known = HEAD_FIELDS.flatMap((field, at) => {
        const value = values[at];
        return typeof value === 'string' ? [[field, value] as const] : [];
      });
      return readHead(id, Object.fromEntries(known));
    },
    async history(id: string, most: number): Promise<Firing[]> {
      const [, history] = keys.schedule(id);
      return readHistory(await connection.lrange(history, 0, most - 1));
    },
    /** Ids as the tenant knows them, in their order. */
    async ids(tenant: string, after: string | undefined, limit: number): Promise<string[]> {
      const from = after === undefined ? '-' : `(${after}`;
      return connection.zrangebylex(keys.schedulesOf(tenant), from, '+', 'LIMIT', 0, limit);
    },
    /** Those that may have schedules, in the order of their names. */
    async tenants(): Promise<string[]> {
      return [DEFAULT_TENANT, ...(await connection.smembers(keys.scheduleTenants))].toSorted();
    },
    async put({
      id,
      digest,
      lookAt,
      fields,
    }: NewSchedule): Promise<'done' | 'existing' | 'conflict' | 'full'> {
      const places = [due, keys.schedule(id)[0], keys.schedulesOf(tenantOf(id)), keys.scheduleTenants];
      const given = [id, ownId(id), digest, lookAt, MOST_SCHEDULES, ...Object.entries(fields).flat()];
      const [verdict] = await confirmed(() => run('schedule-put', places, given));
      return verdict as 'done';
    },
    async change(
      { id, made }: Pick<Schedule, 'id' | 'made'>,
      { over = {}, lookAt, entry, add = {}, set = {} }: ScheduleChange,
    ): Promise<'done' | 'changed' | 'gone'> {
      const text = entry === undefined ? '' : JSON.stringify(entry);
      const decided = JSON.stringify({ ...over, made });
      const given = [id, decided, lookAt ?? '', text, MOST_HISTORY, JSON.stringify(add)];
      const fields = Object.entries(set).flat();
      const [verdict] = await confirmed(() =>
        run('schedule-change', [due, ...keys.schedule(id)], [...given, ...fields]),
      );
      return verdict as 'done';
    },
    async remove({ id, made }: Pick<Schedule, 'id' | 'made'>): Promise<'done' | 'changed' | 'gone'> {
      const places = [due, ...keys.schedule(id), keys.schedulesOf(tenantOf(id)), keys.scheduleTenants];
      const [verdict] = await confirmed(() => run('schedule-remove', places, [id, ownId(id), made]));
      return verdict as 'done';
    },
    /** How late the first one is that is due, milliseconds. */
    async lagMs(now: number): Promise<number> {
      const [, score] = await connection.zrangebyscore(due, '-inf', '+inf', 'WITHSCORES', 'LIMIT', 0, 1);
      return score === undefined ? 0 : Math.max(0, now - Number(score));
    },
  };
}
