// The operations of callers on schedules: create, list, replace, pause, resume, trigger, delete. Never fires an
// instant: the firing loop does; a trigger is a firing of its own.
import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { ParseOptions } from '../../contract/directive/directive.ts';
import type { DirectiveClient, RunCalls } from '../../contract/directive/directive-client.ts';
import { DirectiveRefused, problem, ServiceUnavailable } from '../../contract/problem.ts';
import { readInput } from '../../contract/json/read-input.ts';
import {
  type Firing,
  type ListedSchedule,
  pauseScheduleBodySchema,
  type ScheduleClient,
  scheduleIdSchema,
  type ScheduleListing,
  scheduleQuerySchema,
  triggerScheduleBodySchema,
} from '../../contract/schedule/schedule.ts';
import { ALL_TENANTS } from '../../contract/access/tenant-name.ts';
import { ownId, scopedId } from '../../contract/access/tenant.ts';
import { whileAvailable } from '../../platform/redis/unavailable.ts';
import { dueAtOf } from './decision.ts';
import { editing, readEdit } from './edit.ts';
import { nextInstant } from './instants.ts';
import { newSchedule } from './new-schedule.ts';
import { instantField, type Schedule, type ScheduleOwner, timingOf } from './schedule-record.ts';
import { MOST_HISTORY, MOST_SCHEDULES, type ScheduleChange, type ScheduleStore } from './schedule-store.ts';
import { firingOf, listedSchedule, scheduleView } from './schedule-view.ts';
import { submittedAs, triggeredRequestOf } from './template.ts';
import { MOST_OPEN, openOf, sent, wasSent, withRequest } from './sending.ts';

export interface ScheduleServiceParts {
  readonly store: ScheduleStore;
  /** Time of Redis, milliseconds since the epoch. */
  now(): Promise<number>;
  readonly parsing: ParseOptions;
  /** How long a closed request of the tenant stays readable, milliseconds. */
  closedMs(tenant: string): number;
  /** Record of the journal under the scoped id of a request. */
  statusOf(requestId: string): Promise<'open' | 'closed' | 'none'>;
  /** Rights with which it fires: those of the caller; null: no key was needed. */
  owner(): ScheduleOwner | null;
  /** Throws `DirectiveRefused` (`service_full`). */
  requireMemory(): Promise<void>;
}

/** Fires a triggered schedule. */
type Firers = Pick<DirectiveClient, 'submit'> & { readonly runs: RunCalls };

const DEFAULT_PAGE = 100;
const READ_AT_ONCE = 50;
/** Most decisions over a schedule that changes meanwhile. */
const MOST_DECISIONS = 20;

