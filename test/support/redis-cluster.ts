/** A real Redis Cluster on loopback for tests of key slots and failover.
 *  It must never report ready before every node sees all slots covered. */
import { Cluster, Redis } from 'ioredis';
import { freePort } from './process.ts';
import { startRedis, type TestRedis } from './redis.ts';

export interface ClusterOptions {
  /** Default: 3, the least that can choose a new master. */
  readonly masters?: number;
  /** Replicas of each master. Default: 0. */
  readonly replicas?: 0 | 1;
  readonly appendonly?: boolean;
  /** Default: everysec. */
  readonly appendfsync?: 'always' | 'everysec';
}

export interface TestCluster {
  readonly nodes: readonly TestRedis[];
  /** In the form of the product's own connection. */
  readonly url: string;
  connect(): Cluster;
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const SLOTS = 16_384;
const HOST = '127.0.0.1';
const SYNC_LIMIT_MS = 30_000;

export async function startCluster(options: ClusterOptions = {}): Promise<TestCluster> {
  const masterCount = options.masters ?? 3;
  const nodeCount = masterCount * (1 + (options.replicas ?? 0));
  const nodes = await Promise.all(Array.from({ length: nodeCount }, async () => startNode(options)));
  const stop = async (): Promise<void> => void (await Promise.all(nodes.map(async (node) => node.stop())));
  try {
    await formCluster(nodes, masterCount);
  } catch (error) {
    await stop();
    throw error;
  }
  const addresses = nodes.map((node) => ({ host: HOST, port: node.port }));
  return {
    nodes,
    url: `redis+cluster://${nodes.map(({ port }) => `${HOST}:${port}`).join(',')}`,
    connect: () => new Cluster(addresses, { redisOptions: { maxRetriesPerRequest: null } }),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** The bus port is set, since the default (port + 10000) is above the highest port for many free ones. */
async function startNode(options: ClusterOptions): Promise<TestRedis> {
  const busPort = await freePort();
  const cluster = [
    '--cluster-enabled',
    'yes',
    '--cluster-node-timeout',
    '2000',
    '--cluster-port',
    String(busPort),
    // One master alone never learns its own address from another.
    '--cluster-announce-ip',
    HOST,
    '--repl-diskless-sync-delay',
    '0',
  ];
  const { appendonly = false, appendfsync = 'everysec' } = options;
  return startRedis({ appendonly, appendfsync, args: cluster });
}

async function formCluster(nodes: readonly TestRedis[], masterCount: number): Promise<void> {
  const clients = nodes.map((node) => new Redis(node.port, HOST));
  try {
    await Promise.all(
      clients.slice(0, masterCount).map(async (client, index) => assignSlots(client, index, masterCount)),
    );
    await meet(clients, nodes);
    await attachReplicas(clients, masterCount);
    await Promise.all(clients.map(async (client) => untilClusterIsOk(client, nodes.length)));
    await Promise.all(
      clients.slice(0, nodes.length - masterCount).map(async (client) => client.wait(1, SYNC_LIMIT_MS)),
    );
  } finally {
    for (const client of clients) client.disconnect();
  }
}

async function assignSlots(client: Redis, index: number, masterCount: number): Promise<void> {
  const first = Math.floor((index * SLOTS) / masterCount);
  const last = Math.floor(((index + 1) * SLOTS) / masterCount) - 1;
  await client.call('CLUSTER', 'ADDSLOTSRANGE', first, last);
  await client.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
}

/** Every node meets the first one; gossip does the rest. */
async function meet(clients: readonly Redis[], nodes: readonly TestRedis[]): Promise<void> {
  const [first, ...others] = clients;
  if (first === undefined) throw new Error('A cluster needs at least one node.');
  for (const [index] of others.entries()) {
    const node = nodes[index + 1];
    if (node === undefined) continue;
    const busPort = await clients[index + 1]?.config('GET', 'cluster-port');
    await first.call('CLUSTER', 'MEET', HOST, node.port, Array.isArray(busPort) ? String(busPort[1]) : '0');
  }
  await until(async () => (await knownNodes(first)) === nodes.length);
}

async function attachReplicas(clients: readonly Redis[], masterCount: number): Promise<void> {
  for (const [index, replica] of clients.slice(masterCount).entries()) {
    const masterId = await clients[index]?.call('CLUSTER', 'MYID');
    await until(async () => String(await replica.call('CLUSTER', 'NODES')).includes(String(masterId)));
    await replica.call('CLUSTER', 'REPLICATE', String(masterId));
  }
}

async function knownNodes(client: Redis): Promise<number> {
  return String(await client.call('CLUSTER', 'NODES'))
    .trim()
    .split('\n').length;
}

async function untilClusterIsOk(client: Redis, nodeCount: number): Promise<void> {
  await until(async () => {
    const info = String(await client.call('CLUSTER', 'INFO'));
    return info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${nodeCount}`);
  });
}

/** Redis Cluster has no event for "formed": the state is read until it is. */
async function until(condition: () => Promise<boolean>, timeoutMs = 90_000): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`The cluster did not form within ${timeoutMs} ms.`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
