/** Runs the official conformance suite: one scenario with the client beside this file, or a revision against a server.
 *  It must never leave anything in the working directory. */
import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { programOf } from '../support/program.ts';

export interface SuiteRun {
  readonly passed: boolean;
  /** `Passed: 3/3, 0 failed, 0 warnings`. */
  readonly summary: string;
  /** All that the suite has printed. */
  readonly output: string;
}

/** One scenario against a server. */
export interface ServerRun {
  readonly scenario: string;
  /** Names of the checks that failed, each once. */
  readonly failed: readonly string[];
  /** How many have passed or failed. */
  readonly checks: number;
  /** How many of them have passed; warnings and what was skipped are neither. */
  readonly passed: number;
  /** What the failed checks say. */
  readonly output: string;
}

const PACKAGE = dirname(
  createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/package.json'),
);
const SUITE = join(PACKAGE, 'dist/index.js');
const CLIENT = programOf(fileURLToPath(new URL('./client.ts', import.meta.url)));
const AUTH_CLIENT = programOf(fileURLToPath(new URL('./auth-client.ts', import.meta.url)));
const LIMIT_MS = 60_000;

export async function suiteRun(scenario: string): Promise<SuiteRun> {
  const client = scenario.startsWith('auth/') ? AUTH_CLIENT : CLIENT;
  const command = [process.execPath, client].map((part) => `'${part}'`).join(' ');
  const args = ['client', '--command', command, '--scenario', scenario, '--timeout', String(LIMIT_MS)];
  return inFolder(async (folder) => {
    const { code, output } = await outputOf([...args, '--output-dir', folder]);
    const summary = /^Passed: .*$/m.exec(output)?.[0] ?? 'no result';
    return { passed: code === 0 && / 0 failed/.test(summary), summary, output };
  });
}

/** All scenarios of a revision against the server at `url`, and those of its extensions. */
export async function serverRuns(url: string, revision: string): Promise<ServerRun[]> {
  const args = ['server', '--url', url, '--requirements', revision, '--timeout', String(LIMIT_MS)];
  return inFolder(async (folder) => {
    const { output } = await outputOf([...args, '--output-dir', folder]);
    const results = (await readdir(folder)).toSorted();
    if (results.length === 0) throw new Error(`The conformance suite has not run:\n${output}`);
    return Promise.all(results.map(async (name) => serverRun(folder, name)));
  });
}

/** The scenarios that a revision asks of a server, frozen with it. */
export async function requiredOfServers(revision: string): Promise<readonly string[]> {
  const file = await readFile(join(PACKAGE, 'requirements', `${revision}.yaml`), 'utf8');
  return (parse(file) as { server: string[] }).server;
}

interface Check {
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
}

/** `name`: `server-<scenario>-<instant>`. */
async function serverRun(folder: string, name: string): Promise<ServerRun> {
  const checks = JSON.parse(await readFile(join(folder, name, 'checks.json'), 'utf8')) as Check[];
  const failures = checks.filter(({ status }) => status === 'FAILURE');
  const passed = checks.filter(({ status }) => status === 'SUCCESS').length;
  return {
    scenario: name.replace(/^server-(?<scenario>.*?)-\d{4}-\d\d-\d\dT[\d-]+Z$/, '$<scenario>'),
    failed: [...new Set(failures.map(({ id }) => id))],
    checks: passed + failures.length,
    passed,
    output: failures.map(({ id, errorMessage = '' }) => `  ${id}: ${errorMessage}`).join('\n'),
  };
}

async function inFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'adjutant-conformance-'));
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/**
 * The scenarios of authorization servers. The suite prints the address of a login and waits for a browser at its
 * callback; `person` is the browser.
 */
export async function authorizationRun(
  args: { readonly url: string; readonly client: string; readonly port: number },
  person: (authorize: string) => Promise<void>,
): Promise<SuiteRun> {
  const { url, client, port } = args;
  const given = ['--url', url, '--client-id', client, '--resource', `${url}/mcp`, '--port', String(port)];
  let login: Promise<void> | undefined;
  const { code, output } = await outputOf(['authorization', ...given], (printed) => {
    const authorize = /^http\S+\/oauth\/authorize\?\S+(?=\n[^]*Callback server started)/m.exec(printed)?.[0];
    if (authorize !== undefined) login ??= person(authorize);
  });
  await login;
  const summary = /^Total: .*$/m.exec(output)?.[0] ?? 'no result';
  return { passed: code === 0 && login !== undefined && / 0 failed/.test(summary), summary, output };
}

function outputOf(
  args: readonly string[],
  onOutput: (printed: string) => void = () => {},
): Promise<{ code: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [SUITE, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    const pieces: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (piece: Buffer) => {
        pieces.push(piece);
        onOutput(Buffer.concat(pieces).toString('utf8'));
      });
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output: Buffer.concat(pieces).toString('utf8') }));
  });
}
