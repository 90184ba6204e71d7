/** One renewal under the lock of a server, over all processes; the second one uses the result of the first.
 *  It must never write a login whose lock was lost, nor use a refresh token without the lock. */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { OAuthOptions } from '../server-options.ts';
import type { Login } from './login.ts';
import { LoginFault } from './login-fault.ts';
import type { LoginStore, StoredLogin } from './login-store.ts';
import type { Challenge, Renew, Renewal } from './renewal.ts';

export interface RenewalUnderLock {
  readonly server: string;
  readonly serverUrl: string;
  readonly auth: OAuthOptions;
  readonly store: LoginStore;
  readonly holder: string;
  /** The refused or due login; null: none. */
  readonly from: StoredLogin | null;
  readonly challenge: Challenge;
  readonly renew: Renew;
  readonly leaseMs: number;
  readonly now: () => number;
  readonly random: () => number;
  /** Remedy where a login is needed, as the end of a sentence. */
  readonly remedy: string;
}

/** The lease outlives the request by a third, so that its answer is still written under the lock. */
const REQUEST_SHARE = 2 / 3;
const POLL_MS = 50;

/** Rejects with a `LoginFault`. */
export async function renewUnderLock(given: RenewalUnderLock): Promise<StoredLogin> {
  const { server, store, holder, leaseMs } = given;
  const untilAt = performance.now() + 2 * leaseMs;
  while (!(await store.lock(server, holder, leaseMs))) {
    if (performance.now() > untilAt)
      throw new LoginFault('network', 'another process renews the login, and does not end');
    await delay(POLL_MS * (1 + 3 * given.random()), undefined, { ref: false });
    const now = newer(await store.read(server), given.from);
    if (now !== null) return now;
  }
  try {
    return await renewHeld(given);
  } finally {
    await store.unlock(server, holder);
  }
}

/** null: nothing else than `from` is stored. */
function newer(now: StoredLogin | null, from: StoredLogin | null): StoredLogin | null {
  return now !== null && now.version !== from?.version ? now : null;
}

async function renewHeld(given: RenewalUnderLock): Promise<StoredLogin> {
  const { server, serverUrl, auth, store, from, challenge, renew, leaseMs, now } = given;
  const held = await store.read(server);
  const other = newer(held, from);
  if (other !== null) return other;
  if (held === null && auth.grant === 'authorization_code')
    throw new LoginFault('auth', `the login has ended: ${given.remedy}`);
  const signal = AbortSignal.timeout(Math.floor(leaseMs * REQUEST_SHARE));
  const renewal = await renew({ serverUrl, auth, login: held?.login ?? null, challenge, signal, now });
  if (renewal.kind === 'renewed') return kept(given, held, renewal.login);
  if (isForgotten(renewal) && held !== null) {
    const now = await stored(given, held, { ...held.login, refused: renewal.reason });
    if (now.login.refused === null) return now;
  }
  throw faultOf(given, renewal);
}

/** The refresh token is used up or withdrawn: every process learns it, and none asks again. */
function isForgotten(renewal: Renewal): boolean {
  return renewal.kind === 'denied' && renewal.reason === 'invalid_grant';
}

/**
 * These may be the only tokens that the authorization server still takes: a process that had the lock meanwhile gets
 * to its end, what it was refused is overwritten, and a write that Redis does not confirm is repeated.
 */
async function kept(given: RenewalUnderLock, was: StoredLogin | null, login: Login): Promise<StoredLogin> {
  const written = { version: randomUUID(), login };
  const untilAt = performance.now() + 2 * given.leaseMs;
  let replaced = was;
  while (!(await isWritten(given, replaced, written))) {
    const now = await given.store.read(given.server);
    const isThere = now?.version === written.version;
    if (!isThere && isElse(now, was)) return now;
    if (performance.now() > untilAt || (now === null && was !== null)) {
      if (isThere) break;
      throw new LoginFault('network', LOCK_LOST);
    }
    if (!isThere) replaced = now;
    await delay(POLL_MS * (1 + 3 * given.random()), undefined, { ref: false });
  }
  return written;
}

/** Neither `was`, nor that its refresh token was refused. */
function isElse(now: StoredLogin | null, was: StoredLogin | null): now is StoredLogin {
  if (now === null || now.version === was?.version) return false;
  const { refused, accessToken, refreshToken } = now.login;
  const isSame = accessToken === was?.login.accessToken && refreshToken === was.login.refreshToken;
  return refused === null || !isSame;
}

/** false also: it is not known whether Redis keeps it. */
async function isWritten(
  { server, store, holder }: RenewalUnderLock,
  was: StoredLogin | null,
  written: StoredLogin,
): Promise<boolean> {
  try {
    return await store.replace(server, written, { was: was?.version ?? null, holder });
  } catch (error) {
    if (error instanceof LoginFault) throw error;
    return false;
  }
}

const LOCK_LOST = 'the lock of the login was lost during its renewal';

/** A login, a logout, or a process that had the lock meanwhile: what it stored counts. */
async function stored(given: RenewalUnderLock, was: StoredLogin | null, login: Login): Promise<StoredLogin> {
  const written = { version: randomUUID(), login };
  if (await isWritten(given, was, written)) return written;
  const now = newer(await given.store.read(given.server), was);
  if (now !== null) return now;
  throw new LoginFault('network', LOCK_LOST);
}

function faultOf(
  { auth, remedy }: RenewalUnderLock,
  { kind, reason }: Exclude<Renewal, { kind: 'renewed' }>,
): LoginFault {
  if (kind === 'failed')
    return new LoginFault('network', `the authorization server cannot renew the login now: ${reason}`);
  const what =
    auth.grant === 'client_credentials'
      ? 'the authorization server gives no token'
      : 'the login cannot be renewed';
  return new LoginFault('auth', `${what} (${reason}): ${remedy}`);
}
