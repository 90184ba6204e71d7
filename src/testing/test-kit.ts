/** `adjutant/testing`: a real service for one test suite, with its own Redis, a scripted model, the test's own tools, faults and a clock.
 *  It uses its own service, Redis and model only, and leaves no process behind. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHttpClient } from '../client/http-client.ts';
import type { DirectiveClient } from '../contract/directive/directive-client.ts';
import type { Signal } from '../contract/signal/signal.ts';
import { endRedis, freeLocalPort, startNewRedis } from '../platform/redis/redis-process.ts';
import { pause } from '../platform/lifecycle.ts';
import { type CaseReplay, type OpenCase, openCase, type ReplayOptions } from './case-replay.ts';
import { endProcess, removeFolder } from './remove-folder.ts';
import { createMovedClock, type MovedClock } from './moved-clock.ts';
import { openRedisLink } from './redis-link.ts';
import { type ScriptedModel, startScriptedModel } from './scripted-model.ts';
import { type ScriptedServers, type ScriptedTools, startScriptedTools } from './scripted-tools.ts';
import { type ServiceProcess, type Start, startServiceProcess } from './service-process.ts';

export * from '../contract/client-names.ts';
export { PayloadUnreadable } from '../contract/encrypted/encrypted.ts';
export { assertEndedOnce, assertFailed, assertSucceeded, matchers, type TestMatchers } from './judgement.ts';
export { type CaseReplay, ReplayDiffers, type ReplayedRun, type ReplayOptions } from './case-replay.ts';
export type { MovedClock } from './moved-clock.ts';
export type { ModelCall, ScriptedModel, ToolWish } from './scripted-model.ts';
export type { ScriptedServers, ScriptedTool, ScriptedTools, ToolCallSeen } from './scripted-tools.ts';

/** Options of `startTestKit`. */
export interface TestKitOptions {
  /** Tools of the test: MCP server → tool. Default: none. */
  readonly tools?: ScriptedServers;
  /** The rest of adjutant.json: agents, modules, limits, other MCP servers. Default: nothing. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Base of relative paths in `config`. Default: the current folder. */
  readonly directory?: string;
  /** Variables for placeholders in `config`. Default: none. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Processes that execute directives. Default: 1. */
  readonly workers?: number;
  /**
   * Recorded case (`adjutant record`) that answers for models and tools: its path, or path and mode. Tools in `tools` take precedence
   * over recorded ones of the same server. Default: none.
   */
  readonly replay?: string | ReplayOptions;
}

/** Faults that a test injects. */
export interface Faults {
  /** Kills the oldest worker with SIGKILL. Another one starts at once unless `replace` is false. */
  killWorker(options?: { readonly replace?: boolean }): Promise<void>;
  /** Stops the oldest worker as a deployment does: it finishes its calls and exits. */
  stopWorker(): Promise<void>;
  /** Starts another worker. */
  startWorker(): Promise<void>;
  /** Kills the process of API and engine with SIGKILL. It starts again at the same address. */
  killApi(): Promise<void>;
  /** Cuts every process off Redis until `restoreRedis`. */
  cutRedis(): void;
  /** Ends `cutRedis`. */
  restoreRedis(): void;
}

