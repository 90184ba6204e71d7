// Logs a person in at an MCP server, and out: what the command does, without the terminal.
// Must never print, nor keep a token outside the store of logins.
import { randomUUID } from 'node:crypto';
import type { Config } from '../../config/config.ts';
import type { ServerLogin } from '../../contract/tool/tool-listing.ts';
import { type CallbackListener, listenForCallback } from '../../mcp/oauth/callback-listener.ts';
import { challengeOf } from '../../mcp/oauth/challenge.ts';
import { beginLogin } from '../../mcp/oauth/interactive-login.ts';
import { type LoginFailure, loginFailureOf, unreachedServer } from '../../mcp/oauth/login-failure.ts';
import { loginFaultIn } from '../../mcp/oauth/login-fault.ts';
import { type Login, summaryOf } from '../../mcp/oauth/login.ts';
import type { LoginStore } from '../../mcp/oauth/login-store.ts';
import { logSdkWarnings } from '../../mcp/sdk-warnings.ts';
import { askRedis } from '../../platform/redis/reach.ts';
import { SILENT } from '../../platform/telemetry/logger.ts';
import { listedLogin, loginRecordsOn, loginsOn } from './logins.ts';
import { httpServerWithAuth, type LoginServer } from './mcp-servers.ts';

export interface LoginSteps {
  /** The person opens this address. */
  onAddress(url: string, issuer: string): void;
  /** Beside the scopes of the configuration and of the login before. */
  readonly scopes: readonly string[];
  readonly redisUrl: string;
  /** Aborted by an interrupt, or at the time limit. */
  readonly signal: AbortSignal;
}

export type LoginOutcome =
  | { readonly ok: true; readonly login: ServerLogin }
  | ({ readonly ok: false } & LoginFailure);

/** `name` is a server with `auth`. Rejects with `RedisAway`, the fault of the listener, and the reason of the signal. */
export async function logIn(config: Config, name: string, steps: LoginSteps): Promise<LoginOutcome> {
  const { redisUrl } = steps;
  // The outcome has the reason of a failure.
  logSdkWarnings(SILENT);
  const before = await onLogins(config, redisUrl, async (logins) => known(logins, name));
  const listener = await listenForCallback(redirectPortOf(config, name));
  try {
    const got = await gotLogin(httpServerWithAuth(name, config), listener, before, steps);
    if (!('accessToken' in got)) return { ok: false, ...got };
    const stored = { version: randomUUID(), login: got };
    await onLogins(config, redisUrl, async (logins) => logins.put(name, stored));
    return { ok: true, login: listedLogin(summaryOf(got)) };
  } finally {
    await listener.close();
  }
}

async function gotLogin(
  server: LoginServer,
  listener: CallbackListener,
  before: Login | null,
  { scopes, signal, onAddress }: LoginSteps,
): Promise<Login | LoginFailure> {
  const { transport } = server;
  const { redirectUrl } = listener;
  try {
    const { challenge, fault } = await challengeOf(server, signal);
    signal.throwIfAborted();
    if (fault !== null) return unreachedServer(server.name, fault);
    const asked = { transport, redirectUrl, scopes, before, challenge, signal, now: Date.now };
    const begun = await beginLogin(asked);
    const answer = listener.answer(begun.state, signal);
    onAddress(begun.url.href, begun.issuer);
    return await begun.finish(await answer);
  } catch (error) {
    if (signal.aborted) throw error;
    return loginFailureOf(error, server.name);
  }
}

/** A login that cannot be opened is replaced. */
async function known(logins: LoginStore, name: string): Promise<Login | null> {
  try {
    return (await logins.read(name))?.login ?? null;
  } catch (error) {
    if (loginFaultIn(error) === null) throw error;
    return null;
  }
}

/** Removes a login; false: there was none. Needs no key: a removed login is not decrypted. */
export async function logOut(config: Config, name: string, redisUrl: string): Promise<boolean> {
  return askRedis(redisUrl, async (connection) => loginRecordsOn(connection, config).remove(name));
}

async function onLogins<T>(
  config: Config,
  redisUrl: string,
  work: (logins: LoginStore) => Promise<T>,
): Promise<T> {
  return askRedis(redisUrl, async (connection) => {
    const logins = loginsOn(connection, config);
    if (logins === null) throw new Error('a login needs a key');
    return work(logins);
  });
}

function redirectPortOf(config: Config, name: string): number {
  const server = config.mcpServers.get(name);
  return server?.kind === 'http' ? (server.auth?.redirect_port ?? 0) : 0;
}
