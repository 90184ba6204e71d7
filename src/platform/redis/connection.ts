// Connections to Redis: standalone, TLS, Sentinel and Cluster, named by one URL.
// Must never open a connection before it is needed, nor give up reconnecting.
import {
  Cluster,
  Redis,
  type RedisOptions,
  type SentinelConnectionOptions,
  SentinelConnector,
} from 'ioredis';
import { isClusterUrl, readNodesAddress } from './address.ts';
import { keepArgumentsOutOfErrors } from './error.ts';
import { bundleScripts } from './script-bundle.ts';

/** A connection of any topology; scripts and single commands work on each. */
export type RedisConnection = Redis | Cluster;

/**
 * Purpose of a connection:
 * `commands` never gives up (retries until Redis answers), `submit` fails a command fast when Redis is away,
 * `subscriber` follows channels, `blocking` waits in Redis for work.
 */
export type ConnectionRole = 'commands' | 'submit' | 'subscriber' | 'blocking';

const RECONNECT_STEP_MS = 50;
const RECONNECT_CAP_MS = 1_000;
/** How long a submission waits for Redis before the caller gets an error. */
const SUBMIT_COMMAND_TIMEOUT_MS = 5_000;

/**
 * A connection on which a command waits this long without any answer is replaced, and the command sent again: a dead
 * host closes no connection, and the operating system notices only after a quarter of an hour. Longer than the 10 s
 * that BullMQ lets a command block.
 */
const LONGEST_SILENCE_MS = 20_000;

/** How long Redis may take to answer QUIT. */
const CLOSE_MS = 500;

/** After a failover the old master is a replica: reconnect and send the refused command again. */
function reconnectOnError(error: Error): 2 | false {
  return error.message.startsWith('READONLY') ? 2 : false;
}

function optionsFor(role: ConnectionRole) {
  const shared = {
    connectionName: `adjutant-${role}`,
    maxRetriesPerRequest: null,
    retryStrategy: (times: number) => Math.min(times * RECONNECT_STEP_MS, RECONNECT_CAP_MS),
    reconnectOnError,
    enableReadyCheck: true,
    socketTimeout: LONGEST_SILENCE_MS,
  } satisfies RedisOptions;
  // A subscriber subscribes again at every `ready`, and tracks what has been confirmed.
  if (role === 'subscriber') return { ...shared, autoResubscribe: false };
  if (role !== 'submit') return shared;
  return { ...shared, commandTimeout: SUBMIT_COMMAND_TIMEOUT_MS };
}

/** Certificates of managed clusters hold names: a node is connected by the name that the cluster announces. */
const BY_NAME = {
  tls: {},
  dnsLookup: (name: string, found: (error: null, address: string) => void) => found(null, name),
};
const REDIS_PORT = 6_379;
const SENTINEL_PORT = 26_379;

function connectCluster(url: string, role: ConnectionRole): Cluster {
  const { nodes, credentials, isTls } = readNodesAddress(url, REDIS_PORT);
  const { tls, dnsLookup } = BY_NAME;
  const cluster = new Cluster([...nodes], {
    shardedSubscribers: role === 'subscriber',
    redisOptions: { ...optionsFor(role), ...credentials, ...(isTls ? { tls } : {}) },
    ...(isTls ? { dnsLookup } : {}),
    clusterRetryStrategy: (times) => Math.min(times * RECONNECT_STEP_MS, RECONNECT_CAP_MS),
    retryDelayOnFailover: 200,
    retryDelayOnClusterDown: 200,
    maxRedirections: 32,
    slotsRefreshTimeout: 2_000,
  });
  if (role === 'submit') limitCommands(cluster);
  return cluster;
}

/** The error of a connection to the first node alone, which a cluster's connection does not show; null: it answers. */
export async function nodeError(url: string): Promise<Error | null> {
  const { nodes, credentials, isTls } = readNodesAddress(url, REDIS_PORT);
  const [node] = nodes;
  const failing = { retryStrategy: () => null, lazyConnect: true, connectTimeout: SUBMIT_COMMAND_TIMEOUT_MS };
  const connection = new Redis({ ...failing, ...node, ...credentials, ...(isTls ? { tls: {} } : {}) });
  let found: Error | null = null;
  connection.on('error', (error: Error) => (found ??= error));
  await connection.connect().catch((error: Error) => (found ??= error));
  connection.disconnect();
  return found;
}

/** A cluster with no reachable node holds commands back before the time limit of a node's connection starts. */
function limitCommands(cluster: Cluster): void {
  const send = cluster.sendCommand.bind(cluster);
  cluster.sendCommand = (command, ...target) => {
    command.setTimeout(SUBMIT_COMMAND_TIMEOUT_MS);
    return send(command, ...target);
  };
}

/** Closes the failover detector with its connection: left open, it keeps the process alive. */
class BoundedSentinelConnector extends SentinelConnector {
  constructor(options: unknown) {
    super(options as SentinelConnectionOptions);
  }

  override async connect(...args: Parameters<SentinelConnector['connect']>) {
    const stream = await super.connect(...args);
    stream.once('close', () => {
      const detector = this['failoverDetector'] as { cleanup(): void } | null | undefined;
      detector?.cleanup();
    });
    return stream;
  }
}

