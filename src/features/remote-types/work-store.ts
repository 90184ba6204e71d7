/** Work of remote directive types in Redis, between the worker whose attempt it is and the program that executes it.
 *  It must never decide how a directive ends: the attempt does. */
import { isObject } from '../../contract/json/json-object.ts';
import type { RepeatPolicy } from '../../contract/directive/work-directive.ts';
import { randomHex } from '../../platform/telemetry/random-pool.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import type { KeySpace } from '../../store/keys.ts';
import type { Subscriptions } from '../../store/log/subscriptions.ts';
import { namedIn, prepareScripts } from '../../store/scripts.ts';

/** Work of an attempt, as its worker parks it. */
export interface ParkedWork {
  readonly effect: RepeatPolicy;
  readonly leaseMs: number;
  /** Milliseconds since the epoch, by the clock of Redis. */
  readonly deadlineAt: number;
  /** Number of the attempt of its directive. */
  readonly attempt: number;
  /** Further members that the program gets. */
  readonly body: object;
}

/** State of work. `lost`: the program that had begun it died, and it is not given to another one. */
export interface WorkState {
  readonly state: 'waiting' | 'taken' | 'running' | 'ended' | 'cancelled' | 'lost' | 'absent';
  /** End as the program sent it, JSON. */
  readonly finish: string;
  /** How often it was begun. */
  readonly begun: number;
  /** Number of the attempt in which it was parked. */
  readonly attempt: number;
  /** Whether this call has parked it. */
  readonly isParked: boolean;
  /** Whether a program executes the type: it has asked for work of late, or holds some. */
  readonly isServed: boolean;
}

/** Work that a program has taken. */
export interface TakenRecord {
  readonly workId: string;
  readonly token: string;
  readonly leaseMs: number;
  readonly body: Record<string, unknown>;
}

/** Time from the take to the begin: longer than an answer takes on its way. */
const BEGIN_MS = 10_000;
/** Time after the deadline in which the attempt records the end, a program learns of a cancellation, and a late park has no effect. */
const KEPT_MS = 60 * 60_000;

/** Announcements since it was opened. */
export interface Watch {
  /** Resolves at the next announcement, or at once after an unread one; also after `ms`, and when `signal` aborts. */
  changed(ms: number, signal: AbortSignal): Promise<void>;
  close(): void;
}

export type WorkStore = ReturnType<typeof createWorkStore>;

/** `changes`: subscriptions of a connection of their own. */
export function createWorkStore(
  connection: RedisConnection,
  keys: Pick<KeySpace, 'remoteType' | 'remoteWork'>,
  changes: Subscriptions,
  onError: (error: Error) => void,
) {
  const run = prepareScripts(connection);
  const channel = keys.remoteWork;
  /** Waits by the message that ends them. */
  const waits = new Map<string, Set<() => void>>();

  function wakeAll(): void {
    for (const wakes of waits.values()) for (const wake of wakes) wake();
  }

  function hear(message: string): void {
    for (const wake of waits.get(message) ?? []) wake();
  }

  async function stateOf(type: string, args: readonly (string | number)[]): Promise<WorkState> {
    const reply = namedIn(await run('remote-park', [keys.remoteType(type)], args));
    return {
      state: reply.text('state') as WorkState['state'],
      finish: reply.text('finish'),
      begun: reply.number('begun'),
      attempt: reply.number('attempt'),
      isParked: reply.flag('parked'),
      isServed: reply.flag('served'),
    };
  }

  return {
    /** Parks the work; the same id again finds what became of it. */
    async park(type: string, workId: string, work: ParkedWork): Promise<WorkState> {
      const { effect, leaseMs, deadlineAt, attempt, body } = work;
      const kept = [Math.ceil(deadlineAt), KEPT_MS];
      return stateOf(type, [workId, ...kept, channel, type, effect, leaseMs, JSON.stringify(body), attempt]);
    },
    /** Work that is absent stays absent, so that the caller can decide from it. `deadlineAt`: as in `ParkedWork`. */
    read: async (type: string, workId: string, deadlineAt: number): Promise<WorkState> =>
      stateOf(type, [workId, Math.ceil(deadlineAt), KEPT_MS]),
    /** null: no work of the type waits. */
    async take(type: string): Promise<TakenRecord | null> {
      const token = randomHex(16);
      const takeNext = async () =>
        namedIn(await run('remote-take', [keys.remoteType(type)], [token, BEGIN_MS]));
      let reply = await takeNext();
      while (reply.flag('more')) reply = await takeNext();
      const workId = reply.text('id');
      if (workId === '') return null;
      const body: unknown = JSON.parse(reply.text('body'));
      const read = isObject(body) ? body : {};
      const [remaining_ms, attempt] = [reply.number('remaining'), reply.number('attempt')];
      return { workId, token, leaseMs: reply.number('lease'), body: { ...read, attempt, remaining_ms } };
    },
    async hold(type: string, workId: string, token: string): Promise<'held' | 'cancelled' | 'lost'> {
      const [state] = await run('remote-hold', [keys.remoteType(type)], [workId, token]);
      return state as 'held' | 'cancelled' | 'lost';
    },
    /** `finish`: JSON. */
    async end(
      type: string,
      workId: string,
      token: string,
      finish: string,
    ): Promise<'recorded' | 'cancelled' | 'lost'> {
      const args = [workId, token, channel, workId, finish];
      const [state] = await run('remote-end', [keys.remoteType(type)], args);
      return state as 'recorded' | 'cancelled' | 'lost';
    },
    /** Whether it may have been begun, as far as is known. `mostMs`: longest time until the deadline, milliseconds. */
    async withdraw(type: string, workId: string, mostMs: number): Promise<boolean> {
      const args = [workId, Math.ceil(mostMs) + KEPT_MS];
      const reply = namedIn(await run('remote-withdraw', [keys.remoteType(type)], args));
      return reply.text('state') === 'absent' || reply.number('begun') > 0;
    },
    /** Watches announcements of types that have work, and of work that has ended. The caller closes it. */
    watch(names: readonly string[]): Watch {
      changes.open('plain', channel, { hear, missed: wakeAll }).catch(onError);
      let isStale = false;
      let resume: () => void = () => {};
      const wake = (): void => {
        isStale = true;
        resume();
      };
      for (const name of names) waits.set(name, (waits.get(name) ?? new Set()).add(wake));
      return {
        async changed(ms, signal) {
          if (!isStale && !signal.aborted) {
            const { promise, resolve } = Promise.withResolvers<void>();
            resume = resolve;
            const timer = setTimeout(resolve, ms);
            signal.addEventListener('abort', resume, { once: true });
            await promise;
            clearTimeout(timer);
            signal.removeEventListener('abort', resume);
          }
          isStale = false;
        },
        close() {
          for (const name of names) {
            waits.get(name)?.delete(wake);
            if (waits.get(name)?.size === 0) waits.delete(name);
          }
        },
      };
    },
  };
}
