// `adjutant/queue`: the direct client of a program that submits and follows, but executes nothing.
// Must never keep the process alive after `close`.
import { DEFAULT_TENANT } from '../contract/access/tenant.ts';
import { TENANT_FORM, tenantSchema } from '../contract/access/tenant-name.ts';
import type { DirectiveClient } from '../contract/directive/directive-client.ts';
import type { PayloadCodec } from '../contract/encrypted/encrypted.ts';
import { encryptingClient } from '../platform/encryption/encrypted-client.ts';
import { type CustomDirectiveType, submittableTypes } from '../agents/core/directive-exec.ts';
import { emitRequestError, emitToolError, emitToolResult } from '../worker/executors/emit.ts';
import { createRegistry } from '../worker/executors/registry.ts';
import { DEFAULT_REQUEST_BYTES } from '../store/request/journal.ts';
import { OTHERS_OBJECTS, type PayloadObjects } from '../store/request/large-payloads.ts';
import { DEFAULT_PREFIX } from '../store/keys.ts';
import { NO_MODELS } from '../store/catalog/known-models.ts';
import type { Durability } from '../queue/durability.ts';
import { redisUrlFault } from '../platform/redis/address.ts';
import { createPreparer } from '../directives/prepare.ts';
import { closeRedis, connectRedis } from '../platform/redis/connection.ts';
import type { Spans } from '../platform/telemetry/traces/spans.ts';
import { createTraces, type TracingSettings } from '../platform/telemetry/traces/traces.ts';
import { SILENT } from '../platform/telemetry/logger.ts';
import { version } from '../version.ts';
import { type ClientOptions, createClient } from './client.ts';
import { payloadObjectsOf } from './large-payloads.ts';
import { createStore, type Store, type StoreOptions } from './store.ts';

export { privateRedisUrl } from '../platform/redis/private-redis.ts';
export * from '../contract/client-names.ts';
export { PayloadUnreadable } from '../contract/encrypted/encrypted.ts';
export { createAesCodec } from '../platform/encryption/aes-codec.ts';
export { decryptSignal } from '../platform/encryption/decrypted-signal.ts';

/** Options of `createDirectClient`. */
export interface DirectClientOptions {
  /** URL of Redis: `redis://`, `rediss://` (TLS), `redis+sentinel://` or `redis+cluster://`. */
  redisUrl: string;
  /** Key prefix of the installation. Default: `adjutant`. */
  prefix?: string;
  /** Tenant of the client: requests of other tenants do not exist for it. Default: `default`. */
  tenant?: string;
  /** MCP servers that count as known before a worker has published them. Default: none. */
  knownServers?: readonly string[];
  /** Time for which a closed request stays readable, in milliseconds. Default: 86,400,000 (one day). */
  retentionMs?: number;
  /** Durability that an acceptance waits for: `memory`, `fsync` or `replica`. Default: `memory`. */
  durability?: Durability;
  /** Maximum number of waiting directives in one lane; null: no limit. Default: 10,000. */
  maxQueued?: number | null;
  /** Maximum size of a request in bytes, equal to `limits.request_bytes` of the installation. Default: 64 MiB. */
  requestBytes?: number;
  /**
   * Maximum size of all requests in bytes, equal to `limits.total_bytes` of the installation. Default: 80 % of Redis' maxmemory, or
   * half of its machine's memory.
   */
  totalBytes?: number;
  /** As `signals.stream.max_entries` of the installation. Default: no stream of all signals is written. */
  streamEntries?: number;
  /** Custom types of directives that may be submitted, as the modules of the workers define them. Default: none. */
  directives?: readonly CustomDirectiveType[];
  /** Store of large payloads, equal to `payloads` of the installation. Default: none is read or written. */
  payloads?: DirectPayloads;
  /** Export of the client's spans. Default: none; the spans of workers begin the trace, or continue the caller's. */
  tracing?: DirectTracing;
  /** Codec that encrypts submissions and decrypts answers, such as that of `createAesCodec`. Default: no encryption. */
  codec?: PayloadCodec;
  /** Whether submissions in clear are refused, equal to `encryption.required` of the installation. Default: false. */
  encryptionRequired?: boolean;
}

/** A folder, relative to the working directory, or a bucket. */
export type DirectPayloads = (
  | { folder: string }
  | {
      bucket: string;
      endpoint: string;
      accessKeyId: string;
      secretAccessKey: string;
      /** Default: `us-east-1`. */
      region?: string;
      /** Value of the section. Default: none. */
      prefix?: string;
    }
) & {
  /** Smaller ones are submitted to Redis, bytes. Default: 262 144. */
  offloadAboveBytes?: number;
};

/** Export of OpenTelemetry traces by a direct client. */
export interface DirectTracing {
  /** Address of the OTLP collector, such as `http://localhost:4318/v1/traces`. */
  url: string;
  /** Fraction of requests that are traced, 0 to 1, where `traceparent` does not decide. Default: 1. */
  ratio?: number;
  /** Name of the service in its spans. Default: `adjutant-client`. */
  serviceName?: string;
}

