// The composition root: builds the parts of a process from its configuration and roles, and starts and stops them.
// Must never hold behaviour of its own.
import { pino } from 'pino';
import { allowedHosts } from '../api/allowed-host.ts';
import { createApi } from '../api/api.ts';
import { assembleClient, type ClientOptions } from './client-parts.ts';
import type { Config } from '../config/config.ts';
import { modelLane } from '../contract/model-name.ts';
import type { Engine } from '../engine/engine.ts';
import { NO_LOCAL_WORKER, type LocalWorker } from '../engine/turn.ts';
import { engineParts } from './engine-wiring.ts';
import { type SharedParts, journalParts, type Onward, open, sweeperPart } from './ground.ts';
import type { Hearing } from '../journal/channel.ts';
import { deadlineIn, settledWithin, startAll, stopAll, type Startable } from '../lifecycle.ts';
import { submittableTypes } from '../engine/core/directive-exec.ts';
import { type Modules, NO_MODULES } from '../extend/modules.ts';
import { configuredModels } from './model-wiring.ts';
import { confirmation } from '../queue/durability.ts';
import type { WakeRun } from '../queue/run-wake.ts';
import { toolLane } from '../catalog/route.ts';
import type { RedisConnection } from '../redis/connection.ts';
import { createRedisOutage } from '../redis/outage.ts';
import { askRedis } from '../redis/reach.ts';
import { requireFitRedis } from '../redis/fitness.ts';
import { version } from '../version.ts';
import { workerParts } from './worker-wiring.ts';

/** What a process does. The sweeper runs in every process; one of them sweeps at a time. */
export interface Roles {
  api?: boolean;
  engine?: boolean;
  worker?: boolean;
}

export interface Service {
  /** Where the API listens, once started; null without that role. */
  readonly url: string | null;
  /** `interrupt` leaves the rest unstarted; `stop` follows. */
  start(interrupt?: AbortSignal): Promise<void>;
  stop(): Promise<void>;
}

interface ApiPart {
  parts: Startable[];
  url(): string | null;
}

function clientOptions({ config, modules, engine }: SharedParts): ClientOptions {
  const { limits, mcpServers, providers } = config;
  const limitOf = new Map([
    ...[...mcpServers].map(([name, { lane }]) => [toolLane(name), lane.max_queued] as const),
    ...[...providers].map(([name, { lane }]) => [modelLane(name), lane.max_queued] as const),
  ]);
  return {
    prefix: config.prefix,
    knownServers: [...mcpServers.keys()],
    knownModels: configuredModels(config),
    retentionMs: config.retention.closed_ms,
    durability: config.durability,
    argumentsBytes: limits.arguments_bytes,
    requestBytes: limits.request_bytes,
    totalBytes: limits.total_bytes,
    maxDirectives: limits.batch,
    maxQueuedIn: (lane) => limitOf.get(lane) ?? null,
    maxOpen: limits.max_open,
    runs: {
      agents: modules.agents,
      kinds: submittableTypes(modules.directives),
      ...(engine ? { wake: rouseWith(engine) } : {}),
    },
  };
}

/** A caller is answered when the run is durable; its turn follows. */
function rouseWith(engine: Engine): WakeRun {
  return async (requestId, version) => void engine.wake(requestId, version);
}

function apiParts(ground: SharedParts, cancellations: (() => Hearing) | null): ApiPart {
  const { config, logger } = ground;
  const commands = open(ground, 'submit', 'api connection');
  const listening = open(ground, 'subscriber', 'api subscriber');
  const parts = journalParts(commands.connection, ground);
  const { client, listen, hearing } = assembleClient(
    { connection: commands.connection, listening: listening.connection },
    clientOptions(ground),
  );
  const limits = { bodyBytes: config.limits.body_bytes };
  const api = createApi({
    client,
    ready: () => readiness(commands.connection, { announcements: hearing, cancellations }),
    allowedHosts: allowedHosts({ host: config.host, named: config.allowedHosts }),
    limits,
    logger,
    version,
  });
  let url: string | null = null;
  const server: Startable = {
    name: 'api',
    start: async () => {
      // Without Redis it goes on trying; the first call that waits says what is wrong.
      await listen().catch(ground.onError);
      url = await api.listen({ host: config.host, port: config.port });
    },
    stop: async () => {
      await api.close();
      await client.close();
    },
  };
  return { parts: [commands.part, listening.part, sweeperPart(parts, ground), server], url: () => url };
}

