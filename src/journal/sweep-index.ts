// The index of directives somebody must look at again: a superset of the open ones, ordered by when to look.
// Must never be trusted: the journal says what is really open.
import type { RedisConnection } from '../redis/connection.ts';
import type { KeySpace } from './keys.ts';
import { prepareScripts } from './scripts.ts';

export interface DirectiveRef {
  requestId: string;
  id: string;
}

/**
 * One due entry. `missedBefore`: the directive was not in the journal when it was last looked at.
 * `recordedBefore`: it had ended and was recorded; the check only removes a job that may still have arrived.
 */
export interface DueEntry extends DirectiveRef {
  missedBefore: boolean;
  recordedBefore?: boolean;
  /** Its score since it was taken: tells whether anybody has said since when to look. */
  takenAs: string;
}

/** What one sweeper has to look at now. `now`: milliseconds since the epoch, by the clock of Redis. */
export interface Due {
  now: number;
  entries: DueEntry[];
}

export type SweepIndex = ReturnType<typeof createSweepIndex>;

const FLUSH_DELAY_MS = 20;
const FLUSH_BATCH = 256;

/** Half a millisecond in the score marks an entry whose directive was missing once. */
const MISSED_MARK = 0.5;
/** A quarter marks one whose end was recorded. An eighth belongs to index-take.lua. */
const RECORDED_MARK = 0.25;

/** What a sweeper took and did not put off, because it died, is due again after this time. */
const HOLD_MS = 1_000;

function memberOf(ref: DirectiveRef): string {
  return `${ref.requestId}/${ref.id}`;
}

function refOf(member: string): DirectiveRef {
  const slash = member.indexOf('/');
  return { requestId: member.slice(0, slash), id: member.slice(slash + 1) };
}

export function createSweepIndex(connection: RedisConnection, keys: KeySpace) {
  const run = prepareScripts(connection);
  /** How far the clock of Redis is ahead of this process', milliseconds: known from the first look of its sweeper on. */
  let aheadMs = 0;
  let ended: string[] = [];
  let flushTimer: NodeJS.Timeout | undefined;

  /** They are looked at from `dueAt` on, an instant of Redis' clock, or earlier if that was agreed. */
  async function add(refs: readonly DirectiveRef[], dueAt: number): Promise<void> {
    await connection.zadd(keys.sweep, 'LT', ...refs.flatMap((ref) => [dueAt, memberOf(ref)]));
  }

  /** As `add`, `afterMs` from now by the clock of Redis, which is the sweeper's too: a process's clock may be off. */
  async function announce(refs: readonly DirectiveRef[], afterMs: number): Promise<void> {
    await run('index-add', [keys.sweep], [afterMs, ...refs.map(memberOf)]);
  }

  /** Somebody looks within this time, or earlier if that was agreed. By the clock of Redis. */
  async function lookWithin(ref: DirectiveRef, ms: number): Promise<void> {
    await connection.zadd(keys.sweep, 'LT', Date.now() + aheadMs + ms, memberOf(ref));
  }

  /** Of an entry that this sweeper took. What was said meanwhile stands, a claim's instant above all. */
  async function lookAgain(entry: DueEntry, dueAt: number, missed = false): Promise<void> {
    const score = Math.round(dueAt) + (missed ? MISSED_MARK : 0);
    await run('index-put-off', [keys.sweep], [memberOf(entry), entry.takenAs, score]);
  }

  async function lookOnceMore(ref: DirectiveRef, dueAt: number): Promise<void> {
    await connection.zadd(keys.sweep, Math.round(dueAt) + RECORDED_MARK, memberOf(ref));
  }

  /** Forgets an ended directive, a little later and together with others: the entry does no harm meanwhile. */
  function forget(ref: DirectiveRef): void {
    ended.push(memberOf(ref));
    if (ended.length >= FLUSH_BATCH) flush();
    else flushTimer ??= setTimeout(flush, FLUSH_DELAY_MS).unref();
  }

  function flush(): void {
    clearTimeout(flushTimer);
    flushTimer = undefined;
    const members = ended;
    ended = [];
    if (members.length > 0) connection.zrem(keys.sweep, ...members).catch(() => {});
  }

  /** At most `limit` entries that are due. No other sweeper gets them until they are put off, or this one is lost. */
  async function take(limit: number): Promise<Due> {
    const [now, ...reply] = await run('index-take', [keys.sweep], [limit, HOLD_MS]);
    aheadMs = Number(now) - Date.now();
    const entries: DueEntry[] = [];
    for (let index = 0; index < reply.length; index += 3) {
      const [member, takenAs, mark] = reply.slice(index, index + 3);
      const recorded = Number(mark) === RECORDED_MARK ? { recordedBefore: true } : {};
      const missedBefore = Number(mark) === MISSED_MARK;
      entries.push({ ...refOf(String(member)), takenAs: String(takenAs), missedBefore, ...recorded });
    }
    return { now: Number(now), entries };
  }

  async function size(): Promise<number> {
    return connection.zcard(keys.sweep);
  }

  return { add, announce, lookWithin, lookAgain, lookOnceMore, forget, flush, take, size };
}
