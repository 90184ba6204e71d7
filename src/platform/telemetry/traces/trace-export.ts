// Sends spans to a collector: OTLP over HTTP as protobuf, in batches, with the official SDK.
// Must never be imported where tracing is off: loading the SDK takes a tenth of a second.
import { type Context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, type Tracer } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  SamplingDecision,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { HideText } from '../../../contract/json/secret-text.ts';
import { type AnswerWatch, watchAnswers } from '../export-fault.ts';
import { ATTRIBUTE, DEFAULT_SERVICE_NAME } from './semantic-names.ts';
import type { Attributes, SpanPlace, SpanRecord, SpanRole } from './span.ts';

export interface TraceExportOptions {
  /** Where OTLP traces are posted. */
  readonly url: string;
  /** Share of the traces that begin here which are recorded, 0 to 1. */
  readonly ratio: number;
  readonly resource: Readonly<Record<string, string>>;
  /** Applied to every text of a span. */
  readonly hide: HideText;
  /** The longest value of an attribute, characters. */
  readonly longestValue: number;
  /** After each export of `spans`; null: it succeeded. `left`: spans that wait for the next ones. */
  readonly onExported: (error: Error | null, spans: number, left: number) => void;
  /** A span was not made: as many as fit wait for the collector. */
  readonly onDropped: () => void;
}

export interface TraceExport {
  send(span: SpanRecord): void;
  /** Whether a trace that begins here is recorded: the same in every process with the same share. */
  isChosen(traceId: string): boolean;
  /** Sends what is left. Rejects when the collector does not take it. */
  close(): Promise<void>;
}

/** The same in the SDK, which gives each span the ids that are next here. */
interface NextIds {
  traceId: string;
  spanId: string;
}

/** How many wait for an export; the processor does not say. */
interface Queue {
  spans: number;
}

const MOST_QUEUED = 8_192;
const BATCH = 512;
/** The last flush sends every batch at once, and the exporter refuses what is above its limit. */
const MOST_AT_ONCE = MOST_QUEUED / BATCH + 1;
/** A process that is killed loses at most what ended in this time. */
const DELAY_MS = 250;
const TIMEOUT_MS = 3_000;
/** Longer than the exporter's, so that its own error arrives. */
const EXPORT_TIMEOUT_MS = 3_500;

const KINDS = {
  server: SpanKind.SERVER,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
  client: SpanKind.CLIENT,
  internal: SpanKind.INTERNAL,
} as const;

export function openTraceExport(options: TraceExportOptions): TraceExport {
  const next: NextIds = { traceId: '', spanId: '' };
  const share = new TraceIdRatioBasedSampler(options.ratio);
  const queue: Queue = { spans: 0 };
  const tracers = tracersOf(options, queue, next, share);
  const shown = (attributes?: Attributes) => present(attributes, options.hide);
  return {
    send(span) {
      // The processor drops it as well, and says nothing.
      if (queue.spans >= MOST_QUEUED) return options.onDropped();
      queue.spans += 1;
      const { place, name, kind, startedAt: startTime, attributes, links = [], role } = span;
      next.traceId = place.traceId;
      next.spanId = place.spanId;
      const linked = links.map((link) => ({
        context: contextOf(place.traceId, link.spanId),
        attributes: shown(link.attributes),
      }));
      const about = { [ATTRIBUTE.role]: role, [ATTRIBUTE.errorType]: span.error ?? undefined };
      const stated = shown({ ...attributes, ...about });
      const described = { kind: KINDS[kind], startTime, attributes: stated, links: linked };
      const made = tracers.of(role).startSpan(options.hide(name), described, parentContext(place));
      for (const event of span.events ?? []) made.addEvent(event.name, shown(event.attributes), event.at);
      if (span.error !== null) made.setStatus({ code: SpanStatusCode.ERROR });
      made.end(Math.max(span.endedAt, startTime));
    },
    isChosen: (traceId) =>
      share.shouldSample(ROOT_CONTEXT, traceId).decision === SamplingDecision.RECORD_AND_SAMPLED,
    close: tracers.close,
  };
}

/** A tracer for each role, whose resource names it; all of them have one queue. */
function tracersOf(
  { url, resource, longestValue, onExported }: TraceExportOptions,
  queue: Queue,
  next: NextIds,
  root: TraceIdRatioBasedSampler,
) {
  const answers = watchAnswers(url);
  const exporter = new OTLPTraceExporter({ url, timeoutMillis: TIMEOUT_MS, concurrencyLimit: MOST_AT_ONCE });
  const processor = new BatchSpanProcessor({
    exporter: watched(exporter, answers, queue, onExported),
    maxQueueSize: MOST_QUEUED,
    maxExportBatchSize: BATCH,
    scheduledDelayMillis: DELAY_MS,
    exportTimeoutMillis: EXPORT_TIMEOUT_MS,
  });
  const made = new Map<SpanRole | undefined, Tracer>();
  const make = (role: SpanRole | undefined): Tracer => {
    const provider = new TracerProvider({
      resource: resourceFromAttributes(roleResource(resource, role)),
      sampler: new ParentBasedSampler({ root }),
      idGenerator: { generateTraceId: () => next.traceId, generateSpanId: () => next.spanId },
      spanLimits: {
        attributeValueLengthLimit: longestValue,
        attributeCountLimit: 64,
        eventCountLimit: 64,
        linkCountLimit: 16,
      },
      spanProcessors: [processor],
    });
    const tracer = provider.getTracer('adjutant');
    made.set(role, tracer);
    return tracer;
  };
  return {
    of: (role: SpanRole | undefined): Tracer => made.get(role) ?? make(role),
    close: () => processor.shutdown(),
  };
}

/** The default name of the service has the role at its end, as graphs of services draw one node for each name. */
function roleResource(resource: Readonly<Record<string, string>>, role: SpanRole | undefined) {
  if (role === undefined) return { ...resource };
  const name = resource['service.name'];
  const named = name === DEFAULT_SERVICE_NAME ? `${name}-${role}` : name;
  return { ...resource, ...(named === undefined ? {} : { 'service.name': named }), [ATTRIBUTE.role]: role };
}

/** Failures are reported here: the SDK would hand them to a handler that the whole process shares. */
function watched(
  exporter: SpanExporter,
  answers: AnswerWatch,
  queue: Queue,
  onExported: TraceExportOptions['onExported'],
): SpanExporter {
  return {
    export(spans, done) {
      queue.spans -= spans.length;
      exporter.export(spans, (result) => {
        const error = result.code === 0 ? answers.fault() : (result.error ?? new Error('the export failed'));
        onExported(error, spans.length, queue.spans);
        done({ code: 0 });
      });
    },
    forceFlush: async () => exporter.forceFlush?.(),
    shutdown: () => exporter.shutdown().finally(answers.close),
  };
}

function contextOf(traceId: string, spanId: string) {
  return { traceId, spanId, traceFlags: 1, isRemote: true };
}

function parentContext({ traceId, parentId }: SpanPlace): Context {
  return parentId === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, contextOf(traceId, parentId));
}

type Shown = string | number | boolean | string[];

function present(attributes: Attributes = {}, hide: HideText): Record<string, Shown> {
  const shown = (value: unknown): unknown => {
    if (typeof value === 'string') return hide(value);
    return Array.isArray(value) ? value.map(shown) : value;
  };
  const given = Object.entries(attributes).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, shown(value)])) as Record<string, Shown>;
}