/** Less than what looks at it waits: `adjutant doctor`, a supervisor. A command to a Redis that is away takes 5 s to fail. */
const READINESS_LIMIT_MS = 2_000;

async function readiness(
  connection: RedisConnection,
  channels: Readonly<Record<string, (() => Hearing) | null>>,
) {
  let answered = false;
  const asked = connection.ping().then(() => {
    answered = true;
  });
  await settledWithin(asked, READINESS_LIMIT_MS);
  const heard = Object.entries(channels).flatMap(([name, hearing]) =>
    hearing ? [{ name, ...hearing() }] : [],
  );
  const checks = Object.fromEntries(heard.map(({ name, lostAt }) => [name, hearingText(lostAt)]));
  return {
    ok: answered && heard.every(({ ok }) => ok),
    checks: { redis: answered ? 'ok' : 'out of reach', ...checks },
  };
}

function hearingText(lostAt: number | null): string {
  if (lostAt === null) return 'ok';
  return `not heard since ${new Date(lostAt).toISOString()}: what is announced is noticed up to 5 s late`;
}

/** A Redis that cannot keep the promises is refused before anything else starts. */
function fitnessPart(ground: SharedParts): Startable {
  return {
    name: 'redis check',
    async start() {
      await askRedis(ground.redisUrl, async (connection) => {
        await requireFitRedis(connection);
        await confirmation(connection, ground.config.durability);
      });
    },
    stop: () => Promise.resolve(),
  };
}

/** What a stop may take beyond the drains: 5 s for Redis to take what is known, and the goodbyes. */
const STOP_MS = 8_000;

/** Builds a process with the given roles; `modules` as `loadModules` found them. Throws when the configuration names no Redis. */
export function createService(config: Config, roles: Roles, modules: Modules = NO_MODULES): Service {
  if (config.redisUrl === undefined) throw new Error('no Redis is configured: set REDIS_URL');
  const logger = pino({ level: config.logLevel, base: null }, pino.destination({ fd: 2, sync: false }));
  const waiting = (): Record<string, number> => ({
    ...(working ? { attempts: working.worker.inHand() } : {}),
    ...(running ? { runs: running.engine.busyRuns() } : {}),
  });
  const outage = createRedisOutage({ logger, waiting });
  const onError: Onward = (error) => {
    if (!outage.explains(error))
      logger.warn({ error: error.message }, 'a background task failed and goes on');
  };
  const base = { config, modules, redisUrl: config.redisUrl, outage, logger, onError };
  let worker: LocalWorker = NO_LOCAL_WORKER;
  const localWorker: LocalWorker = {
    canTake: (lane) => worker.canTake(lane),
    take: (lane, job) => worker.take(lane, job),
  };
  const running = roles.engine ? engineParts(base, localWorker) : null;
  const ground: SharedParts = { ...base, engine: running?.engine ?? null };
  const working = roles.worker ? workerParts(ground) : null;
  if (working) ({ worker } = working);
  const api = roles.api ? apiParts(ground, working?.hearing ?? null) : null;
  const parts = [
    fitnessPart(ground),
    ...(running?.parts ?? []),
    ...(working?.parts ?? []),
    ...(api?.parts ?? []),
    outage,
  ];
  return {
    get url() {
      return api?.url() ?? null;
    },
    start: (interrupt) => startAll(parts, interrupt),
    async stop() {
      const drains = [
        ...(running ? [config.engine.drain_ms] : []),
        ...(working ? [config.worker.drain_ms] : []),
      ];
      const left = await stopAll(parts, deadlineIn(STOP_MS + drains.reduce((sum, ms) => sum + ms, 0)));
      if (left.length > 0) logger.warn({ left }, 'not everything stopped in time; it is left behind');
    },
  };
}
