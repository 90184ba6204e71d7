/** A start that cannot succeed: the process exits with 1, names the fault and the fix, and leaves nothing running.
 *  It must not wait for a time: a process that stays alive fails by the limit of the test. */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { cliFolder, type Env, type Run, startCli } from '../support/cli.ts';
import { exists } from '../support/mcp-process.ts';
import { freePort } from '../support/process.ts';
import { useRedis } from '../support/shared.ts';

const redis = useRedis();
const folders: string[] = [];

afterAll(async () => {
  for (const path of folders) await rm(path, { recursive: true, force: true });
});

interface Start {
  readonly role?: 'up' | 'api' | 'engine' | 'worker';
  /** adjutant.json; text is written unchanged. Default: empty. */
  readonly config?: unknown;
  readonly files?: Readonly<Record<string, string>>;
  /** Default: REDIS_URL of a working Redis. */
  readonly env?: Env;
}

async function start({ role = 'up', config = {}, files = {}, env }: Start): Promise<Run & { cwd: string }> {
  const cwd = await cliFolder();
  folders.push(cwd);
  const text = typeof config === 'string' ? config : JSON.stringify(config);
  const all = { 'adjutant.json': text, ...files };
  for (const [name, content] of Object.entries(all)) await writeFile(join(cwd, name), content);
  const port = role === 'up' || role === 'api' ? ['--port', '0'] : [];
  const run = await startCli([role, ...port], { cwd, env: env ?? { REDIS_URL: redis.url } }).ended;
  return { ...run, cwd };
}

const agent = (fields: object) => ({ agents: { a: { tools: [], ...fields } } });

test.each<[string, Start, RegExp, RegExp]>([
  [
    'an unknown key, and what is missing for it',
    { role: 'api', config: '{\n  // a comment\n  "mcpServers": { "x": {\n    "comand": "node", } }\n}' },
    /adjutant\.json:3:19 mcpServers\.x\.command is required.*adjutant\.json:4:5 mcpServers\.x\.comand is not a known key; did you mean "command"\?/,
    /Correct the file/,
  ],
  [
    'a module that leaves a timer behind, beside one that is wrong',
    {
      config: { strategies: ['./left.ts', './wrong.ts'] },
      files: {
        'left.ts': 'setInterval(() => {}, 1000); export const s = { name: "s", init() {}, reduce() {} };',
        'wrong.ts': 'export const s = { name: "t", init() {} };',
      },
    },
    /without a function "reduce"/,
    /Correct the module/,
  ],
  [
    'a Redis URL without a scheme',
    { env: { REDIS_URL: 'localhost:6379' } },
    /REDIS_URL "localhost:6379" is not the URL of a Redis/,
    /Write REDIS_URL=redis:\/\/localhost:6379/,
  ],
  ['a role alone without a Redis', { role: 'worker', env: {} }, /REDIS_URL is not set/, /Set REDIS_URL/],
  [
    'an address that is not of this machine',
    { role: 'api', env: { REDIS_URL: 'redis://127.0.0.1:1', ADJUTANT_HOST: '203.0.113.1' } },
    /cannot listen on 203\.0\.113\.1/,
    /--host/,
  ],
  [
    'a Redis program that is away',
    { env: { REDIS_SERVER: '/no/redis-server' } },
    /redis-server is not installed/,
    /Type .*(?:apt-get|brew) install.*redis:7/,
  ],
])('%s', async (_, options, reason, fix) => {
  const { code, stdout, stderr } = await start(options);
  expect({ code, stdout }, stderr).toEqual({ code: 1, stdout: '' });
  const lines = stderr.trim().split('\n');
  // Faults with the same fix have it once, below the last of them.
  const words = lines.map((line) => line.trim().split(' ')[0]).join(' ');
  expect(words).toMatch(/^(?:(?:error )+fix ?)+$/);
  const fixes = lines.filter((line) => line.trim().startsWith('fix'));
  expect(fixes.filter((fix, at) => fix === fixes[at - 1])).toEqual([]);
  expect(lines.join(' ')).toMatch(reason);
  expect(lines.join(' ')).toMatch(fix);
});

test('a port that is taken, before anything is started', async () => {
  await using other = createServer().listen(0, '127.0.0.1');
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  const cwd = await cliFolder();
  folders.push(cwd);
  const { code, stderr } = await startCli(['up', '--port', String(port)], { cwd }).ended;
  expect(code).toBe(1);
  expect(stderr).toContain(`cannot listen on 127.0.0.1:${port}: the port is in use`);
  expect(await readdir(cwd)).toEqual([]);
});

test('a Redis that does not run: its URL, without the password, and the fix', async () => {
  const address = `127.0.0.1:${await freePort()}`;
  const { code, stderr } = await start({
    role: 'worker',
    env: { REDIS_URL: `redis://u:hunter2@${address}` },
  });
  expect(code).toBe(1);
  expect(stderr).toContain(`redis: does not answer at redis://…@${address}: connect ECONNREFUSED`);
  expect(stderr).toContain('Start it, or correct REDIS_URL.');
  expect(stderr).not.toContain('hunter2');
});

test('all faults are reported at once, each with its fix', async () => {
  const { code, stderr } = await start({
    config: { providers: { openai: {} }, ...agent({ strategy: 'reakt', model_alias: 'quick' }) },
  });
  expect(code).toBe(1);
  expect(stderr.match(/^error /gm)).toHaveLength(3);
  expect(stderr).toMatch(/model provider openai: openai: OPENAI_API_KEY is not set/);
  expect(stderr).toMatch(/Set OPENAI_API_KEY, or take providers\.openai out/);
  expect(stderr).toMatch(/agent a: no strategy "reakt".*did you mean "react"\?/);
  expect(stderr).toContain('Correct agents.a.strategy');
  expect(stderr).toMatch(/agent a: "quick" is not a model alias/);
  expect(stderr).toContain('define the alias in models');
});

test('a fault after the start of the private Redis stops it again', async () => {
  const cwd = await cliFolder();
  folders.push(cwd);
  // A redis-server of this machine that is unfit, whatever its configuration file says.
  const program = join(cwd, 'redis-server');
  const script =
    '#!/bin/sh\necho $$ > "$(dirname "$0")/pid"\nexec redis-server "$@" --maxmemory-policy allkeys-lru\n';
  await writeFile(program, script, { mode: 0o755 });
  const { code, stderr } = await startCli(['up', '--port', '0'], { cwd, env: { REDIS_SERVER: program } })
    .ended;
  expect(code, stderr).toBe(1);
  expect(stderr).toMatch(/maxmemory-policy allkeys-lru.*noeviction/);
  await expect(readFile(join(cwd, '.adjutant/redis/owner.json'))).rejects.toThrow('ENOENT');
  const pid = Number(await readFile(join(cwd, 'pid'), 'utf8'));
  expect(exists(pid)).toBe(false);
});

test('a pattern that matches no tool is a warning, and the service starts', async () => {
  const cwd = await cliFolder({ 'adjutant.json': agent({ tools: ['filesistem.*'] }) });
  folders.push(cwd);
  const up = startCli(['up', '--port', '0'], {
    cwd,
    env: { REDIS_URL: redis.url, ADJUTANT_PREFIX: 'warned' },
  });
  await up.said(/listens on/);
  up.child.kill('SIGTERM');
  const { code, stderr } = await up.ended;
  expect(code).toBe(0);
  expect(stderr).toMatch(/warning agent a: the pattern "filesistem\.\*" matches no tool/);
});
