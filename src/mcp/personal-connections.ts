/** Connections to servers whose callers have logins of their own: one for each account, closed when it is idle or its account has
 *  logged in anew. It must never let two accounts or two logins share a connection, nor close one that is in use. */
import type { Connection } from './connection.ts';

interface Connected {
  readonly connection: Connection;
}

interface Held<C> {
  readonly served: C;
  /** The name of its login; undefined: whichever is stored. */
  readonly login: string | undefined;
  users: number;
  usedAt: number;
}

/** Idle connections beyond it are closed, the longest idle ones first. */
const MOST_IDLE = 256;
const IDLE_MS = 600_000;
const LOOK_MS = 60_000;

export function createPersonalConnections<C extends Connected>(
  open: (server: string, account: string, login: string | undefined) => C,
  now: () => number = () => performance.now(),
) {
  const held = new Map<string, Held<C>>();
  const dropped = new Set<Held<C>>();
  let timer: NodeJS.Timeout | undefined;

  /** The last of its calls closes one that is in use. */
  function drop(key: string, each: Held<C>): void {
    held.delete(key);
    dropped.add(each);
    closeDropped(each);
  }

  function closeDropped(each: Held<C>): void {
    if (each.users > 0 || !dropped.delete(each)) return;
    void each.served.connection.stop().catch(() => {});
  }

  /** A connection without a usable token would refuse a login that has come meanwhile. */
  function isUsable({ served: { connection } }: Held<C>): boolean {
    return connection.session() !== null || connection.fault()?.type !== 'auth';
  }

  function take(server: string, account: string, login: string | undefined): Held<C> {
    const key = JSON.stringify([server, account]);
    const known = held.get(key);
    // @guard one-login
    const isSame = login === undefined || known?.login === login;
    if (known !== undefined && isSame && (known.users > 0 || isUsable(known))) return known;
    if (known !== undefined) drop(key, known);
    const made: Held<C> = { served: open(server, account, login), login, users: 0, usedAt: now() };
    held.set(key, made);
    timer ??= setInterval(closeIdle, LOOK_MS).unref();
    return made;
  }

  function closeIdle(): void {
    const idle = [...held]
      .filter(([, { users }]) => users === 0)
      .toSorted(([, left], [, right]) => right.usedAt - left.usedAt);
    for (const [at, [key, each]] of idle.entries())
      if (at >= MOST_IDLE || now() - each.usedAt >= IDLE_MS) drop(key, each);
    if (held.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }

  return {
    /** `login`: its name; default: the one that is stored. */
    async use<T>(
      { server, account, login }: { server: string; account: string; login?: string | undefined },
      work: (served: C) => Promise<T>,
    ): Promise<T> {
      const found = take(server, account, login);
      found.users += 1;
      try {
        return await work(found.served);
      } finally {
        found.users -= 1;
        found.usedAt = now();
        closeDropped(found);
        if (held.size > MOST_IDLE) closeIdle();
      }
    },
    /** Forgets all of them, for their end by the caller. */
    close(): C[] {
      clearInterval(timer);
      const all = [...held.values(), ...dropped].map(({ served }) => served);
      held.clear();
      dropped.clear();
      return all;
    },
  };
}
