/** A place for the logins of one process, as Redis is one for many.
 *  It must never be used where two processes meet: `src/store/access/login-records.ts` is. */
import type { LoginRecords } from '../../src/mcp/oauth/login-store.ts';

export function memoryLogins(): LoginRecords {
  const held = new Map<string, { version: string; sealed: string }>();
  const locks = new Map<string, string>();
  const unlock = (server: string, holder: string): void => {
    if (locks.get(server) === holder) locks.delete(server);
  };
  return {
    read: (server) => Promise.resolve(held.get(server) ?? null),
    lock(server, holder) {
      if (!locks.has(server)) locks.set(server, holder);
      return Promise.resolve(locks.get(server) === holder);
    },
    unlock: (server, holder) => Promise.resolve(unlock(server, holder)),
    put: (server, written) => Promise.resolve(void held.set(server, written)),
    replace(server, { was, holder, ...written }) {
      const isSame = (held.get(server)?.version ?? null) === was && locks.get(server) === holder;
      if (isSame) held.set(server, written);
      unlock(server, holder);
      return Promise.resolve(isSame);
    },
    remove(server, version) {
      const isNamed = version === undefined || held.get(server)?.version === version;
      return Promise.resolve(isNamed && held.delete(server));
    },
  };
}
