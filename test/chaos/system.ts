/** The processes under chaos: Redis, APIs, workers, MCP servers; each can be killed, and is restarted.
 *  It must never run a part of the service in its own process. */
import { mkdirSync, mkdtempSync, existsSync, rmSync, writeFileSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { FLOW } from './flow-plan.ts';
import { CHAINS, COUNTED } from './model-plan.ts';
import { RECEIVER } from './plan.ts';
import { AGENTS } from './run-plan.ts';
import { ADMIN_KEY } from './transport.ts';
import { PROGRAM, programOf, SOURCES } from '../support/program.ts';
import { type Child, freePort, spawnNode } from '../support/process.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { startReceiver, type WebhookReceiver } from '../support/webhook-receiver.ts';

export interface SystemOptions {
  /** Folder of the sources that run. Default: this repository. */
  readonly source: string;
  readonly retentionMs: number;
  /** Default: shorter than the longest calls, so that a stop interrupts them. */
  readonly drainMs?: number;
  /** Workers and engines reach Redis over links that can be cut. */
  readonly links: boolean;
}

/** A place for a process: the process changes, the place stays. */
export interface Slot {
  readonly name: string;
  /** Of the current process; null while there is none. */
  child: Child | null;
  /** An action on it is under way; no other one starts meanwhile. */
  busy: boolean;
  /** Folder of the sources of its next process. */
  source: string;
  /** The process between it and Redis; null: there is none. */
  link: { readonly child: Child; readonly redisUrl: string } | null;
  start(): Promise<void>;
}

export interface System {
  readonly folder: string;
  readonly prefix: string;
  readonly redis: TestRedis;
  readonly apiUrls: readonly string[];
  readonly apis: readonly Slot[];
  /** The last one is of all roles. */
  readonly workers: readonly Slot[];
  readonly engines: readonly Slot[];
  readonly httpServer: Slot;
  readonly modelServers: readonly Slot[];
  /** Of webhooks; nobody kills it, and it takes each only the second time. */
  readonly receiver: WebhookReceiver;
  /** The living processes of the stdio servers. */
  stdioServers(): number[];
  /** The output of the processes, by the name of their place. */
  output(): Map<string, string[]>;
  stop(): Promise<void>;
}

/** A server gets no variable that it was not given: with this one it starts with a third less work. */
const { NODE_COMPILE_CACHE: CACHE } = process.env;
const TOOL_SERVER = programOf(fileURLToPath(new URL('./tool-server.ts', import.meta.url)));
const MODEL_SERVER = programOf(fileURLToPath(new URL('./model-server.ts', import.meta.url)));
const HOSTILE_SERVER = fileURLToPath(new URL('../support/servers/hostile-peer.mjs', import.meta.url));
const HOSTILE_MODEL = programOf(fileURLToPath(new URL('./hostile-model.ts', import.meta.url)));
const LINK = programOf(fileURLToPath(new URL('./link-process.ts', import.meta.url)));
const MODEL_PROVIDERS = ['main', 'spare'] as const;
const APIS = 2;
/** Beside one process of all roles. */
const WORKERS = 2;
const ENGINES = 2;
/** Shorter than a SIGSTOP of the killer, longer than a short delay of a busy machine. */
const LEASE_MS = 4_000;
const DRAIN_MS = 4_000;
/** Much longer than any outage of Redis. */
const STARTS_WITHIN_MS = 600_000;
/** Of one attempt: a busy machine starts several at a time, and each starts its own servers. */
const ONE_START_MS = 120_000;

/** Of other sources than this repository's: those themselves. */
function commandOf(source: string): string {
  const file = join(source, 'src/cli/main.ts');
  return file === SOURCES ? PROGRAM : file;
}

export async function startSystem(options: SystemOptions): Promise<System> {
  const folder = dataFolder();
  const redis = await startRedis({
    appendonly: true,
    appendfsync: 'always',
    dir: join(folder, 'redis'),
  });
  const [httpPort, deadPort] = [await freePort(), await freePort()];
  const [hostilePort, hostileModelPort] = [await freePort(), await freePort()];
  const modelPorts = await Promise.all(MODEL_PROVIDERS.map(async () => freePort()));
  const apiPorts = await Promise.all(Array.from({ length: APIS }, async () => freePort()));
  const upPort = await freePort();
  const prefix = 'chaos';
  const env = {
    ADJUTANT_ADMIN_KEY: ADMIN_KEY,
    ADJUTANT_PREFIX: prefix,
    ADJUTANT_LOG_LEVEL: 'warn',
  };
  const written = new Map<string, string[]>();
  const providers = Object.fromEntries([
    ...MODEL_PROVIDERS.map((name, index) => [name, provider(modelPorts[index] ?? 0)] as const),
    ['dead', provider(deadPort)] as const,
    ['hostile', provider(hostileModelPort)] as const,
  ]);
  const { retentionMs, drainMs = DRAIN_MS } = options;
  const receiver = await startReceiver(WEBHOOK_SECRET);
  const receiverUrl = `${receiver.url}/fails-once`;
  writeConfigs(folder, { httpPort, hostilePort, receiverUrl, providers, retentionMs, drainMs });

  /** `program`: null for the service itself. */
  function slot(name: string, program: string | null, args: readonly string[], ready: RegExp): Slot {
    const { source } = options;
    const place: Slot = {
      name,
      child: null,
      busy: false,
      source,
      link: null,
      start: async () => startIn(place, ready, command),
    };
    const command = () => [program ?? commandOf(place.source), ...args];
    return place;
  }

  /**
   * Until it works: a process that starts while Redis is away ends, and is started again. Throws when none ever works.
   */
  async function startIn(place: Slot, ready: RegExp, command: () => readonly string[]): Promise<void> {
    const giveUpAt = Date.now() + STARTS_WITHIN_MS;
    for (;;) {
      const child = spawnNode(command(), {
        env: { ...env, REDIS_URL: place.link?.redisUrl ?? redis.url, CHAOS_FOLDER: folder },
        cwd: place.source,
      });
      place.child = child;
      written.set(`${place.name} (pid ${child.pid})`, child.lines as string[]);
      const works = await child.waitForLine(ready, ONE_START_MS).then(
        () => true,
        () => false,
      );
      if (works) return;
      await child.kill9();
      if (Date.now() > giveUpAt)
        throw new Error(`${place.name} does not start: ${child.lines.slice(-20).join('\n')}`);
    }
  }

  const httpServer = slot('http server', TOOL_SERVER, ['http', String(httpPort)], /^listens on/);
  const modelServers = modelPorts.map((port, index) =>
    slot(`model ${MODEL_PROVIDERS[index]}`, MODEL_SERVER, [String(port)], /^listens on/),
  );
  const hostile = [
    slot(
      'hostile server',
      HOSTILE_SERVER,
      ['http', 'polite', 'http://127.0.0.1:1/', String(hostilePort)],
      /^port/,
    ),
    slot('hostile model', HOSTILE_MODEL, [String(hostileModelPort)], /^listens on/),
  ];
  const apis = apiPorts.map((port, index) =>
    slot(
      `api ${index + 1}`,
      null,
      ['api', '--config', join(folder, 'api.json'), '--port', String(port)],
      /^adjutant listens/,
    ),
  );
  const workers = Array.from({ length: WORKERS }, (_, index) =>
    slot(
      `worker ${index + 1}`,
      null,
      ['worker', '--config', join(folder, index === 0 ? 'worker.json' : 'loose.json')],
      /^adjutant works/,
    ),
  );
  const up = slot(
    'all roles',
    null,
    ['up', '--config', join(folder, 'worker.json'), '--port', String(upPort)],
    /^adjutant listens/,
  );
  const engines = Array.from({ length: ENGINES }, (_, index) =>
    slot(`engine ${index + 1}`, null, ['engine', '--config', join(folder, 'worker.json')], /^adjutant works/),
  );
  const slots = [httpServer, ...modelServers, ...hostile, ...apis, ...workers, up, ...engines];
  if (options.links)
    for (const place of [...workers, up, ...engines]) place.link = await startLink(redis.port);
  for (const place of slots) await place.start();
  return {
    folder,
    prefix,
    redis,
    apiUrls: apiPorts.map((port) => `http://127.0.0.1:${port}`),
    apis,
    workers: [...workers, up],
    engines,
    httpServer,
    modelServers,
    receiver,
    stdioServers: () => livingServers(folder),
    output: () => written,
    stop: async () => {
      const children = slots.flatMap(({ child, link }) => [child, link?.child]);
      await Promise.all(children.map(async (child) => child?.kill9()));
      await redis.stop();
      await receiver[Symbol.asyncDispose]();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function startLink(redisPort: number): Promise<Slot['link']> {
  const port = await freePort();
  const child = spawnNode([LINK, String(port), String(redisPort)]);
  await child.waitForLine(/^listens on/);
  return { child, redisUrl: `redis://127.0.0.1:${port}` };
}

/** Of the service's own processes and of its Redis, at present. */
export function runningPids({ apis, workers, engines, redis }: System): number[] {
  return [redis.pid, ...[...apis, ...workers, ...engines].flatMap(({ child }) => child?.pid ?? [])];
}

/** Redis writes before it answers: with `everysec` a busy machine makes it hold back writes, which a kill loses. Files in memory
 *  make that cheap. */
const MEMORY = '/dev/shm';

/** Counts all calls of models, and holds none back. */
export const BUDGET = 'all';

const WEBHOOK_SECRET = `whsec_${Buffer.from('a secret of the chaos test only').toString('base64')}`;

/** No day ends during a run. */
function zoneOfDay(): string {
  const hour = new Date().getUTCHours();
  return hour >= 1 && hour < 22 ? 'UTC' : 'Asia/Tokyo';
}

function dataFolder(): string {
  const folder = mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'adjutant-chaos-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'redis'));
  mkdirSync(archiveFolder(folder));
  return folder;
}

/** Where the processes archive. */
export function archiveFolder(folder: string): string {
  return join(folder, 'archive');
}

function provider(port: number): object {
  return { type: 'openai-compatible', base_url: `http://127.0.0.1:${port}/v1`, lane: { concurrency: 20 } };
}

interface Configured {
  readonly httpPort: number;
  readonly hostilePort: number;
  readonly receiverUrl: string;
  readonly providers: Readonly<Record<string, object>>;
  readonly retentionMs: number;
  readonly drainMs: number;
}

/** The API lists a server that no worker serves. */
function writeConfigs(
  folder: string,
  { httpPort, hostilePort, receiverUrl, providers, retentionMs, drainMs }: Configured,
): void {
  const env = { CHAOS_FOLDER: folder, ...(CACHE === undefined ? {} : { NODE_COMPILE_CACHE: CACHE }) };
  const stdio = { command: process.execPath, args: [TOOL_SERVER], env };
  const effects = { plain: 'idempotent' };
  const serialServer = { ...stdio, args: [TOOL_SERVER, 'serial'], effects };
  const mcpServers = {
    delta: { ...serialServer, serial: true },
    alpha: { ...stdio, effects, lane: { concurrency: 20 } },
    beta: { ...stdio, effects, lane: { concurrency: 8 } },
    // Also servers that send too much: no other call may notice.
    mallory: { command: process.execPath, args: [HOSTILE_SERVER, 'stdio'] },
    trudy: { url: `http://127.0.0.1:${hostilePort}/mcp` },
    lister: { command: process.execPath, args: [HOSTILE_SERVER, 'stdio', 'lists-many'] },
    // Keeps its calls as tasks, and asks people.
    epsilon: {
      url: `http://127.0.0.1:${httpPort}/tasks`,
      effects,
      lane: { concurrency: 20 },
      questions: true,
    },
    gamma: { url: `http://127.0.0.1:${httpPort}/mcp`, effects, lane: { concurrency: 20 } },
  };
  const shared = {
    providers,
    models: CHAINS,
    agents: AGENTS,
    flow: FLOW,
    retention: { closed_ms: retentionMs },
    archive: { folder: archiveFolder(folder) },
    budgets: { time_zone: zoneOfDay(), rules: { [BUDGET]: {}, [COUNTED]: { alias: COUNTED } } },
    webhooks: {
      endpoints: {
        [RECEIVER]: {
          url: receiverUrl,
          secrets: [WEBHOOK_SECRET],
          private_addresses: true,
          retry_backoff_ms: 300,
        },
      },
    },
    worker: { lease_ms: LEASE_MS, drain_ms: drainMs },
    engine: { drain_ms: drainMs },
  };
  const orphan = { command: 'no-such-program' };
  writeFileSync(join(folder, 'worker.json'), JSON.stringify({ mcpServers, ...shared }));
  // One worker's file lacks what the others have: the limit must still hold for it.
  const loose = { ...mcpServers, delta: serialServer };
  writeFileSync(join(folder, 'loose.json'), JSON.stringify({ mcpServers: loose, ...shared }));
  writeFileSync(
    join(folder, 'api.json'),
    JSON.stringify({ mcpServers: { ...mcpServers, orphan }, ...shared }),
  );
}

function livingServers(folder: string): number[] {
  const file = join(folder, 'stdio-servers.jsonl');
  const pids = existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1).map(Number) : [];
  return pids.filter(isToolServer);
}

/** A pid may belong to another process by now. Without /proc, no stdio server is known, and none is killed. */
function isToolServer(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(TOOL_SERVER);
  } catch {
    return false;
  }
}