/** Running service of a test suite. */
export interface TestKit {
  /** Address of the API. */
  readonly url: string;
  /** Client of the service. */
  readonly client: DirectiveClient;
  /** Model behind each model name of `config` without a provider of its own, and behind `scripted:<any name>`. */
  readonly model: ScriptedModel;
  /** Tools of the test. */
  readonly tools: ScriptedTools;
  /** Faults to inject. */
  readonly faults: Faults;
  /** Clock of the service. */
  readonly clock: MovedClock;
  /** The whole log of a request so far. */
  signals(requestId: string): Promise<Signal[]>;
  /** Newest log lines of all processes. */
  log(): readonly string[];
  /** Stops every process and removes every file of the kit. */
  stop(): Promise<void>;
  /** Same as `stop`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** Running service that answers from a recorded case. */
export interface ReplayKit extends TestKit {
  /** Replay of the recorded case. */
  readonly replay: CaseReplay;
}

/**
 * Starts a service for a test suite, with its own Redis, a scripted model and the tools of the test.
 * @param options Tools, configuration and number of workers. Default: no tools, one worker.
 * @returns The kit; call `stop`, or declare it with `await using`.
 * @throws `Error` where no redis-server is on the PATH, the configuration is invalid, or a module does not load.
 * @example
 * ```ts
 * import { startTestKit } from 'adjutant/testing';
 * await using kit = await startTestKit();
 * kit.model.says('Hello.');
 * const end = await kit.client.execute({
 *   type: 'llm_generate',
 *   model: 'scripted:any',
 *   context: [{ role: 'user', content: 'Hi' }],
 * });
 * console.log(end.type);
 * ```
 */
export async function startTestKit(
  options: TestKitOptions & { readonly replay: string | ReplayOptions },
): Promise<ReplayKit>;
export async function startTestKit(options?: TestKitOptions): Promise<TestKit>;
export async function startTestKit(options: TestKitOptions = {}): Promise<TestKit> {
  const open: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    while (open.length > 0) await open.pop()?.();
  };
  const recorded = options.replay === undefined ? null : openCase(options.replay);
  const tools = { ...recorded?.tools, ...options.tools };
  try {
    return await start({ ...options, tools }, recorded, open, close);
  } catch (error) {
    await close();
    throw error;
  }
}

async function start(
  options: TestKitOptions & { readonly tools: ScriptedServers },
  recorded: OpenCase | null,
  open: (() => Promise<unknown>)[],
  stop: () => Promise<void>,
): Promise<TestKit> {
  const names = Object.entries(options.tools).flatMap(namesOf);
  const [redis, model, tools] = await Promise.all([
    openRedis(open),
    startScriptedModel(names, recorded?.answer),
    startScriptedTools(options.tools),
  ]);
  open.push(async () => Promise.all([model.close(), tools.close()]));
  const link = await openRedisLink(redis.url);
  open.push(link.close);
  const port = await freeLocalPort();
  const begin = beginOf(options, { model, tools, redisUrl: link.url, redis, port });
  const running = createProcesses(begin, redis.url);
  open.push(running.stop);
  await running.start(options.workers ?? 1);
  const url = `http://127.0.0.1:${port}`;
  const client = createHttpClient({ baseUrl: url });
  open.push(async () => client.close());
  await untilListed(client, names);
  const kit: TestKit = {
    url,
    client,
    model,
    tools,
    clock: running.clock,
    faults: { ...running.faults, cutRedis: link.cut, restoreRedis: link.restore },
    signals: async (requestId) => signalsOf(client, requestId),
    log: running.lines,
    stop,
    [Symbol.asyncDispose]: stop,
  };
  return recorded === null ? kit : Object.assign(kit, { replay: recorded.replayWith(client) });
}

async function signalsOf(client: DirectiveClient, requestId: string): Promise<Signal[]> {
  const signals: Signal[] = [];
  for await (const signal of client.signals(requestId, { follow: false })) signals.push(signal);
  return signals;
}

function namesOf([server, tools]: readonly [string, object]): string[] {
  return Object.keys(tools).map((name) => `${server}.${name}`);
}

interface OwnRedis {
  readonly url: string;
  readonly pid: number;
  readonly folder: string;
}

async function openRedis(open: (() => Promise<unknown>)[]): Promise<OwnRedis> {
  const folder = await mkdtemp(join(tmpdir(), 'adjutant-testing-'));
  open.push(async () => rm(folder, { recursive: true, force: true }));
  const started = await startNewRedis(folder, { path: process.env['PATH'] });
  if (started === null) throw new Error('The Redis of the test kit does not answer.');
  const { url, redis } = started;
  const kill = (): void => {
    endProcess(redis.pid);
    removeFolder(folder);
  };
  process.once('exit', kill);
  open.push(async () => {
    process.off('exit', kill);
    await endRedis(redis);
  });
  return { url, pid: redis.pid, folder };
}

interface Beginning {
  readonly model: ScriptedModel;
  readonly tools: ScriptedTools;
  readonly redisUrl: string;
  readonly redis: OwnRedis;
  readonly port: number;
}

