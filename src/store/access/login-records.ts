// The logins at MCP servers in Redis: opaque sealed texts, each with a version and a lock.
// Must never get a token: what arrives here is sealed.
import type { RedisConnection } from '../../platform/redis/connection.ts';
import type { KeySpace } from '../keys.ts';
import { prepareScripts } from '../scripts.ts';

/**
 * A login that is neither used nor renewed for this long is deleted; authorization servers forget it earlier.
 * Milliseconds.
 */
const KEEP_MS = 90 * 86_400_000;
/** How often use extends that. Milliseconds. */
const EXTEND_EACH_MS = 3_600_000;

export interface LoginRecord {
  readonly version: string;
  readonly sealed: string;
}

export interface LoginChange extends LoginRecord {
  /** null: there was none. */
  readonly was: string | null;
  readonly holder: string;
}

export type LoginRecords = ReturnType<typeof createLoginRecords>;

/** Begun before a write, awaited after it: rejects when the write may still be lost. null: Redis' own durability. */
type BeginConfirm = () => Promise<(() => Promise<void>) | null>;

/** `principal`: on whose behalf; one installation may have several. `confirm`: of what replaces a login. */
export function createLoginRecords(
  connection: RedisConnection,
  keys: Pick<KeySpace, 'login'>,
  principal: string,
  confirm: BeginConfirm = () => Promise.resolve(null),
) {
  const run = prepareScripts(connection);
  const extendedAt = new Map<string, number>();
  const keysOf = (server: string): [record: string, lock: string] => keys.login(principal, server);
  const write = async (
    server: string,
    was: string,
    holder: string,
    { version, sealed }: LoginRecord,
    endsAt: number | null = null,
  ) => {
    const end = endsAt === null ? '' : Math.floor(endsAt);
    const [verdict] = await run('login-write', keysOf(server), [was, holder, version, sealed, KEEP_MS, end]);
    return verdict === 'written';
  };

  async function extend(server: string, endsAt: number): Promise<void> {
    if (performance.now() - (extendedAt.get(server) ?? -EXTEND_EACH_MS) < EXTEND_EACH_MS) return;
    extendedAt.set(server, performance.now());
    await connection.pexpireat(keysOf(server)[0], Math.min(Date.now() + KEEP_MS, endsAt));
  }

  return {
    async read(server: string): Promise<LoginRecord | null> {
      const [record] = keysOf(server);
      const [version = null, sealed = null, ends] = await connection.hmget(
        record,
        'version',
        'sealed',
        'ends',
      );
      if (version === null || sealed === null) return null;
      await extend(server, Number(ends ?? Infinity));
      return { version, sealed };
    },
    /** false: another holder has it. */
    async lock(server: string, holder: string, leaseMs: number): Promise<boolean> {
      const [, lock] = keysOf(server);
      if ((await connection.set(lock, holder, 'PX', leaseMs, 'NX')) === 'OK') return true;
      // A lost connection repeats the command.
      return (await connection.get(lock)) === holder;
    },
    async unlock(server: string, holder: string): Promise<void> {
      await run('login-unlock', [keysOf(server)[1]], [holder]);
    },
    /** `endsAt`: when it ends, used or not, milliseconds since the epoch. Default: never. */
    async put(server: string, record: LoginRecord, endsAt: number | null = null): Promise<void> {
      await write(server, '*', '', record, endsAt);
    },
    /**
     * Also gives the lock back. false: the version is not `was` any more, or another holder has the lock. Rejects when it was
     * written and Redis does not confirm it; safe to repeat.
     */
    async replace(server: string, { was, holder, ...record }: LoginChange): Promise<boolean> {
      // What cannot be confirmed is written all the same: there may be no other copy.
      const confirmed = await confirm().catch((error: unknown) => async () => Promise.reject(error));
      const isWritten = await write(server, was ?? '', holder, record);
      if (isWritten) await confirmed?.();
      return isWritten;
    },
    /** `version`: the only one that is removed; default: any. false: there was none. */
    async remove(server: string, version = '*'): Promise<boolean> {
      const [verdict] = await run('login-remove', [keysOf(server)[0]], [version]);
      return verdict === 'removed';
    },
  };
}
