// The export of a process' spans to a collector: opened before its roles, closed after them. Never fails a start or a
// directive, nor holds a stop for longer than two seconds.
import {
  createKnownSecrets,
  type KnownSecrets,
  withoutCredentials,
} from '../../../contract/json/secret-text.ts';
import { type Deadline, settledWithin, type Startable } from '../../lifecycle.ts';
import { exportFault, shownCollector } from '../export-fault.ts';
import type { Logger } from '../logger.ts';
import type { Meters } from '../metrics/meters.ts';
import { createOutage, secondsOf } from '../outage.ts';
import { renaming } from './semantic-names.ts';
import type { SpanRecord } from './span.ts';
import { NO_SPANS, type Spans } from './spans.ts';
import { isUndecided, traceContext } from './trace-context.ts';
import type { TraceExport } from './trace-export.ts';

export interface TracingSettings {
  /** Where OTLP traces are posted. */
  readonly url: string;
  /** Share of the traces that begin here which are recorded, 0 to 1. */
  readonly ratio: number;
  /** The most bytes of a prompt, argument or result that a span shows; 0: spans show none. */
  readonly contentBytes: number;
  /** Attributes of the process. */
  readonly resource: Readonly<Record<string, string>>;
  /** Groups of conventions whose newest names are used, as in OTEL_SEMCONV_STABILITY_OPT_IN. */
  readonly newNames: readonly string[];
  /** The secrets of the process, which no span shows. Default: none are known. */
  readonly secrets?: KnownSecrets;
}

export interface Traces extends Startable {
  readonly spans: Spans;
}

/** Counters of spans that no collector gets. */
export type SpanLosses = Pick<Meters, 'exportFailed' | 'spansLost'>;

/** The most time that a stop gives a collector. */
const LONGEST_STOP_MS = 2_000;
/** Characters of a value that is no content. */
const LONGEST_VALUE = 1_024;

/** `tracing` null: nothing is reported, and nothing is loaded. */
export function createTraces(
  tracing: TracingSettings | null,
  logger: Logger,
  losses: SpanLosses = { exportFailed: () => {}, spansLost: () => {} },
): Traces {
  if (tracing === null)
    return { name: 'traces', spans: NO_SPANS, start: async () => {}, stop: async () => {} };
  let open: TraceExport | null = null;
  const ledger = createSpanLedger();
  return {
    name: 'traces',
    spans: recordedSpans(tracing, ledger, () => open),
    async start() {
      open ??= await openExport(tracing, logger, losses, ledger);
    },
    async stop(by?: Deadline) {
      const closing = open?.close();
      open = null;
      if (closing !== undefined)
        await settledWithin(closing, Math.min(LONGEST_STOP_MS, by?.leftMs() ?? Infinity));
    },
  };
}

async function openExport(
  settings: TracingSettings,
  logger: Logger,
  losses: SpanLosses,
  ledger: SpanLedger,
): Promise<TraceExport> {
  const { openTraceExport } = await import('./trace-export.ts');
  const { url, ratio, resource, contentBytes, secrets = createKnownSecrets() } = settings;
  const hide = (text: string): string => withoutCredentials(secrets.hide(text));
  const longestValue = Math.max(LONGEST_VALUE, contentBytes);
  const log = exportLog(url, logger);
  const queue = queueLog(logger);
  const onExported = (error: Error | null, spans: number, left: number): void => {
    ledger.gone(spans);
    if (error !== null) losses.exportFailed('traces');
    if (error !== null) losses.spansLost('export_failed', spans);
    log(error);
    if (left === 0) queue.empty();
  };
  const onDropped = (): void => {
    ledger.gone(1);
    losses.spansLost('queue_full', 1);
    queue.full();
  };
  return openTraceExport({ url, ratio, resource, hide, longestValue, onExported, onDropped });
}

/** One line as spans begin to be dropped, one a minute while that lasts, one as everything was sent. */
function queueLog(logger: Logger): { full(): void; empty(): void } {
  const outage = createOutage();
  return {
    full() {
      const news = outage.failed();
      if (news?.kind === 'began')
        logger.warn({}, 'spans are made faster than the collector takes them; some are dropped');
      else if (news?.kind === 'lasts')
        logger.warn({ dropped: news.failures }, 'spans are still dropped: the collector is too slow');
    },
    empty() {
      const news = outage.works();
      if (news?.kind === 'ended') logger.info({ dropped: news.failures }, 'every span is sent again');
    },
  };
}