function beginOf(
  { config = {}, directory = process.cwd(), environment = {}, replay }: TestKitOptions,
  parts: Beginning,
): Omit<Start, 'roles'> {
  const { model, tools, redisUrl, redis, port } = parts;
  const { mcpServers = {} } = config as Record<string, object | undefined>;
  return {
    config: {
      ...config,
      mcpServers: { ...tools.mcpServers, ...mcpServers },
      ...modelSections(config, model.url, replay),
    },
    directory,
    redisPid: redis.pid,
    redisFolder: redis.folder,
    environment: {
      ADJUTANT_LOG_LEVEL: 'warn',
      ...environment,
      REDIS_URL: redisUrl,
      ADJUTANT_PORT: String(port),
      ADJUTANT_HOST: '127.0.0.1',
    },
  };
}

/** Providers and models: those of the script beside the configured ones, in place of them where a case answers for models. */
function modelSections(
  { providers = {}, models = {} }: { readonly providers?: object; readonly models?: object },
  url: string,
  replay: TestKitOptions['replay'],
): { readonly providers: object; readonly models: object } {
  const scripted = { type: 'openai-compatible', base_url: url };
  if (replay === undefined)
    return { providers: { scripted, ...providers }, models: { ...USUAL_MODELS, ...models } };
  if (typeof replay === 'object' && replay.models === 'live') return { providers, models };
  const names = [...Object.keys(providers), ...KNOWN_PROVIDERS, 'scripted'];
  const aliases = Object.keys(models).map((alias) => [alias, `scripted:${alias}`]);
  return {
    providers: Object.fromEntries(names.map((name) => [name, scripted])),
    models: { ...USUAL_MODELS, ...Object.fromEntries(aliases) },
  };
}

/** Providers that agents may name without a configuration. */
const KNOWN_PROVIDERS = ['openai', 'anthropic', 'google'];

/** The names that agents and directives have without a configuration. */
const USUAL_MODELS = Object.fromEntries(
  ['fast', 'capable', 'thinking', 'reasoning', 'planning', 'embedding'].map((name) => [
    name,
    `scripted:${name}`,
  ]),
);

function createProcesses(begin: Omit<Start, 'roles'>, redisUrl: string) {
  const workers: ServiceProcess[] = [];
  const ended: string[] = [];
  let api: ServiceProcess | null = null;
  const living = (): ServiceProcess[] => [...(api === null ? [] : [api]), ...workers];
  const clock = createMovedClock({ redisUrl, processes: living });
  const startOne = async (roles: Start['roles']): Promise<ServiceProcess> => {
    const process = await startServiceProcess({ ...begin, roles }, clock.movedMs());
    // The clock may have moved while it started.
    process.moveClock(clock.movedMs());
    return process;
  };
  const startApi = async (): Promise<void> => {
    api = await startOne({ api: true, engine: true });
  };
  const startWorker = async (): Promise<void> => {
    workers.push(await startOne({ worker: true }));
  };
  const end = async (process: ServiceProcess | null | undefined, how: 'kill' | 'stop'): Promise<void> => {
    if (!process)
      throw new Error('The test kit has no such process any more: start one with faults.startWorker().');
    await process[how]();
    ended.push(...process.lines);
  };
  return {
    clock,
    start: async (count: number) => {
      await Promise.all([startApi(), ...Array.from({ length: count }, startWorker)]);
    },
    lines: () => [...ended, ...living().flatMap(({ lines }) => lines)],
    faults: {
      startWorker,
      killWorker: async ({ replace = true }: { readonly replace?: boolean } = {}) => {
        await end(workers.shift(), 'kill');
        if (replace) await startWorker();
      },
      stopWorker: async () => end(workers.shift(), 'stop'),
      killApi: async () => {
        await end(api, 'kill');
        await startApi();
      },
    },
    stop: async () => {
      await Promise.all(living().map(async (process) => process.kill()));
    },
  };
}

const LONGEST_START_MS = 30_000;
const LISTED_POLL_MS = 20;

/** Calls of a tool that no worker has listed yet would be refused. */
async function untilListed(client: DirectiveClient, names: readonly string[]): Promise<void> {
  const limit = AbortSignal.timeout(LONGEST_START_MS);
  for (;;) {
    const listed = new Set((await client.tools()).tools.map(({ name }) => name));
    const missing = names.filter((name) => !listed.has(name));
    if (missing.length === 0) return;
    if (limit.aborted)
      throw new Error(`No worker of the test kit has listed ${missing.join(', ')} within 30 s.`);
    await pause(LISTED_POLL_MS);
  }
}
