/** The official suite for authorization servers and `mcp-remote`, against the login of hosts.
 *  It must never answer for a program: the person only follows the address that it prints. */
import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { consent, startHostService } from '../support/host-login.ts';
import { createStranger } from '../support/oidc.ts';
import { freePort } from '../support/process.ts';
import { startRedis } from '../support/redis.ts';
import { untilListed } from './fixture-service.ts';
import { type Step, stepOf } from './steps.ts';
import { authorizationRun } from './suite-run.ts';

/** Resolves with what has to be looked at. */
export async function asAuthorizationServer(print: (line: string) => void): Promise<string[]> {
  print('\nAdjutant as an authorization server');
  const redis = await startRedis();
  try {
    await using service = await startHostService(redis.url);
    const { url } = service;
    const port = await freePort();
    const registered = await fetch(`${url}/oauth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ redirect_uris: [`http://127.0.0.1:${port}/callback`] }),
    });
    const { client_id: client } = (await registered.json()) as { client_id: string };
    const { key } = await service.key();
    const run = await authorizationRun({ url, client, port }, async (authorize) => {
      await (await fetch(await consent(createStranger(), authorize, key))).text();
    });
    print(`${run.passed ? 'passed' : 'NOT PASSED'}  authorization  ${run.summary}`);
    if (run.passed) return [];
    print(run.output);
    return ['The login of hosts does not pass the suite for authorization servers.'];
  } finally {
    await redis.stop();
  }
}

const LIMIT_MS = 120_000;
const ADDRESS = /Please authorize this client by visiting:\s+(http\S+)/;

/** `client`: the program of `mcp-remote` that logs in and lists the tools. */
export async function mcpRemoteSteps(client: string): Promise<Step[]> {
  const redis = await startRedis();
  const folder = await mkdtemp(join(tmpdir(), 'adjutant-mcp-remote-'));
  try {
    await using service = await startHostService(redis.url);
    const { key } = await service.key();
    await untilListed(service.url, key);
    return [
      await stepOf('logs in and lists the tools', async () => {
        const args = [client, `${service.url}/mcp`, String(await freePort()), '--allow-http'];
        const printed = await remoteOutput(args, folder, key);
        if (!printed.includes('peer__echo')) throw new Error(printed.slice(-2_000));
      }),
    ];
  } finally {
    await redis.stop();
    await rm(folder, { recursive: true });
  }
}

/** All that it printed until the tools were listed, or it ended. */
async function remoteOutput(args: readonly string[], folder: string, key: string): Promise<string> {
  // A browser that does nothing: the person of this file follows the address.
  const env = { PATH: process.env['PATH'], HOME: folder, MCP_REMOTE_CONFIG_DIR: folder, BROWSER: 'true' };
  const signal = AbortSignal.timeout(LIMIT_MS);
  const child = spawn(process.execPath, args, { env, signal, stdio: 'pipe' });
  let printed = '';
  let login: Promise<unknown> | undefined;
  const person = async (authorize: string): Promise<void> => {
    await (await fetch(await consent(createStranger(), authorize, key))).text();
  };
  const read = (text: Buffer): void => {
    printed += text.toString();
    const authorize = ADDRESS.exec(printed)?.[1];
    if (authorize !== undefined)
      login ??= person(authorize).catch((error: unknown) => (printed += String(error)));
    if (printed.includes('peer__echo')) child.kill('SIGKILL');
  };
  child.stdout.on('data', read);
  child.stderr.on('data', read);
  child.on('error', (error) => (printed += String(error)));
  await new Promise((resolve) => void child.once('close', resolve));
  await login;
  return printed;
}