function connectSentinel(url: string, role: ConnectionRole): Redis {
  const { nodes, credentials, isTls, path, query } = readNodesAddress(url, SENTINEL_PORT);
  const [username, password] = ['sentinel_username', 'sentinel_password'].map((name) => query.get(name));
  return new Redis({
    ...optionsFor(role),
    ...credentials,
    ...(isTls ? { tls: {}, sentinelTLS: {}, enableTLSForSentinelMode: true } : {}),
    ...(username ? { sentinelUsername: username } : {}),
    ...(password ? { sentinelPassword: password } : {}),
    sentinels: [...nodes],
    name: path || 'mymaster',
    // A master that hangs, or whose host is gone, closes no connection: the sentinels report the new master.
    failoverDetector: true,
    Connector: BoundedSentinelConnector,
  });
}

/**
 * Opens a connection. Forms of `url`: `redis://host:port/db`, `rediss://…` (TLS),
 * `redis+cluster://host:port,host:port`, `redis+sentinel://host:port,host:port/master-name`; the last with
 * `?sentinel_password=…` and `&sentinel_username=…` where the sentinels ask for their own. `rediss+…` uses TLS everywhere.
 */
export function connectRedis(url: string, role: ConnectionRole): RedisConnection {
  keepArgumentsOutOfErrors();
  const connection = openConnection(url, role);
  // The connection reconnects by itself; without a listener an outage would end the process.
  connection.on('error', () => {});
  gatherWrites(connection);
  if (connection instanceof Redis && isForScripts(role)) bundleScripts(connection);
  keepDuplicates(connection);
  return connection;
}

const isForScripts = (role: ConnectionRole): boolean => role === 'commands' || role === 'submit';

/** The duplicates of each connection, made here or by BullMQ. */
const duplicates = new WeakMap<RedisConnection, RedisConnection[]>();

function keepDuplicates(connection: RedisConnection): void {
  const made: RedisConnection[] = [];
  const duplicate = connection.duplicate.bind(connection) as (...args: never[]) => RedisConnection;
  duplicates.set(connection, made);
  connection.duplicate = ((...args: never[]) => {
    const another = duplicate(...args);
    made.push(another);
    return another;
  }) as typeof connection.duplicate;
}

/**
 * Sends the commands of one turn of the event loop in one system call, instead of one each. The `enableAutoPipelining` of ioredis is
 * slower: 571 submissions per second against 677 with 100 in flight (p50 161 ms against 125), and a p50 of 0.9 ms against 0.6 with one
 * in flight: medians of 5 alternating rounds on 2 busy cores. Its next pipeline waits until the one before it is answered, and it
 * throws when BullMQ defines a script while a pipeline is open.
 */
function gatherWrites(connection: RedisConnection): void {
  if (connection instanceof Redis) connection.on('connect', () => gatherWritesOf(connection.stream));
  else connection.on('+node', gatherWrites);
}

function gatherWritesOf(stream: Redis['stream']): void {
  const write = stream.write.bind(stream) as (...args: unknown[]) => boolean;
  let gathering = false;
  const send = (): void => {
    gathering = false;
    stream.uncork();
  };
  stream.write = ((...args: unknown[]) => {
    if (!gathering) {
      gathering = true;
      stream.cork();
      process.nextTick(send);
    }
    return write(...args);
  }) as typeof stream.write;
}

function openConnection(url: string, role: ConnectionRole): RedisConnection {
  if (isClusterUrl(url)) return connectCluster(url, role);
  if (/^rediss?\+sentinel:/.test(url)) return connectSentinel(url, role);
  return new Redis(url, optionsFor(role));
}

/** `text`, escaped for a pattern of SCAN. */
export function globOf(text: string): string {
  return text.replaceAll(/[*?[\]\\]/g, String.raw`\$&`);
}

/** The servers that take writes; the nodes of a cluster are known once one of them has answered. */
export async function mastersOf(connection: RedisConnection): Promise<readonly RedisConnection[]> {
  if (!(connection instanceof Cluster)) return [connection];
  await connection.ping();
  return connection.nodes('master');
}

/**
 * Closes with QUIT, and by force when Redis does not answer in time. Its duplicates close with it: BullMQ waits for
 * ever for a Redis that is away to close its own, and so does the process.
 */
export async function closeRedis(connection: RedisConnection, withinMs = CLOSE_MS): Promise<void> {
  const isAsked = connection.status === 'ready' && withinMs > 0;
  const answered = isAsked && (await Promise.race([quit(connection), after(Math.min(withinMs, CLOSE_MS))]));
  if (!answered) connection.disconnect();
  // To disconnect what has ended would leave a timer of 2 s, which keeps the process alive.
  for (const another of duplicates.get(connection) ?? []) if (another.status !== 'end') another.disconnect();
}

async function quit(connection: RedisConnection): Promise<boolean> {
  return connection.quit().then(
    () => true,
    () => false,
  );
}

function after(ms: number): Promise<boolean> {
  return new Promise((resolve) => {
    setTimeout(() => resolve(false), ms).unref();
  });
}
