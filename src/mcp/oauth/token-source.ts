/** The access token of one server in this process: read from the shared store, renewed once for all processes.
 *  It must never ask for consent, nor remove a login: that is what the command is for. */
import { randomUUID } from 'node:crypto';
import type { McpServerOptions, OAuthOptions } from '../server-options.ts';
import { isDue, isOver, isYoung, type LoginSummary, misfitOf, secretsOf, summaryOf } from './login.ts';
import { LoginFault, loginCommand } from './login-fault.ts';
import type { LoginStore, StoredLogin } from './login-store.ts';
import { type Challenge, type Renew, renewLogin } from './renewal.ts';
import { renewUnderLock } from './renewal-lock.ts';

export interface TokenSource {
  /** undefined: none is known yet, and the server may say what it wants. Rejects with a `LoginFault`. */
  token(): Promise<string | undefined>;
  /** The server refused the request that carried `used`. Resolves when another token exists, else rejects with a `LoginFault`. */
  refused(used: string | undefined, challenge: Challenge): Promise<void>;
  /** Secret texts, present and earlier. */
  secrets(): readonly string[];
  /** Resolves when no renewal is under way: what it brings is stored, and the tokens before it may be good no more. Never rejects. */
  settled(): Promise<void>;
  /** Public part of the login; null: none, or unreadable. */
  summary(): Promise<LoginSummary | null>;
}

export interface TokenSourceOptions {
  readonly server: string;
  readonly serverUrl: string;
  readonly auth: OAuthOptions;
  readonly store: LoginStore;
  /** Milliseconds since the epoch. Default: Date.now. */
  readonly now?: () => number;
  readonly random?: () => number;
  /** Default: asks the authorization server. */
  readonly renew?: Renew;
  /** How long a renewal holds the lock at most; longer than one takes. Milliseconds. Default 15 000. */
  readonly leaseMs?: number;
  /** Remedy where a login is needed, as the end of a sentence. Default: the command of the operator, or a change of the configuration. */
  readonly remedy?: string;
  /** Called with the public part of the login when it changes; null: logged out. Default: no-op. */
  readonly onLogin?: (login: LoginSummary | null) => void;
}

/** So long a read login counts without being read again: a logout reaches every process. Milliseconds. */
const FRESH_MS = 2_000;
/** How long a fault counts for the next callers, unless a login comes meanwhile. Milliseconds. */
const FAULT_MS = { auth: 5_000, network: 1_000 };
const MAX_SECRETS = 64;

interface Held<T> {
  readonly value: T;
  readonly at: number;
}

interface Fault extends Held<LoginFault> {
  /** Version of the login that could not be renewed; undefined: none. */
  readonly version: string | undefined;
}

/** A clock that was set back makes nothing last longer. */
function isWithin(ms: number, { at }: Held<unknown>, now: number): boolean {
  return now >= at && now - at < ms;
}

/** Token source of a server for its configuration; null: no token. `store`: null: no key to decrypt logins with. */
export function tokensFor(
  { name, transport }: McpServerOptions,
  store: LoginStore | null,
  options: Pick<TokenSourceOptions, 'random' | 'onLogin' | 'remedy'> = {},
): TokenSource | null {
  if (transport.kind !== 'http' || transport.auth === undefined) return null;
  const { url: serverUrl, auth } = transport;
  return store === null
    ? withoutStore
    : createTokenSource({ server: name, serverUrl, auth, store, ...options });
}

const noKey = (): Promise<never> => Promise.reject(new LoginFault('auth', NO_KEY));

const NO_SECRETS: readonly string[] = [];

const withoutStore: TokenSource = {
  token: noKey,
  refused: noKey,
  secrets: () => NO_SECRETS,
  settled: () => Promise.resolve(),
  summary: () => Promise.resolve(null),
};

const NO_KEY =
  'ADJUTANT_TOKEN_KEY is not set, with which logins are stored: give every process the same one, as `openssl rand -base64 32` prints it';

export function createTokenSource(options: TokenSourceOptions): TokenSource {
  return new SharedTokens(options);
}

class SharedTokens implements TokenSource {
  readonly #given: Required<TokenSourceOptions>;
  readonly #configured: readonly string[];
  /** The configured secrets and those of logins; another list once they change. */
  #listed: readonly string[];
  /** Secrets of logins, oldest first. */
  readonly #secrets = new Set<string>();
  /** Offset of this process, so that not all ask at once. */
  readonly #spread: number;
  #known: Held<StoredLogin | null> | null = null;
  #fault: Fault | null = null;
  #reading: Promise<StoredLogin | null> | null = null;
  #renewing: Promise<StoredLogin> | null = null;

  constructor(given: TokenSourceOptions) {
    const { random = Math.random, server, auth } = given;
    const remedy =
      auth.grant === 'client_credentials'
        ? `correct mcpServers.${server}.auth`
        : `run ${loginCommand(server)}`;
    const defaults = { now: Date.now, renew: renewLogin, leaseMs: 15_000, onLogin: () => {}, remedy };
    this.#given = { ...defaults, ...given, random };
    this.#spread = random();
    const { clientSecret, privateKey } = given.auth;
    this.#configured = [clientSecret, privateKey?.pem].filter((secret) => secret !== undefined);
    this.#listed = this.#configured;
  }

