/** The entry of every npm script in a clone: installs what is missing, then runs the task under the pinned Node.
 *  It must work on Node 20 with nothing installed, and take no noticeable time when nothing is missing. */
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ensureConsole, ensureDocs } from './console-freshness.mjs';
import { ensureDependencies } from './dependencies.mjs';
import { become, environmentOf, FROM_SOURCES, nodePath } from './pinned-node.mjs';
import { ensureRedisServer } from './redis-server.mjs';
import { reportUnprepared, Unprepared } from './unprepared.mjs';

/**
 * Task → its program, and whether it needs a redis-server on this machine: `always` (it starts its own), `unless-url`
 * (not when REDIS_URL is set), or `never`; and whether it serves the console and the documentation.
 */
const TASKS = {
  start: { program: ['src/cli/main.ts', 'up'], redisServer: 'unless-url', pages: true },
  demo: { program: ['scripts/demo.ts'], redisServer: 'always' },
  test: { program: ['scripts/test.ts'], redisServer: 'always' },
  'test:archive': { program: ['test/archive/main.ts'], redisServer: 'always' },
  'test:access': { program: ['test/access/main.ts'], redisServer: 'always' },
  'test:agents': { program: ['test/agents/main.ts'], redisServer: 'always' },
  'test:chaos': { program: ['test/chaos/main.ts'], redisServer: 'always' },
  'test:flow': { program: ['test/flow/main.ts'], redisServer: 'always' },
  'test:kills': { program: ['scripts/test.ts', '--kills'], redisServer: 'always' },
  'test:leftovers': { program: ['test/leftovers/main.ts'], redisServer: 'always' },
  'test:neighbours': { program: ['test/neighbours/main.ts'], redisServer: 'always' },
  'test:jaeger': { program: ['test/jaeger/main.ts'], redisServer: 'always' },
  'test:conformance': { program: ['test/conformance/main.ts'], redisServer: 'always' },
  'test:clients': { program: ['test/clients/main.ts'], redisServer: 'always' },
  'test:console': { program: ['test/console/main.ts'], redisServer: 'always' },
  'test:providers': { program: ['test/providers/main.ts'], redisServer: 'always' },
  'test:deploy': { program: ['test/deploy/main.ts'], redisServer: 'never' },
  'test:resume': { program: ['test/resume/main.ts'], redisServer: 'always' },
  'test:scale': { program: ['bench/scale.ts'], redisServer: 'always' },
  'test:archived': { program: ['bench/archived.ts'], redisServer: 'always' },
  'test:redis': { program: ['test/redis/main.ts'], redisServer: 'never' },
  'test:memory': { program: ['bench/memory.ts'], redisServer: 'always' },
  bench: { program: ['bench/main.ts'], redisServer: 'always' },
  check: { program: ['scripts/check.ts'], redisServer: 'never' },
  build: { program: ['scripts/build.ts'], redisServer: 'never' },
  release: { program: ['scripts/release.ts'], redisServer: 'never' },
};

const root = dirname(dirname(fileURLToPath(import.meta.url)));

reportUnprepared(() => {
  const [name = '', ...args] = process.argv.slice(2);
  const task = Object.hasOwn(TASKS, name) ? TASKS[name] : null;
  if (task === null)
    throw new Unprepared(`'${name}' is not a task; the tasks are ${Object.keys(TASKS).join(', ')}.`);
  ensureDependencies(root);
  const tools = needsRedisServer(task) ? [ensureRedisServer(task.redisServer === 'unless-url')] : [];
  const command = [FROM_SOURCES, ...task.program, ...args];
  const [node, env] = [nodePath(root), environmentOf(root, tools)];
  if (task.pages === true) for (const ensure of [ensureConsole, ensureDocs]) ensure(root, node, env);
  become(node, command, { cwd: root, env });
});

function needsRedisServer({ redisServer }) {
  return redisServer === 'always' || (redisServer === 'unless-url' && (process.env.REDIS_URL ?? '') === '');
}
