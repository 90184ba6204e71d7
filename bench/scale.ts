/** `npm run test:scale`: two APIs, two engines and one to eight workers on one Redis and on clusters of three and six masters.
 *  It must judge by processor time of each process: on a machine with few cores eight workers are not faster than one. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { loadavg } from 'node:os';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { table } from '../src/cli/table.ts';
import { type Child, freePort } from '../test/support/process.ts';
import { startCluster } from '../test/support/redis-cluster.ts';
import { startRedis, type TestRedis } from '../test/support/redis.ts';
import { measure, type Part, type Stage } from './measurement.ts';
import { startRole, writeFileOf } from './scenarios.ts';
import { STEPS_AGENT } from './transports/run.ts';

/** `warm`: operations of each worker before anything counts. */
const { values } = parseArgs({
  options: { n: { type: 'string', default: '4000' }, warm: { type: 'string', default: '2000' } },
});

/** `calls`: no-ops in twelve lanes over HTTP. `tools`: calls of an MCP server over stdio. `runs`: agents of three no-ops. */
type Kind = 'calls' | 'tools' | 'runs';

interface Setting {
  readonly kind: Kind;
  readonly workers: number;
  /** 0: one Redis without a cluster. */
  readonly masters: 0 | 1 | 3 | 6;
}

const SETTINGS: readonly Setting[] = [
  ...[1, 2, 4, 8].map((workers) => ({ kind: 'calls', workers, masters: 0 }) as const),
  ...([1, 3, 6] as const).map((masters) => ({ kind: 'calls', workers: 4, masters }) as const),
  { kind: 'tools', workers: 2, masters: 0 },
  { kind: 'runs', workers: 2, masters: 0 },
  { kind: 'runs', workers: 2, masters: 3 },
];

const APIS = 2;
const ENGINES = 2;
/** Of each worker: one with less to do takes fewer calls at once, which costs more for each. */
const IN_FLIGHT = 100;
/** One run is about as much work as five calls. */
const RUN_SHARE = 5;
const TRANSPORTS = { calls: 'http-lanes', tools: 'http', runs: 'steps' } as const;
const ROLES = ['api', 'engine', 'worker', 'tool server'] as const;

interface Row extends Setting {
  readonly perSecond: number;
  /** Microseconds of processor time an operation, of all processes of a role. */
  readonly us: Readonly<Record<string, number>>;
  /** Of each master. */
  readonly redisUs: readonly number[];
  /** Of the process of each role that has the most. */
  readonly sockets: Readonly<Record<string, number>>;
  readonly memoryMb: Readonly<Record<string, number>>;
  /** Left in Redis, bytes an operation; null on a cluster. */
  readonly leftBytes: number | null;
}

async function measured(setting: Setting): Promise<Row> {
  const { kind, masters } = setting;
  await using servers = await startServers(masters);
  const stage = await startRoles(setting, servers);
  try {
    const share = kind === 'runs' ? RUN_SHARE : 1;
    const count = Math.ceil(Number(values.n) / share);
    const warmUp = Math.ceil((Number(values.warm) * setting.workers) / share);
    const plan = { warmUp, loads: [{ count, concurrency: IN_FLIGHT * setting.workers }], counted: null };
    const [result] = (await measure(TRANSPORTS[kind], stage, plan)).measurements;
    if (result === undefined) throw new Error('Nothing was measured.');
    return {
      ...setting,
      perSecond: result.perSecond,
      us: byRole(result.costs, ({ perOperationUs }) => perOperationUs, sum),
      redisUs: result.costs.filter(({ name }) => roleOf(name) === 'redis').map((cost) => cost.perOperationUs),
      sockets: byRole(stage.parts, ({ pid }) => socketsOf(pid), Math.max),
      memoryMb: byRole(stage.parts, ({ pid }) => residentMb(pid), Math.max),
      leftBytes: masters === 0 ? result.memoryBytes : null,
    };
  } finally {
    await stage.stop();
  }
}

