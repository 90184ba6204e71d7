/** The logins of an installation, sealed, in a place that all its processes share.
 *  It must never hand an unsealed login to that place. */
import { type Login, loginSchema, nameOfLogin } from './login.ts';
import { LoginFault, loginCommand, loginFaultIn } from './login-fault.ts';
import type { Seal } from './seal.ts';

/** The shared place: opaque texts with a version and a lock each. */
export interface LoginRecords {
  read(server: string): Promise<{ readonly version: string; readonly sealed: string } | null>;
  /** false: another holder has it. It is over after `leaseMs`. */
  lock(server: string, holder: string, leaseMs: number): Promise<boolean>;
  unlock(server: string, holder: string): Promise<void>;
  /** Replaces any login. `endsAt`: when it ends, used or not, milliseconds since the epoch. Default: never. */
  put(
    server: string,
    written: { readonly version: string; readonly sealed: string },
    endsAt?: number | null,
  ): Promise<void>;
  /**
   * Also gives the lock back. false: the version is not `was` any more, or another holder has the lock. Rejects when it may
   * still be lost; safe to repeat.
   */
  replace(server: string, change: LoginChange): Promise<boolean>;
  /** `version`: the only one that is removed; default: any. false: there was none. */
  remove(server: string, version?: string): Promise<boolean>;
}

export interface LoginChange {
  /** null: there was none. */
  readonly was: string | null;
  readonly version: string;
  readonly sealed: string;
  readonly holder: string;
}

export interface StoredLogin {
  readonly version: string;
  readonly login: Login;
}

export interface LoginStore extends Pick<LoginRecords, 'lock' | 'unlock' | 'remove'> {
  /** null: no login. Rejects with a `LoginFault` when it cannot be opened. */
  read(server: string): Promise<StoredLogin | null>;
  put(server: string, stored: StoredLogin, endsAt?: number | null): Promise<void>;
  replace(
    server: string,
    stored: StoredLogin,
    under: { readonly was: string | null; readonly holder: string },
  ): Promise<boolean>;
}

export interface LoginStoreOptions {
  readonly records: LoginRecords;
  readonly seal: Seal;
  /** On whose behalf the service is logged in. */
  readonly principal: string;
}

/** Tokens with many groups have 16 KiB. */
const MAX_BYTES = 64 * 1_024;

export function createLoginStore({ records, seal, principal }: LoginStoreOptions): LoginStore {
  const place = (server: string): string => JSON.stringify([principal, server]);
  const sealedLogin = (server: string, login: Login): string => {
    const text = JSON.stringify(login);
    if (Buffer.byteLength(text) > MAX_BYTES)
      throw new LoginFault('auth', `the tokens of the login are larger than ${MAX_BYTES} bytes`);
    return seal.seal(text, place(server));
  };
  return {
    lock: (server, holder, leaseMs) => records.lock(server, holder, leaseMs),
    unlock: (server, holder) => records.unlock(server, holder),
    remove: (server, version) => records.remove(server, version),
    async read(server) {
      const record = await records.read(server);
      if (record === null) return null;
      const login = readLogin(seal.open(record.sealed, place(server)));
      if (login === null) throw new LoginFault('auth', unreadable(server), { isLocal: true });
      return { version: record.version, login };
    },
    async put(server, { version, login }, endsAt = null) {
      await records.put(server, { version, sealed: sealedLogin(server, login) }, endsAt);
    },
    replace: async (server, { version, login }, { was, holder }) =>
      records.replace(server, { was, holder, version, sealed: sealedLogin(server, login) }),
  };
}

/** The store of one login and its renewals: another login of the same account is not read. */
export function storeOfLogin(store: LoginStore, login: string): LoginStore {
  return {
    ...store,
    async read(server) {
      const stored = await store.read(server);
      return stored !== null && nameOfLogin(stored.login) === login ? stored : null;
    },
  };
}

/** Forgets a login whichever renewal of it is stored; another login is left. false: it was not stored. */
export async function forgetLogin(store: LoginStore, server: string, login: string): Promise<boolean> {
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const stored = await storeOfLogin(store, login).read(server).catch(unlessUnreadable);
    if (stored === null) return false;
    // @guard login-forgotten
    if (await store.remove(server, stored.version)) return true;
  }
  return false;
}

/** null for a login that no key of this process opens. */
export function unlessUnreadable(error: unknown): null {
  if (loginFaultIn(error) === null) throw error;
  return null;
}

/** Renewals of one login in a row, each between a read and a removal. */
const MOST_ROUNDS = 10;

function readLogin(text: string | null): Login | null {
  if (text === null) return null;
  const read = loginSchema.safeParse(JSON.parse(text));
  return read.success ? read.data : null;
}

function unreadable(server: string): string {
  return `the login cannot be opened with this ADJUTANT_TOKEN_KEY: give every process the key that was used, or run ${loginCommand(server)}`;
}