/** One line as the collector is lost, one a minute while it is away, one as it is back. */
function exportLog(url: string, logger: Logger): (error: Error | null) => void {
  const outage = createOutage();
  const collector = shownCollector(url);
  return (error) => {
    const news = error === null ? outage.works() : outage.failed();
    if (news?.kind === 'ended') {
      const afterSeconds = secondsOf(news.afterMs);
      logger.info({ collector, after_s: afterSeconds }, 'the collector takes traces again');
    } else if (news !== null && error !== null)
      logger.warn(
        { ...exportFault('traces', url, error) },
        'the collector takes no traces; they are dropped',
      );
  };
}

function recordedSpans(settings: TracingSettings, ledger: SpanLedger, open: () => TraceExport | null): Spans {
  const renamed = renaming(settings.newNames);
  const isRecorded = (traceparent: string): boolean => {
    const context = traceContext(traceparent);
    if (!context.isSampled) return false;
    return !isUndecided(context) || (open()?.isChosen(context.traceId) ?? false);
  };
  return {
    decided(traceparent) {
      const isOpen = isUndecided(traceContext(traceparent)) && !isRecorded(traceparent);
      return isOpen ? `${traceparent.slice(0, 53)}00` : traceparent;
    },
    under(traceparent) {
      if (!isRecorded(traceparent)) return null;
      const context = traceContext(traceparent);
      return { traceId: context.traceId, spanId: isUndecided(context) ? null : context.spanId };
    },
    report(span) {
      const exporter = open();
      if (exporter === null) return;
      ledger.reported(span);
      exporter.send(renamed(span));
    },
    begin: ledger.begin,
    begun: ledger.begun,
    whenSent: ledger.whenSent,
    process: settings.resource['service.instance.id'] ?? '',
    now: createWallClock(),
    content: { bytes: settings.contentBytes, ...(settings.secrets && { hide: settings.secrets.hide }) },
  };
}

interface Begun {
  readonly span: SpanRecord;
  /** Callbacks that wait for their report. */
  readonly waiting: (() => void)[];
}

interface SpanLedger {
  begin(span: SpanRecord): void;
  begun(spanId: string | null): SpanRecord | null;
  /** Before `span` is handed to the export. */
  reported(span: SpanRecord): void;
  /** So many have been sent, or are lost. */
  gone(count: number): void;
  /** `done` follows what was reported until now, and the begun span `spanId`. */
  whenSent(spanId: string | null, done: () => void): void;
}

/** A request that is answered later than this many others is not noted any longer. */
const MOST_BEGUN = 10_000;

function createSpanLedger(): SpanLedger {
  const begun = new Map<string, Begun>();
  const waiting: { after: number; done: () => void }[] = [];
  let [reported, gone] = [0, 0];

  function wait(done: () => void): void {
    if (gone >= reported) done();
    else waiting.push({ after: reported, done });
  }

  return {
    begin(span) {
      begun.set(span.place.spanId, { span, waiting: [] });
      if (begun.size > MOST_BEGUN) begun.delete(begun.keys().next().value ?? '');
    },
    begun: (spanId) => begun.get(spanId ?? '')?.span ?? null,
    reported({ place: { spanId } }) {
      reported += 1;
      const entry = begun.get(spanId);
      if (entry === undefined) return;
      begun.delete(spanId);
      for (const done of entry.waiting) wait(done);
    },
    gone(count) {
      gone += count;
      const still = waiting.findIndex(({ after }) => after > gone);
      for (const { done } of waiting.splice(0, still === -1 ? waiting.length : still)) done();
    },
    whenSent(spanId, done) {
      const entry = begun.get(spanId ?? '');
      if (entry === undefined) wait(done);
      else entry.waiting.push(done);
    },
  };
}

/** A machine that slept, or whose clock was set, is further off than this. Milliseconds. */
const MOST_OFF_MS = 20;

interface Clocks {
  /** Milliseconds since the epoch. */
  readonly system: () => number;
  /** Milliseconds from any origin. */
  readonly monotonic: () => number;
}

const REAL: Clocks = { system: () => Date.now(), monotonic: () => performance.now() };

export function createWallClock({ system, monotonic }: Clocks = REAL): () => number {
  let offset = system() - monotonic();
  return () => {
    const at = monotonic() + offset;
    const off = system() - at;
    if (Math.abs(off) <= MOST_OFF_MS) return at;
    offset += off;
    return at + off;
  };
}
