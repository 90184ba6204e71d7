/** `npm run test:redis -- <server>`: a fixed part of the tests on any server that speaks Redis' protocol.
 *  It must never fall back to the redis-server of this machine. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { resolve } from 'node:path';

/** Tests that depend on the server: scripts, queues, followers, outages, failovers, and directives whose worker is killed. */
const FILES = [
  'test/integration/platform/redis',
  'test/integration/store',
  'test/integration/queue',
  'test/integration/agents/crash.test.ts',
  'test/e2e/worker-killed.test.ts',
  'test/e2e/redis-killed.test.ts',
];

const [given] = process.argv.slice(2);
if (given === undefined) {
  console.error('Name the server: npm run test:redis -- /path/to/valkey-server');
  process.exit(2);
}
const server = resolve(given);
accessSync(server, constants.X_OK);
console.log(execFileSync(server, ['--version'], { encoding: 'utf8' }).trim());
// Not every build has TLS.
const tests = spawn('vitest', ['run', '--exclude=test/integration/platform/redis/tls.test.ts', ...FILES], {
  stdio: 'inherit',
  env: { ...process.env, REDIS_SERVER: server },
});
const [status] = (await once(tests, 'close')) as [number | null];
process.exitCode = status ?? 1;
