/** Connections to servers whose callers have logins of their own: one for each account, closed when it is idle.
 *  It must never let two accounts share a connection, nor close one that is in use. */
import type { Connection } from './connection.ts';

interface Connected {
  readonly connection: Connection;
}

interface Held<C> {
  readonly served: C;
  users: number;
  usedAt: number;
}

/** Idle connections beyond it are closed, the longest idle ones first. */
const MOST_IDLE = 256;
const IDLE_MS = 600_000;
const LOOK_MS = 60_000;

export function createPersonalConnections<C extends Connected>(
  open: (server: string, account: string) => C,
  now: () => number = () => performance.now(),
) {
  const held = new Map<string, Held<C>>();
  let timer: NodeJS.Timeout | undefined;

  function drop(key: string, { served }: Held<C>): void {
    held.delete(key);
    void served.connection.stop().catch(() => {});
  }

  /** A connection without a usable token would refuse a login that has come meanwhile. */
  function isUsable({ served: { connection } }: Held<C>): boolean {
    return connection.session() !== null || connection.fault()?.type !== 'auth';
  }

  function take(server: string, account: string): Held<C> {
    const key = JSON.stringify([server, account]);
    const known = held.get(key);
    if (known !== undefined && (known.users > 0 || isUsable(known))) return known;
    if (known !== undefined) drop(key, known);
    const made: Held<C> = { served: open(server, account), users: 0, usedAt: now() };
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
    async use<T>(server: string, account: string, work: (served: C) => Promise<T>): Promise<T> {
      const found = take(server, account);
      found.users += 1;
      try {
        return await work(found.served);
      } finally {
        found.users -= 1;
        found.usedAt = now();
        if (held.size > MOST_IDLE) closeIdle();
      }
    },
    /** Forgets all of them, for their end by the caller. */
    close(): C[] {
      clearInterval(timer);
      const all = [...held.values()].map(({ served }) => served);
      held.clear();
      return all;
    },
  };
}