export function createScheduleService(parts: ScheduleServiceParts) {
  const { store } = parts;

  async function view(schedule: Schedule) {
    return scheduleView(schedule, await store.history(schedule.id, MOST_HISTORY));
  }

  async function found(id: string): Promise<Schedule> {
    const schedule = await store.read(id);
    if (schedule === null) throw unknownSchedule(id);
    return schedule;
  }

  /** Decides over the present schedule until it is written without a concurrent change. `null`: nothing to change. */
  async function change(id: string, decide: (schedule: Schedule, now: number) => ScheduleChange | null) {
    for (let left = MOST_DECISIONS; left > 0; left -= 1) {
      const [schedule, now] = await Promise.all([found(id), parts.now()]);
      const decided = decide(schedule, now);
      if (decided === null || (await store.change(schedule, decided)) === 'done')
        return view(await found(id));
    }
    throw new ServiceUnavailable('The schedule changes all the time', { retryAfterMs: 1_000 });
  }

  async function create(tenant: string, body: unknown) {
    const now = await parts.now();
    const { id, digest, spec, template, nextAt } = newSchedule(body, { ...parts, tenant, now });
    await parts.requireMemory();
    const owner = JSON.stringify(parts.owner());
    const fields = {
      made: randomUUID(),
      spec: JSON.stringify(spec),
      template: JSON.stringify(template),
      owner,
      next_at: String(nextAt),
      requests: '[]',
    };
    const verdict = await store.put({ id, digest, lookAt: dueAtOf({ id, spec }, nextAt), fields });
    if (verdict === 'full') throw full();
    if (verdict === 'conflict') throw conflict(ownId(id));
    return view(await found(id));
  }

  return (tenant: string, client: Firers): ScheduleClient => {
    const scoped = (id: string): string => scopedId(tenant, requireId(id));
    return {
      create: async (body) => whileAvailable(() => create(tenant, body)),
      list: async (query = {}) => whileAvailable(() => list(store, tenant, query)),
      get: async (id) => whileAvailable(async () => view(await found(scoped(id)))),
      replace: async (id, body) =>
        whileAvailable(async () => {
          const edit = readEdit(scoped(id), body, parts);
          await parts.requireMemory();
          const owner = parts.owner();
          return change(scoped(id), (schedule, now) => editing(schedule, edit, { now, owner }));
        }),
      pause: async (id, body = {}) => {
        const { note = null } = readInput(pauseScheduleBodySchema, body, 'invalid_body');
        const by = parts.owner()?.name ?? null;
        return whileAvailable(() =>
          change(scoped(id), (schedule, now) => pausing(schedule, { now, by, note })),
        );
      },
      resume: async (id) =>
        whileAvailable(() => change(scoped(id), (schedule, now) => resuming(schedule, now, parts.owner()))),
      trigger: async (id, body = {}, { traceparent } = {}) =>
        whileAvailable(async () => trigger(parts, await found(scoped(id)), body, { client, traceparent })),
      delete: async (id) =>
        whileAvailable(async () => {
          const schedule = await found(scoped(id));
          const shown = await view(schedule);
          await store.remove(schedule);
          return shown;
        }),
    };
  };
}

async function list(store: ScheduleStore, tenant: string, query: unknown): Promise<ScheduleListing> {
  const {
    after,
    limit = DEFAULT_PAGE,
    tenant: named,
  } = readInput(scheduleQuerySchema, query, 'invalid_query');
  return named === ALL_TENANTS ? listAll(store, after, limit) : listOf(store, tenant, { after, limit });
}

/** Tenant by tenant; `after`: the last tenant and its last id. */
async function listAll(
  store: ScheduleStore,
  after: string | undefined,
  limit: number,
): Promise<ScheduleListing> {
  const [last = '', lastId] = after?.split('~') ?? [];
  const schedules: ListedSchedule[] = [];
  for (const tenant of await store.tenants()) {
    if (tenant < last) continue;
    const page = { after: tenant === last ? lastId : undefined, limit: limit - schedules.length };
    const found = await listOf(store, tenant, page);
    schedules.push(...found.schedules.map((schedule) => ({ tenant, ...schedule })));
    if (found.next !== null) return { schedules, next: `${tenant}~${found.next}` };
  }
  return { schedules, next: null };
}

async function listOf(
  store: ScheduleStore,
  tenant: string,
  { after, limit }: { after: string | undefined; limit: number },
): Promise<ScheduleListing> {
  const ids = await store.ids(tenant, after, limit);
  const schedules: ListedSchedule[] = [];
  for (let from = 0; from < ids.length; from += READ_AT_ONCE) {
    const some = ids.slice(from, from + READ_AT_ONCE);
    schedules.push(
      ...(await Promise.all(some.map(async (own) => listed(store, scopedId(tenant, own))))).flat(),
    );
    // Others have their turn between.
    await setImmediate();
  }
  return { schedules, next: ids.length < limit ? null : (ids.at(-1) ?? null) };
}

async function listed(store: ScheduleStore, id: string): Promise<ListedSchedule[]> {
  const [head, [last]] = await Promise.all([store.head(id), store.history(id, 1)]);
  return head === null ? [] : [listedSchedule(head, last)];
}

