/** What a stdio server can see of the process that started it, as the same user and as another.
 *  It must never need a real secret: a canary in the environment stands for all of them. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { McpServerOptions } from '../../../src/mcp/server-options.ts';
import { openPool } from '../../support/mcp-pool.ts';
import { spawnNode } from '../../support/process.ts';
import { startRedis } from '../../support/redis.ts';
import { PROGRAM } from '../../support/program.ts';

const CANARY = 'canary-hunter2-hunter2';
/** A server that only prints what it sees on stderr, and ends. */
const LOOK = [
  'echo "user $(id -u) $(id -g) groups $(id -G)" >&2',
  'if cat /proc/$PPID/environ > /dev/null 2>&1; then echo "environ readable" >&2; else echo "environ closed" >&2; fi',
  'for each in /proc/[0-9]*/environ; do grep -aq "$1" "$each" 2> /dev/null && echo "found in $each" >&2; done',
  'echo looked >&2',
  'cat > /dev/null',
].join('\n');

const asUser = (user: object): McpServerOptions => ({
  name: 'look',
  transport: {
    kind: 'stdio',
    command: '/bin/sh',
    args: ['-c', LOOK, 'sh', 'nothing'],
    env: {},
    cwd: '/',
    ...user,
  },
});

test.runIf(process.getuid?.() === 0)('a server of another user has none of our rights', async () => {
  const { pool, logs, until } = openPool(asUser({ user: { uid: 65_534, gid: 65_534 } }));
  pool.start();
  const lines = (): unknown[] => logs.map(({ fields }) => fields['line']);
  await until(() => lines().includes('looked'));
  expect(lines()).toContain('user 65534 65534 groups 65534');
  expect(lines()).toContain('environ closed');
});

/** A Node that cannot replace a process, like Node 20: the launcher lives as long as the worker. */
const WITHOUT_EXECVE = '--import=data:text/javascript,delete process.execve';

test.runIf(process.platform === 'linux').each([
  ['of the program', [PROGRAM]],
  ['of a launcher that waits for the program', [WITHOUT_EXECVE, resolve('scripts/adjutant.mjs')]],
])('a server of the same user finds no secret in /proc %s', async (_, start) => {
  const redis = await startRedis();
  onTestFinished(async () => redis.stop());
  const folder = await mkdtemp(join(tmpdir(), 'adjutant-environ-'));
  onTestFinished(async () => rm(folder, { recursive: true }));
  const file = join(folder, 'adjutant.json');
  const mcpServers = { look: { command: '/bin/sh', args: ['-c', LOOK, 'sh', 'canary-[h]unter2'] } };
  await writeFile(file, JSON.stringify({ mcpServers }));
  const env = { REDIS_URL: redis.url, OPENAI_API_KEY: CANARY, ADJUTANT_LOG_LEVEL: 'debug' };
  const worker = spawnNode([...start, 'worker', '--config', file], { env });
  onTestFinished(async () => void (await worker.kill9()));
  await worker.waitForLine(/"line":"looked"/);
  expect(worker.lines.filter((line) => /found in|environ closed/.test(line))).toEqual([]);
  expect(worker.lines.some((line) => line.includes('environ readable'))).toBe(true);
});
