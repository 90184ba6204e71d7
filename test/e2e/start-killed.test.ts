/** The start script is killed, in each way to become the program: the worker ends with it, and so do its tool servers.
 *  It must not end what has to end by itself before the test is over: then it ends all that is left of it. */
import { mkdir, readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test, type TestContext } from 'vitest';
import { cliFolder } from '../support/cli.ts';
import { gone } from '../support/mcp-process.ts';
import { PROGRAM } from '../support/program.ts';
import { ownServerEntry } from '../support/mcp-servers.ts';
import { type Child, spawnProcess } from '../support/process.ts';
import { familyOf } from '../support/process-family.ts';
import { useRedis } from '../support/shared.ts';

const SCRIPT = resolve('scripts/adjutant.mjs');
/** A Node that cannot replace a process, like Node 20. */
const WITHOUT_EXECVE = '--import=data:text/javascript,delete process.execve';

const redis = useRedis();
let folder: string;

beforeAll(async () => {
  const peer = ownServerEntry('legacy-peer.ts');
  folder = await cliFolder({ 'adjutant.json': { mcpServers: { peer } } });
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

/** A worker that has started its tool server, and the process of that server. Nothing of it outlives its test. */
async function startWorker(
  { onTestFinished }: TestContext,
  command: string,
  args: readonly string[],
  more: Readonly<Record<string, string>> = {},
): Promise<[worker: Child, server: number]> {
  const config = ['--config', join(folder, 'adjutant.json')];
  const env = {
    REDIS_URL: redis.url,
    ADJUTANT_LOG_LEVEL: 'info',
    npm_lifecycle_event: undefined,
    ...more,
  };
  const worker = spawnProcess(command, [...args, 'worker', ...config], { env });
  const family = familyOf(worker.pid);
  onTestFinished(family.end);
  await worker.waitForLine(/^adjutant works/);
  const line = await worker.waitForLine(/"pid":\d+/);
  family.note();
  return [worker, Number(/"pid":(\d+)/.exec(line)?.[1])];
}

test.concurrent.for<[string, string, string[]]>([
  ['which is the worker itself', process.execPath, [SCRIPT]],
  ['whose child the worker is', process.execPath, [WITHOUT_EXECVE, SCRIPT]],
  ['of npx, two processes above', 'npx', ['adjutant']],
])('SIGKILL of the start script, %s, ends all', async ([, command, args], context) => {
  const [worker, server] = await startWorker(context, command, args);
  // Resolves when no process writes to its output any more, whichever inherited it.
  const exit = await worker.kill9();
  await gone(server);
  expect(exit.signal).toBe('SIGKILL');
  expect(worker.lines.filter((line) => /Warning/.test(line))).toEqual([]);
});

test.concurrent('SIGTERM of npx, which its shell does not pass on, stops the worker', async (context) => {
  const [worker, server] = await startWorker(context, 'npx', ['adjutant']);
  await worker.stop();
  await gone(server);
  expect(worker.lines).toContain('stopping');
});

test.concurrent('a worker that is killed again and again compiles its code once', async (context) => {
  const cache = join(folder, 'compiled');
  await mkdir(cache);
  const [worker] = await startWorker(context, process.execPath, [PROGRAM], { NODE_COMPILE_CACHE: cache });
  await worker.kill9();
  const written = await readdir(cache, { recursive: true, withFileTypes: true });
  expect(written.filter((each) => each.isFile())).not.toEqual([]);
});
