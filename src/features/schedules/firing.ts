// Fires one instant of a schedule, and records what became of it.
// Must never submit before the instant is marked as being fired, nor forget it before its outcome is recorded.
import { DirectiveRefused } from '../../contract/problem.ts';
import type { DirectiveClient, RunCalls } from '../../contract/directive/directive-client.ts';
import type { FiringOutcome, Overlap } from '../../contract/schedule/schedule.ts';
import { tenantOf } from '../../contract/access/tenant.ts';
import { NO_SPANS, type Spans } from '../../platform/telemetry/traces/spans.ts';
import { following, type Instant, type Step } from './decision.ts';
import { createFiringSpans } from './firing-spans.ts';
import type { Missed } from './instants.ts';
import { asRead, instantField, NOT_BEGUN, type Schedule, type ScheduleOwner } from './schedule-record.ts';
import type { ScheduleChange, ScheduleStore } from './schedule-store.ts';
import { type FiringFacts, firingOf, templateOf } from './schedule-view.ts';
import { type Sent, sent, wasSent, withRequest } from './sending.ts';
import { requestOf, submittedAs, type Template } from './template.ts';
import { createUnfired } from './unfired.ts';

export interface FiringParts {
  readonly store: ScheduleStore;
  /** No key is needed here. */
  clientOf(tenant: string): Pick<DirectiveClient, 'submit' | 'cancel'> & { readonly runs: RunCalls };
  /** Record of the journal under the scoped id of a request. */
  statusOf(requestId: string): Promise<'open' | 'closed' | 'none'>;
  /** Why the owner may not fire this any more, in a sentence; null: it may. */
  forbidden(
    owner: ScheduleOwner,
    tenant: string,
    fired: Template & { readonly overlap: Overlap },
  ): Promise<string | null>;
  /** Attributes submissions meanwhile to the owner, whose budget pays their models. Default: no owner. */
  onBehalf?<T>(owner: ScheduleOwner, tenant: string, work: () => Promise<T>): Promise<T>;
  /** Takes it from the budget of the owner. Throws the refusal. */
  spend(owner: ScheduleOwner, tenant: string, count: number): Promise<void>;
  /** How long a closed request of the tenant stays readable, milliseconds. */
  closedMs(tenant: string): number;
  onFiring(outcome: Exclude<FiringOutcome, 'triggered'>, count: number): void;
  /** Default: nothing is traced. */
  spans?: Spans | undefined;
}

/** One poll of due schedules. */
export interface Taken {
  /** Time of Redis, as far as this process knows. */
  clock(): number;
  /** Whether others may have taken what was taken with it. */
  isOver(): boolean;
}

export interface Given {
  readonly now: number;
  readonly open: readonly string[];
  readonly taken: Taken;
}

/** Records the outcome, and goes on to the next instant. Returns whether the schedule is due again at once. */
export type Settle = (
  schedule: Schedule,
  instant: Instant,
  given: Given,
  facts: SettledFacts,
) => Promise<boolean>;

export type SettledFacts = Omit<FiringFacts, 'scheduledAt' | 'at' | 'missed' | 'outcome'> & {
  readonly missed?: Missed;
  readonly outcome: Exclude<FiringOutcome, 'triggered'>;
  /** Reason of the refusal. Default: none. */
  readonly code?: string;
};

export function createSettle({
  store,
  onFiring,
  spans = NO_SPANS,
}: Pick<FiringParts, 'store' | 'onFiring' | 'spans'>): Settle {
  const { unfired } = createFiringSpans(spans);
  return async (schedule, instant, { open, taken }, facts) => {
    const now = taken.clock();
    const { outcome, requestId = null, missed } = facts;
    const next = following(schedule, instant, now, missed);
    const count = missed?.instants ?? 1;
    const requests = requestId === null ? JSON.stringify(open) : withRequest(open, requestId);
    const change: ScheduleChange = {
      over: asRead(schedule),
      lookAt: next.lookAt,
      entry: firingOf({ ...facts, scheduledAt: instant.at, at: now }),
      add: { [outcome]: count, ...(outcome === 'failed' ? { failing: 1 } : {}) },
      set: {
        ...NOT_BEGUN,
        requests,
        next_at: instantField(next.nextAt),
        queued: instantField(next.queuedAt),
        ended_at: next.ends ? String(now) : '',
        ...(outcome === 'fired' ? { failing: '0' } : {}),
      },
    };
    if ((await store.change(schedule, change)) !== 'done') return true;
    onFiring(outcome, count);
    const { reason = null, code = null } = facts;
    if (outcome !== 'fired') unfired(schedule, instant.at, { outcome, reason, code, instants: count });
    return next.lookAt <= taken.clock();
  };
}

