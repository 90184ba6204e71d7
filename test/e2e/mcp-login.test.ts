/** `adjutant mcp login` and `logout` beside a running service, as a person sees them; then all output is searched for tokens.
 *  It must never check only where a token should not be: it looks everywhere. */
import { rm } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import type { ToolListing } from '../../src/contract/tool/tool-listing.ts';
import { cliFolder, type Running, startCli } from '../support/cli.ts';
import { URL_OF_A_SERVICE } from '../support/cli-service.ts';
import { eventually } from '../support/eventually.ts';
import { browse, startOAuthPeer, storeOn, TOKEN_KEY } from '../support/oauth.ts';
import { startOtlpReceiver } from '../support/otlp-receiver.ts';
import { get } from '../support/public-api.ts';
import { startRedis } from '../support/redis.ts';
import { shared } from '../support/shared.ts';
import { closeRedis, connectRedis } from '../../src/platform/redis/connection.ts';

const peer = shared(async () => startOAuthPeer());
const redis = shared(async () => startRedis());
const collector = shared(startOtlpReceiver);

async function folder(more: object = {}): Promise<{ cwd: string; env: Record<string, string> }> {
  const url = peer.server().transport.url;
  const mcpServers = { crm: { url, auth: {} }, local: { command: 'true' }, ...more };
  const telemetry = { content_bytes: 65_536 };
  const cwd = await cliFolder({ 'adjutant.json': { mcpServers, telemetry } });
  onTestFinished(async () => rm(cwd, { recursive: true, force: true }));
  const env = {
    REDIS_URL: redis.url,
    ADJUTANT_TOKEN_KEY: TOKEN_KEY.toString('base64'),
    ADJUTANT_LOG_LEVEL: 'trace',
  };
  return { cwd, env };
}

const ADDRESS = /http:\/\/127\.0\.0\.1:\d+\/auth\?\S+/;

async function loggedIn(login: Running): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const address = await login.said(ADDRESS);
  expect(await browse(address)).toContain('goes on in the terminal');
  return login.ended;
}

test('a person logs in, widens the login and logs out; no token is in any output, signal, span or key of Redis', async () => {
  const { cwd, env } = await folder();
  const up = startCli(['up', '--port', '0'], {
    cwd,
    env: { ...env, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
  });
  const url = await up.said(URL_OF_A_SERVICE);
  const command = (...args: string[]): Running => startCli(args, { cwd, env: { ...env, ADJUTANT_URL: url } });
  const printed: string[] = [];
  const say = async (running: Running): Promise<string> => {
    const { stdout, stderr } = await running.ended;
    printed.push(stdout, stderr);
    return stdout + stderr;
  };
  const listed = async () =>
    (await get<ToolListing>(`${url}/v1/tools`)).body.servers.find(({ name }) => name === 'crm');
  await eventually(async () => (await listed())?.error).toContain('`adjutant mcp login crm`');

  const login = await loggedIn(command('mcp', 'login', 'crm', '--no-browser'));
  expect(login).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/Logged in to crm as client .* for mcp:use/) as string,
  });
  await eventually(async () => (await listed())?.status).toBe('ready');
  await eventually(async () => (await listed())?.login).toMatchObject({
    issuer: peer.issuer,
    renewable: true,
  });
  expect(await say(command('tools', 'crm'))).toMatch(/crm is logged in.*then renewed by itself/);
  expect(await say(command('doctor'))).toMatch(/mcp crm.*logged in as client .* until/);
  expect(await say(command('call', 'crm.use', '{}'))).toContain('use');
  expect(await say(command('call', 'crm.blurt', '{}'))).toContain('bad token [REDACTED]');
  expect(await say(command('call', 'crm.admin', '{}'))).toContain('adjutant mcp login crm --scope mcp:admin');
  const wider = await loggedIn(command('mcp', 'login', 'crm', '--no-browser', '--scope', 'mcp:admin'));
  expect(wider.stdout).toMatch(/for mcp:use mcp:admin/);
  await eventually(async () => say(command('call', 'crm.admin', '{}'))).toMatch(/^admin$/m);

  const connection = connectRedis(redis.url, 'commands');
  const stored = await storeOn(connection, 'adjutant').read('crm');
  const tokens = [stored?.login.accessToken, stored?.login.refreshToken, stored?.login.client.client_secret];
  expect(await say(command('mcp', 'logout', 'crm'))).toContain('Logged out of crm');
  await eventually(async () => say(command('call', 'crm.use', '{}'))).toContain('no login exists');
  const kept = await everythingIn(connection);
  await closeRedis(connection);
  up.child.kill('SIGTERM');
  const { stdout, stderr } = await up.ended;
  const everywhere = [
    stdout,
    stderr,
    ...printed,
    login.stdout,
    wider.stdout,
    kept,
    JSON.stringify(collector.spans(), (_key, value: unknown) => (typeof value === 'bigint' ? '' : value)),
  ].join('\n');
  for (const token of tokens) {
    expect(token).toBeTypeOf('string');
    expect(everywhere).not.toContain(token);
  }
});

/** As RESTORE would take it; texts stand in it as they are. */
async function everythingIn(connection: ReturnType<typeof connectRedis>): Promise<string> {
  const keys = await connection.keys('*');
  const dumps = await Promise.all(keys.map((key) => connection.dumpBuffer(key)));
  return dumps.map((dump) => dump?.toString('latin1') ?? '').join('\n');
}

test('what cannot be logged in at is refused with its fix', async () => {
  const { cwd, env } = await folder({
    away: { url: 'http://127.0.0.1:2/mcp', auth: {} },
    barred: { url: 'http://127.0.0.1:1/mcp', auth: {} },
  });
  const refused = async (args: readonly string[], more: Record<string, string> = {}) => {
    const { code, stderr } = await startCli(['mcp', ...args], { cwd, env: { ...env, ...more } }).ended;
    return `${code} ${stderr.replaceAll(/\s+/g, ' ')}`;
  };
  expect(await refused(['login', 'crn'])).toMatch(/^2 .*no MCP server "crn".*Did you mean crm/);
  expect(await refused(['login', 'local'])).toMatch(/^2 .*is a program on this machine/);
  expect(await refused(['login', 'away', '--no-browser'])).toMatch(
    /^1 .*The MCP server away does not answer: .*ECONNREFUSED.*correct mcpServers\.away\.url/,
  );
  expect(await refused(['login', 'barred', '--no-browser'])).toMatch(
    /^1 .*The MCP server barred does not answer: .*bad port/,
  );
  expect(await refused(['login', 'crm'], { ADJUTANT_TOKEN_KEY: '' })).toMatch(
    /^1 .*ADJUTANT_TOKEN_KEY is not set.*openssl rand -base64 32/,
  );
  expect(await refused(['login', 'crm'], { ADJUTANT_TOKEN_KEY: 'short-secret' })).toMatch(
    /^1 .*32 random bytes(?!.*short-secret)/,
  );
  expect(await refused(['login', 'crm', '--no-browser', '--time-limit', '1'])).toMatch(
    /^1 .*browser did not return.*within 1 s/,
  );
  const up = await startCli(['up', '--port', '0'], { cwd, env: { ...env, ADJUTANT_TOKEN_KEY: '' } }).ended;
  expect(up).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/ADJUTANT_TOKEN_KEY is not set.*crm/) as string,
  });
});