interface Servers extends AsyncDisposable {
  readonly nodes: readonly TestRedis[];
  readonly url: string;
}

async function startServers(masters: Setting['masters']): Promise<Servers> {
  const durable = { appendonly: true, appendfsync: 'everysec' } as const;
  if (masters > 0) return startCluster({ masters, ...durable });
  const redis = await startRedis(durable);
  return { nodes: [redis], url: redis.url, [Symbol.asyncDispose]: async () => redis.stop() };
}

async function startRoles({ kind, workers }: Setting, { nodes, url }: Servers): Promise<Stage> {
  const config = await configOf(kind);
  const ports = await Promise.all(Array.from({ length: APIS }, freePort));
  const starts: [role: 'api' | 'engine' | 'worker', count: number][] = [
    ['api', APIS],
    ['engine', ENGINES],
    ['worker', workers],
  ];
  const children: [name: string, child: Child][] = [];
  // One after the other: a dozen at once on few cores would give up on Redis.
  for (const [role, count] of starts)
    for (let index = 0; index < count; index += 1) {
      const options = role === 'api' ? ['--port', String(ports[index])] : [];
      children.push([`${role} ${index + 1}`, await startRole({ url }, role, config, options)]);
    }
  const masters = nodes.map(({ pid }, index): Part => ({ name: `redis ${index + 1}`, pid }));
  return {
    target: {
      redisPort: nodes[0]?.port ?? 0,
      redisUrl: url,
      queue: '',
      baseUrl: ports.map((port) => `http://127.0.0.1:${port}`).join(','),
    },
    parts: [...masters, ...children.map(([name, { pid }]) => ({ name, pid }))],
    stop: async () => void (await Promise.all(children.map(async ([, child]) => child.stop()))),
  };
}

async function configOf(kind: Kind): Promise<string> {
  if (kind === 'calls') return writeFileOf({ directives: [resolve('bench/noop-lanes-module.ts')] });
  if (kind === 'tools') {
    const args = [resolve('bench/noop-server-process.ts'), '0'];
    const noop = { command: process.execPath, args, lane: { concurrency: 50 } };
    return writeFileOf({ mcpServers: { noop } });
  }
  const modules = [resolve('bench/noop-module.ts')];
  const agents = { [STEPS_AGENT]: { strategy: 'steps', model: 'none:none' } };
  const providers = { none: { type: 'scripted' } };
  return writeFileOf({ directives: modules, strategies: modules, providers, agents });
}

/** `worker 2` → `worker`, `worker 2's server` → `tool server`. */
const roleOf = (name: string): string =>
  name.endsWith('server') ? 'tool server' : name.replace(/ \d+$/, '');

const sum = (...all: readonly number[]): number => all.reduce((total, each) => total + each, 0);

function byRole<T extends Pick<Part, 'name'>>(
  all: readonly T[],
  figureOf: (each: T) => number,
  join: (...figures: number[]) => number,
): Record<string, number> {
  const roles = Map.groupBy(all, ({ name }) => roleOf(name));
  return Object.fromEntries([...roles].map(([role, same]) => [role, join(...same.map(figureOf))]));
}

