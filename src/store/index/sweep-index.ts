// The index of directives that must be checked again: a superset of the open ones, ordered by the time of the check.
// Never trusted: the journal decides what is open.
import { isPassing } from '../../contract/tool/server-read.ts';
import { ownId, tenantOf } from '../../contract/access/tenant.ts';
import { WEBHOOK_REQUEST_PREFIX } from '../../contract/signal/webhook.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import { createAnnouncer } from './announcer.ts';
import { INDEX_DELAY_MS } from './changed-requests.ts';
import type { NoteEnded } from './archive-queue.ts';
import type { KeySpace } from '../keys.ts';
import { type DirectiveRef, memberOf } from '../refs.ts';
import { prepareScripts } from '../scripts.ts';

/**
 * One due entry. `missedBefore`: the directive was not in the journal when it was last looked at.
 * `recordedBefore`: it had ended and was recorded; the check only removes a job that may still have arrived.
 */
export interface DueEntry extends DirectiveRef {
  missedBefore: boolean;
  recordedBefore?: boolean;
  /** Its score since it was taken: tells whether another check has been agreed since. */
  takenAs: string;
}

/** The entries that one sweeper has to check now. `now`: milliseconds since the epoch, by the clock of Redis. */
export interface Due {
  now: number;
  entries: DueEntry[];
  /** More may be due. */
  more: boolean;
}

/** Rule for directives that wait in one lane, more of them due than a sweeper has to check. */
export interface CrowdRule {
  /** The most entries that are looked at for this in one take. */
  mostSeen: number;
  /** The most of one lane, waiting for the same reason, that the sweeper is given. */
  mostGiven: number;
  /** So many of them it has been given just before. Default: none. */
  alreadyGiven?: number;
  /** The next check of the others, by the time that they have waited, milliseconds. */
  shortestLookMs: number;
  longestLookMs: number;
}

export type SweepIndex = ReturnType<typeof createSweepIndex>;

const FLUSH_DELAY_MS = 20;
const FLUSH_BATCH = 256;
const SAMPLE = 1_000;

/** Half a millisecond in the score marks an entry whose directive was missing once. */
const MISSED_MARK = 0.5;
/** A quarter marks one whose end was recorded. An eighth belongs to index-take.lua. */
const RECORDED_MARK = 0.25;

/** Entries of a run and of the notice of its end. */
const OF_RUN = /^[^/]*\/(@notice\/)?@run$/u;
/** When the sweeper checks a resumed run first, milliseconds after it: as after an acceptance. */
const RESUMED_LOOK_MS = 5_000;

/** Entries that a sweeper took and did not put off, because it died, are due again after this time. */
export const HOLD_MS = 1_000;

export function refOf(member: string): DirectiveRef {
  const slash = member.indexOf('/');
  return { requestId: member.slice(0, slash), id: member.slice(slash + 1) };
}

/** Whether a list of requests shows it: not the reads of hosts, nor notes of spans and of notices. */
export function isShown({ requestId, id }: DirectiveRef): boolean {
  return !isPassing(requestId) && !id.startsWith('@spans') && !id.startsWith('@notice');
}

/** Whether the service keeps it for itself: notices of ends, and their deliveries. */
function isOfService({ requestId, id }: DirectiveRef): boolean {
  return id.startsWith('@notice/') || ownId(requestId).startsWith(WEBHOOK_REQUEST_PREFIX);
}

function crowdWords(rule: CrowdRule): number[] {
  const { mostSeen, mostGiven, shortestLookMs, longestLookMs, alreadyGiven = 0 } = rule;
  return [mostSeen, mostGiven, shortestLookMs, longestLookMs, alreadyGiven];
}

export interface SweepIndexOptions {
  /** Called before an end is forgotten. Default: not called. */
  readonly noteEnded?: NoteEnded | undefined;
  /** Whether it is counted what the tenant has open. Default: of none. */
  readonly isLimited?: (tenant: string) => boolean;
  /** false: there is no list of requests, and no change is noted for it. Default: true. */
  readonly isListed?: boolean | undefined;
}

