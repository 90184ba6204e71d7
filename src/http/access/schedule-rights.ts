// With whose rights a schedule fires, and who may touch it.
// Must never let a schedule fire what the key behind it may not submit itself.
import { onceFieldOf } from '../../contract/directive/once.ts';
import type { ScheduleClient, ScheduleView } from '../../contract/schedule/schedule.ts';
import type { Audit } from './audit.ts';
import { endOfKey, type KeyRecord } from './key-records.ts';
import { callerText, hasScope, type Patterns, PERSON_MARK, type Principal, TOKEN_MARK } from './principal.ts';
import type { SpendBudget } from './key-budget.ts';
import { ENVIRONMENT_KEY, principalOf } from './gate.ts';
import { forbiddenOnce, forbiddenRun, forbiddenUnderKey, forbiddenUse } from './use.ts';

/** As it is kept with the schedule. */
export interface Owner {
  readonly id: string;
  readonly name: string;
  readonly issuer?: string;
  readonly tools: string[] | null;
  readonly agents: string[] | null;
  readonly models: string[] | null;
  readonly perMinute: number | null;
  readonly perDay: number | null;
  readonly tokensPerDay: number | null;
  readonly moneyPerDay: number | null;
}

type Template = ScheduleView['template'];

/** The owner; null: no key is required. */
export function ownerOf(caller: Principal | null): Owner | null {
  if (caller === null) return null;
  const { id, name, perMinute, perDay, tokensPerDay, moneyPerDay } = caller;
  const copied = (patterns: Patterns): string[] | null => (patterns === null ? null : [...patterns]);
  const rights = {
    tools: copied(caller.tools),
    agents: copied(caller.agents),
    models: copied(caller.models),
  };
  const vouched = caller.issuer === undefined ? {} : { issuer: caller.issuer };
  return { id, name, ...vouched, ...rights, perMinute, perDay, tokensPerDay, moneyPerDay };
}

/**
 * A token or a login is not asked for again: it lives for minutes or hours, and its rights stay as they were, `cancel` among them if its
 * schedule needed that when it was made.
 */
export function ownerAsCaller(owner: Owner, tenant: string): Principal {
  return { ...owner, tenant, scopes: new Set(['submit', 'cancel']) };
}

/** The submission of a schedule, and its policy for open work. */
export type Fired = Template & Pick<ScheduleView, 'overlap'>;

export type OwnerCheck = (owner: Owner, tenant: string, fired: Fired) => Promise<string | null>;

/** Says in a sentence why the owner may not fire it any more; null: it may. `find`: reads a key of the installation. */
export function createOwnerCheck(
  find: (id: string) => Promise<KeyRecord | null>,
  now: () => number = Date.now,
): OwnerCheck {
  return async (owner, tenant, fired) => {
    const caller = ownerAsCaller(owner, tenant);
    if (owner.id === ENVIRONMENT_KEY) return null;
    if ([TOKEN_MARK, PERSON_MARK].some((mark) => owner.id.startsWith(mark))) return notAllowed(caller, fired);
    const record = await find(owner.id);
    const end = endOfKey(record, tenant, now());
    if (record === null || end !== null) return `The ${callerText(caller)} ${end}.`;
    const key = principalOf(record);
    if (!hasScope(key, 'submit')) return `The ${callerText(caller)} has not the scope submit.`;
    return notAllowed(key, fired);
  };
}

/** The part that the caller may not submit, in a sentence; null: all is allowed. */
function notAllowed(caller: Principal, fired: unknown): string | null {
  const { directives, run, overlap } = Object(fired) as Partial<Record<keyof Fired, unknown>>;
  if (run !== undefined) {
    const members = Object(run) as Record<string, unknown>;
    const no = forbiddenRun(caller, members) ?? forbiddenUnderKey(caller, members);
    return no ?? forbiddenOverlap(caller, overlap, members);
  }
  for (const directive of Array.isArray(directives) ? (directives as unknown[]) : []) {
    const members = Object(directive) as Record<string, unknown>;
    const no = forbiddenUse(caller, members) ?? forbiddenOnce(caller, members);
    if (no !== null) return no;
    const other = forbiddenOverlap(caller, overlap, members);
    if (other !== null) return other;
  }
  return null;
}

/** The open work under a key may belong to another caller. */
function forbiddenOverlap(caller: Principal, overlap: unknown, fields: object): string | null {
  if (overlap !== 'cancel_running' || hasScope(caller, 'cancel')) return null;
  const kind = onceFieldOf(fields);
  if (kind === undefined) return null;
  return `The ${callerText(caller)} has not the scope cancel, which cancel_running needs with ${kind}: it cancels what is open under the key.`;
}

export interface ScheduleGuards {
  readonly audit: Audit;
  readonly spend: SpendBudget;
  /** Throws the refusal of a caller without the scope. */
  readonly requireCaller: () => Principal | null;
  /** Throws the refusal, where there is one. */
  readonly refuse: (sentence: string | null) => void;
  /** Whether the caller may see what it has not submitted itself. */
  readonly mayRead: (caller: Principal | null) => boolean;
}

/** Who may use only some tools, agents or models touches only what it might submit itself. */
export function guardSchedules(
  schedules: ScheduleClient,
  { audit, spend, requireCaller, refuse, mayRead }: ScheduleGuards,
): ScheduleClient {
  async function asCaller(id: string): Promise<{ caller: Principal | null; template: Template }> {
    const caller = requireCaller();
    if (caller === null) return { caller, template: {} };
    const { template, overlap } = await schedules.get(id);
    refuse(notAllowed(caller, { ...template, overlap }));
    return { caller, template };
  }

  const around = (action: Parameters<Audit['around']>[1]) =>
    async function touch(id: string, work: () => Promise<ScheduleView>): Promise<ScheduleView> {
      const { caller } = await asCaller(id);
      const view = await audit.around(caller, action, { target: id }, work);
      return mayRead(caller) ? view : { ...view, template: {}, history: [] };
    };

  /** The content is the caller's own; the schedule may be older. */
  const written = async (caller: Principal | null, work: Promise<ScheduleView>): Promise<ScheduleView> => {
    const view = await work;
    return mayRead(caller) ? view : { ...view, history: [] };
  };

  return {
    ...schedules,
    create: async (body) => {
      const caller = requireCaller();
      if (caller !== null) refuse(notAllowed(caller, body));
      const { id } = Object(body) as { id?: unknown };
      const target = typeof id === 'string' ? id : undefined;
      const create = () => schedules.create(body);
      return written(caller, audit.around(caller, 'create_schedule', { target }, create));
    },
    replace: async (id, body) => {
      const { caller } = await asCaller(id);
      if (caller !== null) refuse(notAllowed(caller, body));
      const replace = () => schedules.replace(id, body);
      return written(caller, audit.around(caller, 'replace_schedule', { target: id }, replace));
    },
    pause: async (id, body) => around('pause_schedule')(id, () => schedules.pause(id, body)),
    resume: async (id) => around('resume_schedule')(id, () => schedules.resume(id)),
    delete: async (id) => around('delete_schedule')(id, () => schedules.delete(id)),
    trigger: async (id, body, options) => {
      const { caller, template } = await asCaller(id);
      if (caller !== null) await spend(caller, template.directives?.length ?? 1);
      return audit.around(caller, 'trigger_schedule', { target: id }, () =>
        schedules.trigger(id, body, options),
      );
    },
  };
}