function socketsOf(pid: number): number {
  const files = readdirSync(`/proc/${pid}/fd`).map((file) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${file}`);
    } catch {
      return '';
    }
  });
  return files.filter((target) => target.startsWith('socket:')).length;
}

function residentMb(pid: number): number {
  const [, kb] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kb) / 1_000;
}

const busiest = ({ redisUs }: Row): number => Math.max(...redisUs);

/** Operations a second of one core that does nothing else. */
const ofCore = (us: number | undefined): string =>
  us === undefined || us < 1 ? '–' : (1_000_000 / us).toFixed(0);

const COLUMNS = [
  ['', ({ kind }: Row) => kind],
  ['workers', ({ workers }: Row) => String(workers)],
  ['Redis', ({ masters }: Row) => (masters === 0 ? 'one' : `cluster of ${masters}`)],
  ['ops/s here', ({ perSecond }: Row) => perSecond.toFixed(0)],
  ...ROLES.map((role) => [`${role} µs`, ({ us }: Row) => (us[role] ?? 0).toFixed(0)] as const),
  ['Redis µs', ({ redisUs }: Row) => sum(...redisUs).toFixed(0)],
  ['busiest µs', (row: Row) => busiest(row).toFixed(0)],
  ['a core of api, engine, worker, Redis carries', carried],
  ['sockets', ({ sockets }: Row) => listed(sockets)],
  ['MB', ({ memoryMb }: Row) => listed(memoryMb)],
  ['left, bytes', ({ leftBytes }: Row) => leftBytes?.toFixed(0) ?? '–'],
] as const;

function carried(row: Row): string {
  const { api, engine, worker } = row.us;
  return [api, engine, worker, busiest(row)].map(ofCore).join(', ');
}

function listed(figures: Readonly<Record<string, number>>): string {
  return ['api', 'engine', 'worker', 'redis'].map((role) => (figures[role] ?? 0).toFixed(0)).join(', ');
}

/** More processes and more masters share the work: an operation costs the API and Redis about as much as before. */
function faultsOf(rows: readonly Row[]): string[] {
  const [one, , , eight, ofOne, ofThree, ofSix] = rows;
  if (!one || !eight || !ofOne || !ofThree || !ofSix) return ['not every setting was measured'];
  const growth = (role: string): number => (eight.us[role] ?? 0) / (one.us[role] ?? Number.NaN);
  const faults: [boolean, string][] = [
    ...(['api', 'worker'] as const).map((role): [boolean, string] => [
      growth(role) > MOST_GROWTH[role],
      `${role}: ${growth(role).toFixed(2)} × as much processor time a call with eight workers as with one`,
    ]),
    [
      busiest(eight) / busiest(one) > MOST_GROWTH.redis,
      'Redis: more processor time a call with eight workers',
    ],
    [busiest(ofThree) > busiest(ofOne) * 0.7, 'the busiest of three masters bears more than 0.7 of one'],
    [busiest(ofSix) > busiest(ofThree), 'the busiest of six masters bears more than that of three'],
    ...rows.flatMap(({ sockets, masters, workers, kind }) =>
      ROLES.map((role): [boolean, string] => [
        (sockets[role] ?? 0) > MOST_SOCKETS + PER_MASTER * masters + IN_FLIGHT * workers,
        `${kind}: ${role} has ${sockets[role]} sockets`,
      ]),
    ),
  ];
  return faults.filter(([isFault]) => isFault).map(([, text]) => text);
}

/** On few cores each of eight workers has an eighth of the calls: it takes them one by one, beside what it costs at rest. */
const MOST_GROWTH = { api: 1.7, redis: 1.7, worker: 5 } as const;
const MOST_SOCKETS = 20;
/** Connections of a process to each further master. */
const PER_MASTER = 8;

const rows: Row[] = [];
for (const setting of SETTINGS) {
  console.log(
    `… ${setting.kind}, ${setting.workers} workers, ${setting.masters} masters (load ${loadavg()[0]?.toFixed(1)})`,
  );
  rows.push(await measured(setting));
}
const title = `Two APIs, two engines, ${IN_FLIGHT} in flight for each worker; µs of processor time an operation, of all processes of a role`;
console.log(
  `\n${title}\n${table([COLUMNS.map(([name]) => name), ...rows.map((row) => COLUMNS.map(([, cell]) => cell(row)))]).join('\n')}`,
);
const faults = faultsOf(rows);
console.log(faults.length === 0 ? 'ok' : `FAILED\n${faults.join('\n')}`);
process.exitCode = faults.length === 0 ? 0 : 1;