export function createSweepIndex(
  connection: RedisConnection,
  keys: KeySpace,
  { noteEnded, isLimited = () => false, isListed = true }: SweepIndexOptions = {},
) {
  const run = prepareScripts(connection);
  const announceAll = createAnnouncer(connection, keys, run);
  /**
   * The lead of the clock of Redis over that of this process, milliseconds: known from the first check of its sweeper
   * on.
   */
  let aheadMs = 0;
  let ended: string[] = [];
  /** Entries whose acceptance is unknown. */
  let unsure = new Set<string>();
  let flushTimer: NodeJS.Timeout | undefined;

  /** They are looked at from `dueAt` on, an instant of Redis' clock, or earlier if that was agreed. */
  async function add(refs: readonly DirectiveRef[], dueAt: number): Promise<void> {
    await connection.zadd(keys.sweep, 'LT', ...refs.flatMap((ref) => [dueAt, memberOf(ref)]));
  }

  /**
   * As `add`, `afterMs` from now by the clock of Redis, which is the sweeper's too: a process's clock may be off. Resolves to the
   * score of those that were not there.
   */
  async function announce(refs: readonly DirectiveRef[], afterMs: number): Promise<string> {
    return announceAll(refs.map(memberOf), afterMs);
  }

  /** Agrees a check within this time, or earlier if that was agreed. By the clock of Redis. */
  async function lookWithin(ref: DirectiveRef, ms: number): Promise<void> {
    await connection.zadd(keys.sweep, 'LT', Date.now() + aheadMs + ms, memberOf(ref));
  }

  /**
   * Puts off an entry that this sweeper took. A check that was agreed meanwhile counts, a claim's instant above all.
   */
  async function lookAgain(entry: DueEntry, dueAt: number, missed = false): Promise<void> {
    const score = Math.round(dueAt) + (missed ? MISSED_MARK : 0);
    await run('index-put-off', [keys.sweep], [memberOf(entry), entry.takenAs, score]);
  }

  async function lookOnceMore(ref: DirectiveRef, dueAt: number): Promise<void> {
    await connection.zadd(keys.sweep, Math.round(dueAt) + RECORDED_MARK, memberOf(ref));
  }

  /** Forgets an ended directive, a little later and together with others: the entry does no harm meanwhile. */
  function forget(ref: DirectiveRef & { missedBefore?: boolean }): void {
    ended.push(memberOf(ref));
    if (ref.missedBefore === true) unsure.add(memberOf(ref));
    if (ended.length >= FLUSH_BATCH) flush();
    else flushTimer ??= setTimeout(flush, FLUSH_DELAY_MS).unref();
  }

  function flush(): void {
    clearTimeout(flushTimer);
    flushTimer = undefined;
    const members = ended;
    ended = [];
    const missed = unsure;
    unsure = new Set();
    if (members.length > 0) forgetAll(members, missed).catch(() => {});
    for (const [tenant, own] of Map.groupBy(members, tenantOf))
      if (isLimited(tenant)) connection.zrem(keys.open(tenant), ...own).catch(() => {});
  }

  /** Their requests have changed. On a cluster the two keys are in different slots: the note comes first. */
  async function forgetAll(members: readonly string[], missed: ReadonlySet<string>): Promise<void> {
    const changed = isListed ? requestsOf(members) : [];
    // What could not be noted stays, and the sweeper forgets it once more.
    if (missed.size > 0) await noteEnded?.(requestsOf([...missed]), 'perhaps');
    const known = requestsOf(members.filter((member) => !missed.has(member)));
    // @guard archive-end-noted
    if (noteEnded && known.length > 0) await noteEnded(known);
    if (!connection.isCluster) {
      await run(
        'index-forget',
        [keys.sweep, keys.changedRequests],
        [keys.prefix, INDEX_DELAY_MS, members.length, ...members, ...changed],
      );
      return;
    }
    if (changed.length > 0) await run('change-note', [keys.changedRequests], [INDEX_DELAY_MS, ...changed]);
    await connection.zrem(keys.sweep, ...members);
    await announceResumed(members);
  }

  /** On a cluster no script reads a run beside the index: the entry of one that was resumed since its end is written again. */
  async function announceResumed(members: readonly string[]): Promise<void> {
    const checked = members
      .filter((member) => OF_RUN.test(member))
      .map(async (member) => {
        const [state] = keys.request(refOf(member).requestId);
        return (await connection.hexists(state, '@run|inbox')) === 1 ? [member] : [];
      });
    const open = (await Promise.all(checked)).flat();
    if (open.length > 0) await announceAll(open, RESUMED_LOOK_MS);
  }

  /**
   * At most `limit` entries that are due. No other sweeper gets them until they are put off, or this one is lost.
   * Default of `crowd`: all that are due; so it is on a cluster, where the lanes are in other slots.
   */
  async function take(limit: number, crowd?: CrowdRule): Promise<Due> {
    const rule = crowd && !connection.isCluster ? [keys.prefix, ...crowdWords(crowd)] : [''];
    const [now, more, ...reply] = await run('index-take', [keys.sweep], [limit, HOLD_MS, ...rule]);
    aheadMs = Number(now) - Date.now();
    const entries: DueEntry[] = [];
    for (let index = 0; index < reply.length; index += 3) {
      const [member, takenAs, mark] = reply.slice(index, index + 3);
      const recorded = Number(mark) === RECORDED_MARK ? { recordedBefore: true } : {};
      const missedBefore = Number(mark) === MISSED_MARK;
      entries.push({ ...refOf(String(member)), takenAs: String(takenAs), missedBefore, ...recorded });
    }
    return { now: Number(now), entries, more: more === 1 };
  }

  const withdraw = withdrawFrom(connection, keys);
  const looks = { add, announce, lookWithin, lookAgain, lookOnceMore };
  return { ...looks, withdraw, forget, flush, take, ...contentOf(connection, keys) };
}

/** The entries of the index, and their number. */
function contentOf(connection: RedisConnection, { sweep }: Pick<KeySpace, 'sweep'>) {
  const has = async (ref: DirectiveRef): Promise<boolean> =>
    (await connection.zscore(sweep, memberOf(ref))) !== null;

  const size = async (): Promise<number> => connection.zcard(sweep);

  /** How many of `all` entries are notices of ends and their deliveries: exactly of less than 1,000, else within a few in a hundred. */
  async function sizeOfService(all: number): Promise<number> {
    const sample = (await connection.zrandmember(sweep, SAMPLE)) as string[];
    const found = sample.filter((member) => isOfService(refOf(member))).length;
    return sample.length < SAMPLE ? found : Math.round((all * found) / SAMPLE);
  }

  return { has, size, sizeOfService };
}

/**
 * Withdraws entries that were announced and refused, under ids that no other caller submits. Where all keys are in one
 * slot they were not announced.
 */
function withdrawFrom(connection: RedisConnection, { sweep }: Pick<KeySpace, 'sweep'>) {
  return async (refs: readonly DirectiveRef[]): Promise<void> => {
    if (connection.isCluster) await connection.zrem(sweep, ...refs.map(memberOf));
  };
}

/** Those that are listed and archived. */
function requestsOf(members: readonly string[]): string[] {
  const refs = members.map((member) => refOf(member)).filter(isShown);
  return [...new Set(refs.map(({ requestId }) => requestId))];
}