/** The request of a key is submitted once; its entry is written once, as long as the history has it. */
async function trigger(
  { store, now, statusOf }: Pick<ScheduleServiceParts, 'store' | 'now' | 'statusOf'>,
  schedule: Schedule,
  body: unknown,
  { client, traceparent }: { client: Firers; traceparent: string | undefined },
): Promise<Firing> {
  const { key = randomUUID() } = readInput(triggerScheduleBodySchema, body, 'invalid_body');
  const requestId = triggeredRequestOf(schedule, key);
  const recorded = async (id: string): Promise<Firing | undefined> =>
    (await store.history(schedule.id, MOST_HISTORY)).find((each) => each.request_id === id);
  if (schedule.spec.overlap !== 'allow' && (await recorded(requestId)) === undefined)
    requireFew(await openOf(schedule, statusOf), requestId);
  // What was triggered before the schedule was changed is not submitted again with another content.
  const isThere = await wasSent(schedule, requestId, statusOf);
  const { requestId: made, isRepeat } = isThere
    ? { requestId, isRepeat: true }
    : await sent(client, submittedAs(schedule, requestId), traceparent);
  const at = await now();
  const entry = firingOf({ scheduledAt: at, at, outcome: 'triggered', requestId: made });
  const known = isRepeat ? await recorded(made) : undefined;
  if (known !== undefined) return known;
  for (let left = MOST_DECISIONS; left > 0; left -= 1) {
    const current = await store.read(schedule.id);
    if (current === null || current.made !== schedule.made) break;
    const over = { requests: JSON.stringify(current.requests) };
    const set = { requests: withRequest(await openOf(current, statusOf), made) };
    if ((await store.change(current, { over, entry, add: { triggered: 1 }, set })) !== 'changed') break;
  }
  return entry;
}

/** One that is forgotten while it is open would not be in the way of the next instant. Throws the refusal. */
function requireFew(open: readonly string[], requestId: string): void {
  if (open.length < MOST_OPEN || open.includes(requestId)) return;
  const detail = `${open.length} requests of the schedule are open, as ${open[0]}: cancel some, or wait for their ends.`;
  throw new DirectiveRefused(problem('lane_full', { detail }));
}

function pausing(
  { paused, endedAt }: Schedule,
  { now, by, note }: { now: number; by: string | null; note: string | null },
): ScheduleChange | null {
  if (paused !== null || endedAt !== null) return null;
  const at = new Date(now).toISOString();
  // What is being fired is looked at to its end.
  return { over: { paused: '', ended_at: '' }, set: { paused: JSON.stringify({ at, by, note }) } };
}

function resuming(schedule: Schedule, now: number, owner: ScheduleOwner | null): ScheduleChange | null {
  if (schedule.paused === null) return null;
  const over = { paused: schedule.pausedText, firing: instantField(schedule.firingAt) };
  const set = { paused: '', owner: JSON.stringify(owner), failing: '0' };
  // What is being fired goes on from there itself.
  if (schedule.firingAt !== null) return { over, set, lookAt: now };
  const nextAt = nextInstant(timingOf(schedule), now);
  const ended_at = nextAt === null && schedule.queuedAt === null ? String(now) : '';
  return { over, set: { ...set, next_at: instantField(nextAt), ended_at }, lookAt: now };
}

/** Whatever is no id names nothing. */
function requireId(id: string): string {
  if (scheduleIdSchema.safeParse(id).success) return id;
  throw unknownSchedule(String(id).slice(0, 64));
}

function unknownSchedule(id: string): DirectiveRefused {
  const shown = id.slice(id.indexOf('~') + 1);
  return new DirectiveRefused(problem('not_found', { detail: `There is no schedule "${shown}".` }));
}

function conflict(id: string): DirectiveRefused {
  const detail = `There is another schedule "${id}": change or delete it, or choose another id.`;
  return new DirectiveRefused(problem('id_conflict', { detail }));
}

function full(): DirectiveRefused {
  const detail = `There are ${MOST_SCHEDULES} schedules, and there may not be more: delete some.`;
  return new DirectiveRefused(problem('schedules_full', { detail }));
}
