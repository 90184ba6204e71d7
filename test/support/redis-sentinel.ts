/** A real master with replicas under three sentinels on loopback, for tests of failover.
 *  It must never report ready before the replicas follow and the sentinels know all of them. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { type Child, freePort, spawnProcess } from './process.ts';
import { redisServerPath, startRedis, type TestRedis } from './redis.ts';

export interface SentinelOptions {
  /** Default: 1. */
  readonly replicas?: number;
  /** Default: false. */
  readonly appendonly?: boolean;
}

export interface TestSentinel {
  /** In the form of the product's own connection. */
  readonly url: string;
  /** As they were started: a failover changes their roles. */
  readonly master: TestRedis;
  readonly replicas: readonly TestRedis[];
  /** Starts to listen; the promise inside resolves to the port of the next master. */
  nextMaster(): Promise<{ readonly elected: Promise<number> }>;
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const HOST = '127.0.0.1';
const NAME = 'mymaster';
const SENTINELS = 3;
const QUORUM = 2;
/** The shortest time that a sentinel's check each second can notice. */
const DOWN_AFTER_MS = 1_000;
const SYNC_LIMIT_MS = 30_000;

export async function startSentinel(options: SentinelOptions = {}): Promise<TestSentinel> {
  const folder = await mkdtemp(join(tmpdir(), 'adjutant-sentinel-'));
  const shared = { appendonly: options.appendonly ?? false };
  const master = await startRedis({ ...shared, args: ['--repl-diskless-sync-delay', '0'] });
  const follow = ['--replicaof', HOST, String(master.port), '--repl-diskless-sync-delay', '0'];
  const replicas = await Promise.all(
    Array.from({ length: options.replicas ?? 1 }, () => startRedis({ ...shared, args: follow })),
  );
  await untilReplicated(master, replicas.length);
  const ports = await Promise.all(Array.from({ length: SENTINELS }, () => freePort()));
  const sentinels = await Promise.all(ports.map((port) => launch(folder, port, master.port)));
  await untilTheyKnow(sentinels, replicas.length);

  const stop = async (): Promise<void> => {
    await Promise.all(sentinels.map((sentinel) => sentinel.kill9()));
    await Promise.all([master, ...replicas].map((redis) => redis.stop()));
    await rm(folder, { recursive: true, force: true });
  };
  return {
    url: `redis+sentinel://${ports.map((port) => `${HOST}:${port}`).join(',')}/${NAME}`,
    master,
    replicas,
    nextMaster: () => nextMaster(ports[0] ?? 0),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** Resolves when this many replicas have what the master has now. */
async function untilReplicated(master: TestRedis, replicas: number): Promise<void> {
  const redis = new Redis(master.port, HOST);
  try {
    await redis.set('replicated', '1');
    const following = await redis.wait(replicas, SYNC_LIMIT_MS);
    if (following < replicas) throw new Error(`only ${following} of ${replicas} replicas follow`);
  } finally {
    redis.disconnect();
  }
}

/** A sentinel rewrites its own file, so each has one. */
async function launch(folder: string, port: number, masterPort: number): Promise<Child> {
  const file = join(folder, `sentinel-${port}.conf`);
  const lines = [
    `port ${port}`,
    `bind ${HOST}`,
    `dir ${folder}`,
    `sentinel monitor ${NAME} ${HOST} ${masterPort} ${QUORUM}`,
    `sentinel down-after-milliseconds ${NAME} ${DOWN_AFTER_MS}`,
    `sentinel failover-timeout ${NAME} 10000`,
    `sentinel parallel-syncs ${NAME} 5`,
  ];
  await writeFile(file, `${lines.join('\n')}\n`);
  return spawnProcess(redisServerPath(), [file, '--sentinel']);
}

async function untilTheyKnow(sentinels: readonly Child[], replicas: number): Promise<void> {
  await Promise.all(
    sentinels.map(async (sentinel) => {
      const seen = (what: RegExp): number => sentinel.lines.filter((line) => what.test(line)).length;
      await sentinel.waitForLine(/\+monitor/);
      while (seen(/\+slave /) < replicas || seen(/\+sentinel /) < SENTINELS - 1) await sentinel.nextLine();
    }),
  );
}

async function nextMaster(sentinelPort: number): Promise<{ readonly elected: Promise<number> }> {
  const listener = new Redis(sentinelPort, HOST);
  const { promise: elected, resolve } = Promise.withResolvers<number>();
  listener.on('message', (_channel, message: string) => {
    resolve(Number(message.split(' ')[4]));
    listener.disconnect();
  });
  await listener.subscribe('+switch-master');
  return { elected };
}
