/** A real Jaeger for a test: found, started on free ports of loopback, asked through its query API.
 *  It must never be one that somebody else has started. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import type { ReceivedSpan } from './otlp-spans.ts';
import { freePort } from './process.ts';

export interface Jaeger {
  /** As OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly endpoint: string;
  /** The spans of a trace, as `/api/v3/traces/{id}` has them now. */
  spans(traceId: string): Promise<ReceivedSpan[]>;
  /** Of the last hour, with spans of the service. */
  traces(service: string): Promise<string[]>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Beside a clone: the program of the machine on which the project is developed. */
const PACKED = resolve('../shared/tools/jaeger/jaeger.gz');

/** `JAEGER_BIN`, then the PATH, then the packed program, unpacked into `folder`. null: there is none. */
export async function findJaeger(folder: string): Promise<string | null> {
  const named = process.env['JAEGER_BIN'];
  if (named) return named;
  const places = (process.env['PATH'] ?? '').split(delimiter).map((place) => join(place, 'jaeger'));
  const found = places.find((place) => existsSync(place));
  if (found !== undefined) return found;
  if (!existsSync(PACKED)) return null;
  const unpacked = join(folder, 'jaeger');
  await pipeline(createReadStream(PACKED), createGunzip(), createWriteStream(unpacked));
  await chmod(unpacked, 0o755);
  return unpacked;
}

const local = (port: number): string => `127.0.0.1:${port}`;

/** JSON is YAML. */
function configuration([otlp, query, grpc]: readonly number[]): string {
  return JSON.stringify({
    service: {
      extensions: ['jaeger_storage', 'jaeger_query'],
      pipelines: { traces: { receivers: ['otlp'], exporters: ['jaeger_storage_exporter'] } },
      telemetry: { metrics: { level: 'none' }, logs: { level: 'info' } },
    },
    extensions: {
      jaeger_storage: { backends: { mem: { memory: { max_traces: 1_000 } } } },
      jaeger_query: {
        storage: { traces: 'mem' },
        http: { endpoint: local(query ?? 0) },
        grpc: { endpoint: local(grpc ?? 0) },
      },
    },
    receivers: { otlp: { protocols: { http: { endpoint: local(otlp ?? 0) } } } },
    exporters: { jaeger_storage_exporter: { trace_storage: 'mem' } },
  });
}

/** null: there is no Jaeger on this machine. */
export async function startJaeger(): Promise<Jaeger | null> {
  const folder = await mkdtemp(join(tmpdir(), 'adjutant-jaeger-'));
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  const program = await findJaeger(folder);
  if (program === null) return remove().then(() => null);
  const ports = [await freePort(), await freePort(), await freePort()];
  const file = join(folder, 'jaeger.yaml');
  await writeFile(file, configuration(ports));
  const child = spawn(program, ['--config', file], { stdio: ['ignore', 'ignore', 'pipe'] });
  const [otlp = 0, query = 0] = ports;
  await untilReady(child);
  return {
    endpoint: `http://${local(otlp)}`,
    spans: (traceId) => spansOf(`http://${local(query)}/api/v3/traces/${traceId}`),
    traces: (service) => tracesOf(`http://${local(query)}/api/v3/traces`, service),
    async [Symbol.asyncDispose]() {
      const ended = child.exitCode === null ? once(child, 'exit') : null;
      child.kill();
      await ended;
      await remove();
    },
  };
}

/** Reads on to the end: a program that nobody reads dies of its next line. */
function untilReady(child: ChildProcessByStdio<null, null, Readable>): Promise<void> {
  const { promise, resolve: isReady, reject } = Promise.withResolvers<void>();
  let text = '';
  child.stderr.on('data', (chunk: Buffer) => {
    text = (text + chunk.toString()).slice(-4_000);
    if (text.includes('Everything is ready')) isReady();
  });
  child.once('exit', () => reject(new Error(`Jaeger ended:\n${text}`)));
  return promise;
}

interface OtlpJson {
  result: {
    resourceSpans: { resource: { attributes: OtlpAttribute[] }; scopeSpans: { spans: OtlpSpan[] }[] }[];
  };
}

interface OtlpAttribute {
  key: string;
  value: Record<string, unknown>;
}

interface OtlpSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes?: OtlpAttribute[];
  events?: { name: string; attributes?: OtlpAttribute[] }[];
  links?: { spanId: string; attributes?: OtlpAttribute[] }[];
  status?: { code?: number };
}

const KINDS = ['UNSPECIFIED', 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER'] as const;

async function tracesOf(url: string, service: string): Promise<string[]> {
  const search = new URLSearchParams({
    'query.service_name': service,
    'query.num_traces': '100',
    'query.search_depth': '100',
    'query.start_time_min': new Date(Date.now() - 3_600_000).toISOString(),
    'query.start_time_max': new Date(Date.now() + 60_000).toISOString(),
  });
  const spans = await spansOf(`${url}?${search.toString()}`);
  return [...new Set(spans.map(({ traceId }) => traceId))];
}

async function spansOf(url: string): Promise<ReceivedSpan[]> {
  const response = await fetch(url);
  if (response.status === 404) return [];
  const { result } = (await response.json()) as OtlpJson;
  return result.resourceSpans.flatMap(({ resource, scopeSpans }) => {
    const service = String(attributesOf(resource.attributes)['service.name']);
    return scopeSpans.flatMap(({ spans }) => spans.map((span) => spanOf(span, service)));
  });
}

function spanOf(span: OtlpSpan, service: string): ReceivedSpan {
  return {
    service,
    traceId: span.traceId,
    spanId: span.spanId,
    parentId: span.parentSpanId ?? '',
    name: span.name,
    kind: KINDS[span.kind] ?? 'UNSPECIFIED',
    startNano: BigInt(span.startTimeUnixNano),
    endNano: BigInt(span.endTimeUnixNano),
    attributes: attributesOf(span.attributes),
    events: (span.events ?? []).map(({ name, attributes }) => ({
      name,
      attributes: attributesOf(attributes),
    })),
    links: (span.links ?? []).map(({ spanId, attributes }) => ({
      spanId,
      attributes: attributesOf(attributes),
    })),
    status: span.status?.code === 2 ? 'ERROR' : 'UNSET',
  };
}

function attributesOf(attributes: readonly OtlpAttribute[] = []): Record<string, unknown> {
  // Jaeger's own remarks, as that a child run outlives the turn that has started it.
  const sent = attributes.filter(({ key }) => !key.startsWith('@jaeger@'));
  return Object.fromEntries(sent.map(({ key, value }) => [key, valueOf(value)]));
}

/** In JSON whole numbers are texts, and lists hold such values. */
function valueOf(value: Record<string, unknown>): unknown {
  const { intValue, arrayValue } = value as {
    intValue?: string;
    arrayValue?: { values: Record<string, unknown>[] };
  };
  if (intValue !== undefined) return Number(intValue);
  return arrayValue ? arrayValue.values.map(valueOf) : Object.values(value)[0];
}
