// `adjutant/queue`: the direct client of a program that submits and follows, but executes nothing.
// Must never keep the process alive after `close`.
import { DEFAULT_TENANT } from '../contract/tenant.ts';
import { TENANT_FORM, tenantSchema } from '../contract/tenant-name.ts';
import type { DirectiveClient } from '../contract/directive-client.ts';
import type { PayloadCodec } from '../contract/encrypted.ts';
import { encryptingClient } from '../encryption/encrypted-client.ts';
import { type CustomDirectiveType, submittableTypes } from '../engine/core/directive-exec.ts';
import { emitRequestError } from '../executors/emit-request-error.ts';
import { emitToolError } from '../executors/emit-tool-error.ts';
import { createRegistry } from '../executors/registry.ts';
import { DEFAULT_REQUEST_BYTES } from '../journal/journal.ts';
import { OTHERS_OBJECTS, type PayloadObjects } from '../journal/large-payloads.ts';
import { DEFAULT_PREFIX } from '../journal/keys.ts';
import { NO_MODELS } from '../catalog/known-models.ts';
import type { Durability } from '../queue/durability.ts';
import { redisUrlFault } from '../redis/address.ts';
import { createPreparer } from '../queue/prepare.ts';
import { closeRedis, connectRedis } from '../redis/connection.ts';
import type { Spans } from '../telemetry/spans.ts';
import { createTraces, type TracingSettings } from '../telemetry/traces.ts';
import { SILENT } from '../telemetry/logger.ts';
import { version } from '../version.ts';
import { type ClientOptions, createClient } from './client.ts';
import { payloadObjectsOf } from './large-payloads.ts';
import { createStore, type Store, type StoreOptions } from './store.ts';

export { privateRedisUrl } from '../redis/private-redis.ts';
export * from '../contract/client-names.ts';
export { createAesCodec } from '../encryption/aes-codec.ts';
export { decryptSignal } from '../encryption/decrypted-signal.ts';

export interface DirectClientOptions {
  /** Forms as in `connectRedis`: standalone, TLS, `redis+sentinel://`, `redis+cluster://`. */
  redisUrl: string;
  /** The installation's key prefix. Default: `adjutant`. */
  prefix?: string;
  /** Whose the requests are: those of others do not exist for this client. Default: `default`. */
  tenant?: string;
  /** Servers that are known before a worker has published them. Default: none. */
  knownServers?: readonly string[];
  /** How long a closed request stays readable, milliseconds. Default: 86 400 000 (one day). */
  retentionMs?: number;
  /** What an acceptance waits for: `memory`, `fsync` or `replica`. Default: `memory`. */
  durability?: Durability;
  /** Directives that may wait in one lane; null = no limit. Default: 10 000. */
  maxQueued?: number | null;
  /** As `limits.request_bytes` of the installation. Default: 64 MiB. */
  requestBytes?: number;
  /** As `limits.total_bytes` of the installation. Default: 80 % of Redis' maxmemory, or half of its machine's memory. */
  totalBytes?: number;
  /** Kinds of directives that the installation's workers have from modules: only these may be submitted. Default: none. */
  directives?: readonly CustomDirectiveType[];
  /** Where the installation has its large payloads, as its section `payloads`. Default: they are not read, and none is written. */
  payloads?: DirectPayloads;
  /** Reports what it sends to a collector. Default: it does not; the workers' spans begin the trace, or continue the caller's. */
  tracing?: DirectTracing;
  /** Encrypts what is submitted and decrypts what is answered, as `createAesCodec` does. Default: nothing is encrypted. */
  codec?: PayloadCodec;
  /** As `encryption.required` of the installation: what is submitted in clear is refused. Default: false. */
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
      /** As in the section. Default: none. */
      prefix?: string;
    }
) & {
  /** Smaller ones are submitted to Redis, bytes. Default: 262 144. */
  offloadAboveBytes?: number;
};

export interface DirectTracing {
  /** Where OTLP traces are posted, as in `http://localhost:4318/v1/traces`. */
  url: string;
  /** Share of the requests that are traced, 0 to 1, where `traceparent` does not decide it. Default: 1. */
  ratio?: number;
  /** Default: `adjutant-client`. */
  serviceName?: string;
}

const DEFAULT_RETENTION_MS = 86_400_000;
const DEFAULT_MAX_QUEUED = 10_000;
const DEFAULT_MAX_OPEN = 100_000;
const DEFAULT_ARGUMENTS_BYTES = 1_024 * 1_024;
const DEFAULT_BATCH = 1_000;
const DEFAULT_ABOVE_BYTES = 262_144;

/** Connects in the background; the first call waits for Redis. Throws when `redisUrl` or `tenant` has not the form of one. */
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
  const { executeImmediately } = createRegistry([emitToolError, emitRequestError]);
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
