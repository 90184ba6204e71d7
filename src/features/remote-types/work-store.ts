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
  /** Time until the deadline, milliseconds. */
  readonly remainingMs: number;
  /** Members that the program gets. */
  readonly body: object;
}

/** State of work. `lost`: the program that had begun it died, and it is not given to another one. */
export interface WorkState {
  readonly state: 'waiting' | 'taken' | 'running' | 'ended' | 'cancelled' | 'lost' | 'absent';
  /** End as the program sent it, JSON. */
  readonly finish: string;
  /** How often it was begun. */
  readonly begun: number;
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
/** Work that is no longer waited for after its deadline is removed. */
const KEPT_MS = 60 * 60_000;
/** Time in which the attempt records an end that it has read, and in which a program learns of a cancellation. */
const READ_MS = 60_000;

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
    };
  }

  return {
    /** Parks the work; the same id again finds what became of it. */
    async park(type: string, workId: string, work: ParkedWork): Promise<WorkState> {
      const { effect, leaseMs, remainingMs, body } = work;
      const keepMs = Math.ceil(Math.max(0, remainingMs)) + KEPT_MS;
      const args = [workId, keepMs, channel, type, effect, leaseMs, JSON.stringify(body)];
      return stateOf(type, args);
    },
    read: async (type: string, workId: string): Promise<WorkState> => stateOf(type, [workId, READ_MS]),
    /** null: no work of the type waits. */
    async take(type: string): Promise<TakenRecord | null> {
      const token = randomHex(16);
      const reply = namedIn(await run('remote-take', [keys.remoteType(type)], [token, BEGIN_MS]));
      const workId = reply.text('id');
      if (workId === '') return null;
      const body: unknown = JSON.parse(reply.text('body'));
      return { workId, token, leaseMs: reply.number('lease'), body: isObject(body) ? body : {} };
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
    /** The state until now. */
    async withdraw(type: string, workId: string): Promise<WorkState['state']> {
      const reply = namedIn(await run('remote-withdraw', [keys.remoteType(type)], [workId, READ_MS]));
      return reply.text('state') as WorkState['state'];
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
