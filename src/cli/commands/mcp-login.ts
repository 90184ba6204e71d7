/** `adjutant mcp login` and `logout`: one login of the service at an MCP server, for all its workers.
 *  It must never print a token, nor send one over the API. */
import type { Command } from 'commander';
import { closeNames } from '../../platform/bounds/close-names.ts';
import type { ServerLogin } from '../../contract/tool/tool-listing.ts';
import { privateRedisUrl } from '../../platform/redis/private-redis.ts';
import { ADJUTANT } from '../command-name.ts';
import { hideEnvironment, startFault } from '../start-fault.ts';
import { openBrowser } from '../browser.ts';
import { CliFailure, EXIT, type ExitCode, usage } from '../failure.ts';
import type { CommandLine } from '../invocation.ts';
import { wholeNumber } from '../options/option-values.ts';
import { oneLine, type Terminal } from '../terminal.ts';

interface LogoutOptions {
  /** Default: adjutant.json here. */
  readonly config?: string;
  readonly json: boolean;
}

export interface LoginOptions extends LogoutOptions {
  /** Beside those of the configuration and of the last login. */
  readonly scope: readonly string[];
  /** false: the address is only printed. */
  readonly browser: boolean;
  /** Seconds. */
  readonly timeLimit: number;
}

interface LoginPlace {
  readonly terminal: Terminal;
  readonly interrupt: AbortSignal;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

type Config = Awaited<ReturnType<typeof import('../../config/config.ts').loadConfig>>;

const MAX_TIME_LIMIT_S = 86_400;

const CONFIG = ['--config <file>', 'the configuration; default: adjutant.json here'] as const;

/** The verbs of `mcp` about logins at servers. */
export function addLogins(verbs: Command, { local }: CommandLine): void {
  verbs
    .command('login <server>')
    .description(
      'log the service in at an MCP server that asks for OAuth: for all workers, until you log out',
    )
    .option(...CONFIG)
    .option(
      '--scope <scopes...>',
      'ask for these, beside those of the configuration and of the last login',
      [],
    )
    .option('--no-browser', 'only print the address')
    .option('--time-limit <seconds>', 'how long to wait for the browser', wholeNumber, 300)
    .action(async (server: string, given: LoginOptions) =>
      local(async (place) => login(place, server, given)),
    );
  verbs
    .command('logout <server>')
    .description('forget the login at an MCP server, for all workers')
    .option(...CONFIG)
    .action(async (server: string, given: LogoutOptions) =>
      local(async (place) => logout(place, server, given)),
    );
}

async function login(place: LoginPlace, server: string, options: LoginOptions): Promise<ExitCode> {
  const { terminal, interrupt } = place;
  const { json, timeLimit } = options;
  const { config, redisUrl } = await prepared(place, server, options);
  requirePersonalLogin(config, server);
  const limit = AbortSignal.timeout(Math.min(timeLimit, MAX_TIME_LIMIT_S) * 1_000);
  const onAddress = (url: string, issuer: string): void =>
    showAddress(terminal, options, { url, issuer, server });
  const { logIn } = await import('../../service/roles/mcp-login.ts');
  try {
    const signal = AbortSignal.any([interrupt, limit]);
    const outcome = await logIn(config, server, { onAddress, scopes: options.scope, redisUrl, signal });
    if (!outcome.ok) throw new CliFailure(outcome);
    showLogin(terminal, json, server, outcome.login);
    return EXIT.done;
  } catch (error) {
    if (interrupt.aborted) return EXIT.interrupted;
    if (limit.aborted) throw notInTime(timeLimit);
    throw startFault(error);
  }
}

async function logout(place: LoginPlace, server: string, options: LogoutOptions): Promise<ExitCode> {
  const { config, redisUrl } = await prepared(place, server, options);
  const { logOut } = await import('../../service/roles/mcp-login.ts');
  try {
    const removed = await logOut(config, server, redisUrl);
    if (options.json) place.terminal.out(JSON.stringify({ server, logged_out: removed }));
    else
      place.terminal.out(
        removed
          ? `Logged out of ${server}; workers notice within seconds.`
          : `There was no login at ${server}.`,
      );
    return EXIT.done;
  } catch (error) {
    throw startFault(error);
  }
}

async function prepared(
  { environment }: LoginPlace,
  server: string,
  options: LogoutOptions,
): Promise<{ config: Config; redisUrl: string }> {
  hideEnvironment();
  const { loadConfig } = await import('../../config/config.ts');
  const config = configOr(() => loadConfig(options.config, environment));
  requireServer(config, server);
  const redisUrl = config.redisUrl ?? (await privateRedisUrl(process.cwd()));
  if (redisUrl === null)
    throw new CliFailure({
      what: 'There is no Redis to keep the login in.',
      how: `Set REDIS_URL, or run \`${ADJUTANT} up\` in this folder first.`,
    });
  return { config, redisUrl };
}

function configOr(load: () => Config): Config {
  try {
    return load();
  } catch (error) {
    throw startFault(error);
  }
}

/** Throws `CliFailure`, unless the server can be logged in at. */
function requireServer({ mcpServers }: Config, name: string): void {
  const server = mcpServers.get(name);
  const shown = oneLine(name, 80);
  if (server === undefined) {
    const close = closeNames(name, [...mcpServers.keys()]);
    throw usage(
      `The configuration has no MCP server "${shown}".`,
      otherServer(close, [...mcpServers.keys()]),
    );
  }
  if (server.kind !== 'http')
    throw usage(`${shown} is a program on this machine.`, 'Only servers with a url have a login.');
  if (server.auth === undefined)
    throw usage(`${shown} has no login in the configuration.`, `Add "auth": {} to mcpServers.${name}.`);
}

function otherServer(close: readonly string[], all: readonly string[]): string {
  if (close.length > 0) return `Did you mean ${close.join(' or ')}?`;
  if (all.length > 0) return `There are ${all.join(', ')}.`;
  return 'It has none: run this in the folder of your adjutant.json, or name the file with --config.';
}

function requirePersonalLogin({ mcpServers, tokenKeys }: Config, name: string): void {
  const server = mcpServers.get(name);
  if (server?.kind === 'http' && server.auth?.grant === 'client_credentials')
    throw usage(
      `The service logs in to ${name} by itself.`,
      'Its account is in the configuration: there is nothing to do.',
    );
  if (tokenKeys.length === 0)
    throw new CliFailure({
      what: 'ADJUTANT_TOKEN_KEY is not set: with it the login is sealed before Redis gets it.',
      how: 'Set it for this command and for every worker, as `openssl rand -base64 32` prints it, and keep it.',
    });
}

function notInTime(seconds: number): CliFailure {
  return new CliFailure({
    what: `The browser did not return within ${seconds} s.`,
    how: 'Run the command again; --time-limit gives more time. The browser must run on this machine.',
  });
}

interface Address {
  readonly url: string;
  readonly issuer: string;
  readonly server: string;
}

function showAddress(
  terminal: Terminal,
  { browser, json }: LoginOptions,
  { url, issuer, server }: Address,
): void {
  terminal.err(`To log in to ${server} at ${oneLine(issuer, 200)}, open this address on this machine:`);
  if (json) terminal.out(JSON.stringify({ server, open: url }));
  else terminal.out(url);
  if (browser) openBrowser(url);
}

function showLogin(terminal: Terminal, json: boolean, server: string, login: ServerLogin): void {
  if (json) terminal.out(JSON.stringify({ server, ...login }));
  else terminal.out(`Logged in to ${server} ${loginLine(login)}. Workers use it within seconds.`);
}

export function loginLine(login: ServerLogin): string {
  const { issuer, client_id: client, account, scope } = login;
  const who = account === undefined ? `as client ${oneLine(client, 100)}` : `as ${oneLine(account, 100)}`;
  const scopes = scope === undefined ? '' : `, for ${oneLine(scope, 200)}`;
  return `${who} at ${oneLine(issuer, 200)}${scopes}; ${untilText(login)}`;
}

function untilText({ expires_at: expiresAt, renewable }: ServerLogin): string {
  if (expiresAt === undefined) return 'without an end';
  const until = `until ${expiresAt.slice(0, 19)}Z`;
  return renewable ? `${until}, then renewed by itself` : `${until}, then a new login is needed`;
}