  secrets(): readonly string[] {
    return this.#listed;
  }

  async settled(): Promise<void> {
    await this.#renewing?.catch(() => {});
  }

  async summary(): Promise<LoginSummary | null> {
    return this.#shown(await this.#read().catch(() => null));
  }

  #shown(stored: StoredLogin | null): LoginSummary | null {
    if (stored === null) return null;
    return summaryOf(stored.login, this.#isOwnAccount() || stored.login.refreshToken !== null);
  }

  async token(): Promise<string | undefined> {
    const known = await this.#current();
    if (known === null && this.#isOwnAccount()) return undefined;
    const stored = this.#usable(known);
    if (!isDue(stored.login, this.#given.now(), this.#spread)) return stored.login.accessToken;
    return this.#renewedOrLeft(stored);
  }

  async refused(used: string | undefined, challenge: Challenge): Promise<void> {
    const { serverUrl, auth, now, remedy } = this.#given;
    const stored = await this.#read();
    const isUsable = stored !== null && misfitOf(stored.login, serverUrl, auth) === null;
    if (isUsable && stored.login.accessToken !== used) return;
    if (!this.#isOwnAccount()) this.#usable(stored);
    if (isUsable && isYoung(stored.login, now()))
      throw new LoginFault('auth', `the server refuses the token that was just renewed: ${remedy}`);
    await this.#renewed(stored, challenge);
  }

  #isOwnAccount(): boolean {
    return this.#given.auth.grant === 'client_credentials';
  }

  /** The one that can be used, or be renewed; throws when a login is needed. */
  #usable(stored: StoredLogin | null): StoredLogin {
    const { serverUrl, auth, remedy } = this.#given;
    if (stored === null) throw new LoginFault('auth', `no login exists: ${remedy}`, { isLocal: true });
    const misfit = misfitOf(stored.login, serverUrl, auth);
    if (misfit === null) return stored;
    throw new LoginFault('auth', `${misfit}: ${remedy}`, { isLocal: true });
  }

  /** While the old token works, no call waits for the renewal, and its failure is harmless. */
  async #renewedOrLeft(stored: StoredLogin): Promise<string> {
    const { accessToken, refreshToken } = stored.login;
    if (isOver(stored.login, this.#given.now())) return (await this.#renewed(stored, {})).login.accessToken;
    // Whoever asks after the end of the token gets the fault, and a fault of Redis at the next read.
    if (refreshToken !== null || this.#isOwnAccount()) this.#renewed(stored, {}).catch(() => {});
    return accessToken;
  }

  /** One renewal at a time in this process; the others take what it brings. */
  #renewed(from: StoredLogin | null, challenge: Challenge): Promise<StoredLogin> {
    const fault = this.#fault;
    if (fault !== null && isWithin(FAULT_MS[fault.value.type], fault, this.#given.now()))
      return Promise.reject(fault.value);
    this.#renewing ??= this.#renew(from, challenge).finally(() => {
      this.#renewing = null;
    });
    return this.#renewing;
  }

  async #renew(from: StoredLogin | null, challenge: Challenge): Promise<StoredLogin> {
    try {
      const stored = await renewUnderLock({ ...this.#given, holder: randomUUID(), from, challenge });
      this.#take(stored);
      return this.#usable(stored);
    } catch (error) {
      // Read again before it counts: the renewal may have stored that it was refused.
      if (this.#known !== null) this.#known = { ...this.#known, at: Number.NEGATIVE_INFINITY };
      if (error instanceof LoginFault)
        this.#fault = { value: error, at: this.#given.now(), version: from?.version };
      throw error;
    }
  }

  async #current(): Promise<StoredLogin | null> {
    const held = this.#known;
    return held !== null && isWithin(FRESH_MS, held, this.#given.now()) ? held.value : this.#read();
  }

  #read(): Promise<StoredLogin | null> {
    this.#reading ??= this.#given.store
      .read(this.#given.server)
      .then((stored) => this.#take(stored))
      .finally(() => {
        this.#reading = null;
      });
    return this.#reading;
  }

  #take(stored: StoredLogin | null): StoredLogin | null {
    if (this.#fault?.version !== stored?.version) this.#fault = null;
    if (this.#known === null || this.#known.value?.version !== stored?.version)
      this.#given.onLogin(this.#shown(stored));
    this.#known = { value: stored, at: this.#given.now() };
    if (stored !== null) this.#keepSecrets(secretsOf(stored.login));
    return stored;
  }

  #keepSecrets(found: readonly string[]): void {
    if (found.every((secret) => this.#secrets.has(secret))) return;
    for (const secret of found) this.#secrets.add(secret);
    for (const secret of this.#secrets) {
      if (this.#secrets.size <= MAX_SECRETS) break;
      this.#secrets.delete(secret);
    }
    this.#listed = [...this.#configured, ...this.#secrets];
  }
}