/** Returns whether the schedule is due again at once. */
export type Fire = (
  schedule: Schedule,
  step: Extract<Step, { kind: 'fire' }>,
  given: Given,
) => Promise<boolean>;

export function createFire(parts: FiringParts, settle: Settle): Fire {
  const { store } = parts;
  const { begin: traced, fired } = createFiringSpans(parts.spans ?? NO_SPANS);
  const { halt, refused } = createUnfired(parts, settle);

  async function fire(
    schedule: Schedule,
    { instant, cancels }: Extract<Step, { kind: 'fire' }>,
    given: Given,
  ): Promise<boolean> {
    const requestId = requestOf(schedule, instant.at);
    const wasMarked = schedule.firingAt !== null;
    if (wasMarked && (await wasSent(schedule, requestId, parts.statusOf)))
      return settle(schedule, instant, given, { outcome: 'fired', requestId });
    const no = await refusal(schedule);
    if (no !== null) return halt(schedule, instant, given, no);
    const begun = wasMarked ? schedule : await begin(schedule, instant, given);
    if (begun === null) return true;
    let isPaid = begun.paidAt === instant.at;
    try {
      if (!isPaid) await pay(begun);
      isPaid = true;
      const client = parts.clientOf(tenantOf(schedule.id));
      for (const each of cancels) await client.cancel(each, undefined, { reason: REPLACED }).catch(ifRefused);
      // A process that was stopped meanwhile must not submit what another one has long recorded.
      if (given.taken.isOver()) return false;
      const made = await send(client, schedule, requestId, traced(begun, instant.at));
      fired(begun, instant.at, made);
      return await settle(begun, instant, given, { outcome: 'fired', requestId: made });
    } catch (error) {
      if (!(error instanceof DirectiveRefused)) throw error;
      return refused(begun, { instant, isPaid }, given, error.problem);
    }
  }

  /** Why it may not fire now, whatever it might when the instant was marked. */
  async function refusal(schedule: Schedule): Promise<string | null> {
    const { owner, id, fault, spec } = schedule;
    if (fault !== null || owner === null) return fault;
    return parts.forbidden(owner, tenantOf(id), { ...templateOf(schedule), overlap: spec.overlap });
  }

  async function pay(schedule: Schedule): Promise<void> {
    const { owner, id } = schedule;
    if (owner !== null) await parts.spend(owner, tenantOf(id), templateOf(schedule).directives?.length ?? 1);
  }

  async function send(
    client: Sender,
    schedule: Schedule,
    requestId: string,
    traceparent: string,
  ): Promise<string> {
    const { owner, id } = schedule;
    const work = async (): Promise<Sent> => sent(client, submittedAs(schedule, requestId), traceparent);
    const made = await (owner === null || parts.onBehalf === undefined
      ? work()
      : parts.onBehalf(owner, tenantOf(id), work));
    return made.requestId;
  }

  /** Marks the instant: from here on any process fires it. null: the schedule changed or is paused. */
  async function begin(schedule: Schedule, instant: Instant, given: Given): Promise<Schedule | null> {
    const set = { firing: String(instant.at), begun_at: String(given.now) };
    const verdict = await store.change(schedule, { over: asRead(schedule), set });
    return verdict === 'done' ? { ...schedule, firingAt: instant.at, begunAt: given.now } : null;
  }

  return fire;
}

type Sender = Pick<DirectiveClient, 'submit'> & { readonly runs: RunCalls };

const REPLACED = 'the next instant of its schedule is fired';
/** Ignores requests that no longer exist: they need no cancellation. */
function ifRefused(error: unknown): void {
  if (!(error instanceof DirectiveRefused)) throw error;
}