const DEFAULT_RETENTION_MS = 86_400_000;
const DEFAULT_MAX_QUEUED = 10_000;
const DEFAULT_MAX_OPEN = 100_000;
const DEFAULT_ARGUMENTS_BYTES = 1_024 * 1_024;
const DEFAULT_BATCH = 1_000;
const DEFAULT_ABOVE_BYTES = 262_144;

/**
 * Creates a client that submits directives straight to Redis, without the HTTP API. It connects in the background; the
 * first call waits for Redis.
 * @param options URL of Redis and the settings of the installation.
 * @returns The client. Call `close` to release its connections.
 * @throws `TypeError` where `redisUrl` or `tenant` is malformed. Each method throws `DirectiveRefused` with the code of
 * the problem, and `ServiceUnavailable` where Redis does not answer.
 * @example
 * ```ts
 * import { createDirectClient } from 'adjutant/queue';
 * const client = await createDirectClient({ redisUrl: 'redis://127.0.0.1:6379' });
 * const end = await client.execute({ type: 'tool_exec', tool_name: 'everything.echo', arguments: { message: 'hi' } });
 * console.log(end.type, end.data);
 * await client.close();
 * ```
 */
export async function createDirectClient(options: DirectClientOptions): Promise<DirectiveClient> {
  const wrong = redisUrlFault(options.redisUrl);
  if (wrong !== null) throw new TypeError(`redisUrl: ${wrong.says}. ${wrong.fix}`);
  const { tenant = DEFAULT_TENANT } = options;
  if (!tenantSchema.safeParse(tenant).success) throw new TypeError(`tenant: ${TENANT_FORM}`);
  const connection = connectRedis(options.redisUrl, 'submit');
  const listening = connectRedis(options.redisUrl, 'subscriber');
  const telemetry = createTraces(tracingOf(options), SILENT);
  await telemetry.start();
  const store = createStore(connection, storeOptions(options, telemetry.spans));
  const { clientOf } = createClient(store, listening, clientOptions(options, store));
  const plain = clientOf(tenant);
  const client = options.codec === undefined ? plain : encryptingClient(plain, options.codec);
  return {
    ...client,
    async close() {
      await plain.close();
      await telemetry.stop();
      await store.close();
      await Promise.all([closeRedis(connection), closeRedis(listening)]);
    },
  };
}

function tracingOf({ tracing }: DirectClientOptions): TracingSettings | null {
  if (tracing === undefined) return null;
  const { url, ratio = 1, serviceName = 'adjutant-client' } = tracing;
  const resource = { 'service.name': serviceName, 'service.version': version };
  return { url, ratio, contentBytes: 0, resource, newNames: [] };
}

function storeOptions(options: DirectClientOptions, spans: Spans): StoreOptions {
  const { prefix = DEFAULT_PREFIX, requestBytes = DEFAULT_REQUEST_BYTES } = options;
  return {
    prefix,
    retentionMs: options.retentionMs ?? DEFAULT_RETENTION_MS,
    requestBytes,
    durability: options.durability ?? 'memory',
    configured: { servers: options.knownServers ?? [], models: NO_MODELS, agents: [] },
    spans,
    streamEntries: options.streamEntries,
    objects: objectsOf(options.payloads, prefix),
  };
}

function objectsOf(payloads: DirectPayloads | undefined, installation: string): PayloadObjects {
  if (payloads === undefined) return OTHERS_OBJECTS;
  const { offloadAboveBytes: offload_above_bytes = DEFAULT_ABOVE_BYTES } = payloads;
  const place = { ...placeOf(payloads), offload_above_bytes };
  const config = { payloads: place, directory: process.cwd(), prefix: installation };
  return payloadObjectsOf(config, SILENT) ?? OTHERS_OBJECTS;
}

function placeOf(payloads: DirectPayloads) {
  if ('folder' in payloads) return { folder: payloads.folder, region: '', prefix: '' };
  const { bucket, endpoint, accessKeyId: access_key_id, secretAccessKey: secret_access_key } = payloads;
  const { region = 'us-east-1', prefix = '' } = payloads;
  return { bucket, endpoint, region, prefix, access_key_id, secret_access_key };
}

function clientOptions(options: DirectClientOptions, { catalog, spans }: Store): ClientOptions {
  const { maxQueued = DEFAULT_MAX_QUEUED, requestBytes = DEFAULT_REQUEST_BYTES } = options;
  const { executeImmediately } = createRegistry([emitToolError, emitToolResult, emitRequestError]);
  return {
    preparer: createPreparer(catalog, executeImmediately, { spans }),
    customTypes: submittableTypes(options.directives ?? []),
    argumentsBytes: DEFAULT_ARGUMENTS_BYTES,
    requestBytes,
    totalBytes: options.totalBytes,
    maxDirectives: DEFAULT_BATCH,
    maxQueuedIn: () => maxQueued,
    maxOpen: maxQueued === null ? null : DEFAULT_MAX_OPEN,
    mustEncrypt: () => options.encryptionRequired === true,
  };
}
