/** Loads run by a client process against the parts of a scenario, and what each load cost them.
 *  It must end the client process, whatever happens. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { setTimeout as delay } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { keySpace } from '../src/store/keys.ts';
import { connectRedis } from '../src/platform/redis/connection.ts';
import type { LoadRequest } from './client-process.ts';
import { type CommandCount, countCommands } from './command-count.ts';
import type { LoadResult } from './load.ts';
import { childrenOf, machineTimeMs, processorTimeMs } from './processor-time.ts';
import { untilQuiet } from './quiet.ts';
import type { Target } from './transport.ts';

export interface Part {
  /** `redis`, `worker`, `api`: what the report calls it. */
  readonly name: string;
  readonly pid: number;
}

/** The running processes of a scenario beside the client, Redis among them. */
export interface Stage {
  readonly target: Target;
  readonly parts: readonly Part[];
  stop(): Promise<void>;
}

export interface Cost {
  readonly name: string;
  /** Share of one core while the load ran, in percent. */
  readonly corePercent: number;
  /** Microseconds of processor time per operation. */
  readonly perOperationUs: number;
}

/** What an operation leaves in Redis until its retention, and in the append-only file. */
export interface Left {
  readonly memoryBytes: number;
  readonly fileBytes: number;
}

export interface Measurement extends LoadResult, Left {
  readonly scenario: string;
  /** Name of the scenario it is compared with. */
  readonly baseline: string;
  readonly concurrency: number;
  readonly costs: readonly Cost[];
}

const CLIENT = fileURLToPath(new URL('client-process.ts', import.meta.url));

/** What the rest of the machine used meanwhile, the kernel's network included: much of it spoils a measurement. */
export const OTHERS = 'others';

/** Operations that bring connections and most code up to temperature before anything counts. The compiler of V8 goes on for some ten thousand. */
export const WARM_UP = 500;

const WARM_CONCURRENCY = 50;

export interface Plan {
  /** Operations before anything counts. Default: WARM_UP. */
  readonly warmUp?: number;
  readonly loads: readonly LoadRequest[];
  /** Another load, run untimed, whose commands to Redis are counted; null for none. */
  readonly counted: LoadRequest | null;
}

export interface Measured {
  readonly measurements: readonly Omit<Measurement, 'scenario' | 'baseline'>[];
  readonly commands: readonly CommandCount[];
}

export async function measure(transport: string, stage: Stage, plan: Plan): Promise<Measured> {
  const client = fork(CLIENT, [transport, JSON.stringify(stage.target)]);
  try {
    await reply(client);
    await ask(client, { count: plan.warmUp ?? WARM_UP, concurrency: WARM_CONCURRENCY });
    const measurements = [];
    for (const load of plan.loads) measurements.push(await measureLoad(stage, client, load));
    const { counted } = plan;
    const commands =
      counted === null ? [] : await countCommands(stage.target.redisPort, async () => ask(client, counted));
    return { measurements, commands };
  } finally {
    client.kill('SIGTERM');
    if (client.exitCode === null && client.signalCode === null) await once(client, 'exit');
  }
}

async function measureLoad(stage: Stage, client: ChildProcess, load: LoadRequest) {
  const parts = withChildren([...stage.parts, { name: 'client', pid: client.pid ?? 0 }]);
  await settled(stage.target);
  await untilQuiet();
  const heldBefore = await held(stage.target.redisPort);
  const [machineBefore, ...before] = [machineTimeMs(), ...parts.map(({ pid }) => processorTimeMs(pid))];
  const result = await ask(client, load);
  await settled(stage.target);
  const [machineAfter, ...after] = [machineTimeMs(), ...parts.map(({ pid }) => processorTimeMs(pid))];
  const heldAfter = await held(stage.target.redisPort);
  const used = after.map((timeMs, index) => timeMs - (before[index] ?? 0));
  const usedBy = new Map<string, number>();
  for (const [index, { name }] of parts.entries())
    usedBy.set(name, (usedBy.get(name) ?? 0) + (used[index] ?? 0));
  const costs = [...usedBy].map(([name, ms]) => costOf(name, ms, result));
  const ownMs = used.reduce((sum, timeMs) => sum + timeMs, 0);
  return {
    concurrency: load.concurrency,
    ...result,
    memoryBytes: (heldAfter.memoryBytes - heldBefore.memoryBytes) / result.count,
    fileBytes: (heldAfter.fileBytes - heldBefore.fileBytes) / result.count,
    costs: [...costs, costOf(OTHERS, Math.max(0, machineAfter - machineBefore - ownMs), result)],
  };
}

const POLL_MS = 20;
const LONGEST_SETTLING_MS = 5_000;

/** What an operation leaves to be done costs as well: the rows of the list of requests. */
async function settled({ redisPort, redisUrl = `redis://127.0.0.1:${redisPort}` }: Target): Promise<void> {
  const redis = connectRedis(redisUrl, 'commands');
  const { changedRequests, sweep } = keySpace();
  const keys = [changedRequests, sweep];
  for (const giveUpAt = Date.now() + LONGEST_SETTLING_MS; Date.now() < giveUpAt; await delay(POLL_MS))
    if ((await Promise.all(keys.map((key) => redis.exists(key)))).every((there) => there === 0)) break;
  redis.disconnect();
}

/** Of the whole Redis. */
async function held(redisPort: number): Promise<Left> {
  const redis = new Redis(redisPort, '127.0.0.1');
  const info = `${await redis.info('memory')}\n${await redis.info('persistence')}`;
  redis.disconnect();
  const figure = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
  return { memoryBytes: figure('used_memory'), fileBytes: figure('aof_current_size') };
}

/** The MCP server of a part is a process of its own. */
function withChildren(parts: readonly Part[]): Part[] {
  return parts.flatMap((part) => [
    part,
    ...childrenOf(part.pid).map((pid) => ({ name: `${part.name}'s server`, pid })),
  ]);
}

function costOf(name: string, usedMs: number, { count, elapsedMs }: LoadResult): Cost {
  return { name, corePercent: (usedMs / elapsedMs) * 100, perOperationUs: (usedMs / count) * 1000 };
}

async function ask(client: ChildProcess, load: LoadRequest): Promise<LoadResult> {
  client.send(load);
  return (await reply(client)) as LoadResult;
}

async function reply(client: ChildProcess): Promise<unknown> {
  const listening = new AbortController();
  const ended = once(client, 'exit', listening).then(([code]) => {
    throw new Error(`The client process ended with ${String(code)}.`);
  });
  ended.catch(() => {});
  const message = once(client, 'message', listening).then(([content]) => content as unknown);
  try {
    return await Promise.race([message, ended]);
  } finally {
    listening.abort();
  }
}
