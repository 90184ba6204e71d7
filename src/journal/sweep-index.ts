// The index of directives somebody must look at again: a superset of the open ones, ordered by when to look.
// Must never be trusted: the journal says what is really open.
import type { RedisConnection } from '../redis.ts';
import type { KeySpace } from './keys.ts';
import { prepareScripts } from './scripts.ts';

export interface DirectiveRef {
  requestId: string;
  id: string;
}

/**
 * One due entry. `missedBefore`: the directive was not in the journal when it was last looked at.
 * `settledBefore`: it had ended and was settled, and only a ring that was still on its way is looked for.
 */
export interface DueEntry extends DirectiveRef {
  missedBefore: boolean;
  settledBefore?: boolean;
}

export type SweepIndex = ReturnType<typeof createSweepIndex>;

const FLUSH_DELAY_MS = 20;
const FLUSH_BATCH = 256;

/** Half a millisecond in the score marks an entry whose directive was missing once. */
const MISSED_MARK = 0.5;
/** A quarter marks one whose directive was settled. */
const SETTLED_MARK = 0.25;

function memberOf(ref: DirectiveRef): string {
  return `${ref.requestId}/${ref.id}`;
}

function refOf(member: string): DirectiveRef {
  const slash = member.indexOf('/');
  return { requestId: member.slice(0, slash), id: member.slice(slash + 1) };
}

export function createSweepIndex(connection: RedisConnection, keys: KeySpace) {
  const run = prepareScripts(connection);
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

  async function lookAgain(ref: DirectiveRef, dueAt: number, missed = false): Promise<void> {
    await connection.zadd(keys.sweep, 'XX', Math.round(dueAt) + (missed ? MISSED_MARK : 0), memberOf(ref));
  }

  async function lookOnceMore(ref: DirectiveRef, dueAt: number): Promise<void> {
    await connection.zadd(keys.sweep, Math.round(dueAt) + SETTLED_MARK, memberOf(ref));
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

  async function due(now: number, limit: number): Promise<DueEntry[]> {
    const reply = await connection.zrangebyscore(keys.sweep, '-inf', now, 'WITHSCORES', 'LIMIT', 0, limit);
    const entries: DueEntry[] = [];
    for (let index = 0; index < reply.length; index += 2) {
      const mark = Number(reply[index + 1]) % 1;
      const settled = mark === SETTLED_MARK ? { settledBefore: true } : {};
      entries.push({ ...refOf(reply[index] ?? ''), missedBefore: mark === MISSED_MARK, ...settled });
    }
    return entries;
  }

  async function size(): Promise<number> {
    return connection.zcard(keys.sweep);
  }

  return { add, announce, lookAgain, lookOnceMore, forget, flush, due, size };
}
