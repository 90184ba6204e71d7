// The metrics of a process in the official SDK: aggregated once, read as Prometheus text and sent as OTLP.
// Must never be imported where metrics are off: loading the SDK takes a tenth of a second.
import type { Counter, Histogram, ObservableGauge } from '@opentelemetry/api';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  MeterProvider,
  MetricReader,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics';
import { watchAnswers } from '../export-fault.ts';
import type { Reading } from './gauges.ts';
import type { Measure } from './meters.ts';
import { prometheusName } from './metric.ts';
import { METRIC_NAMES, type MetricName, METRICS } from './metric-names.ts';

export interface OtlpTarget {
  /** Where OTLP metrics are posted. */
  readonly url: string;
  readonly intervalMs: number;
  /** After each export; null: it succeeded. */
  readonly onExported: (error: Error | null) => void;
}

export interface MetricExportOptions {
  readonly resource: Readonly<Record<string, string>>;
  /** null: nothing is exported. */
  readonly otlp: OtlpTarget | null;
  readonly readGauges: () => Promise<readonly Reading[]>;
}

export interface MetricExport {
  readonly measure: Measure;
  /** In the text format of Prometheus. */
  scrape(): Promise<string>;
  /** Sends what is left. Rejects when the collector does not take it. */
  close(): Promise<void>;
}

/** Label sets of one metric; what comes after shares one. Our names stay far below it. */
const MOST_SERIES = 1_000;
const TIMEOUT_MS = 3_000;

/** Collects when it is asked to. */
class ScrapeReader extends MetricReader {
  constructor() {
    super({
      aggregationTemporalitySelector: () => AggregationTemporality.CUMULATIVE,
      cardinalitySelector: () => MOST_SERIES,
    });
  }
  protected override onForceFlush(): Promise<void> {
    return Promise.resolve();
  }
  protected override onShutdown(): Promise<void> {
    return Promise.resolve();
  }
}

export function openMetricExport({ resource, otlp, readGauges }: MetricExportOptions): MetricExport {
  const scraper = new ScrapeReader();
  const attributes = resourceFromAttributes({ ...resource });
  const provider = new MeterProvider({ resource: attributes, readers: [scraper] });
  const collect = async (): Promise<ResourceMetrics> => (await scraper.collect()).resourceMetrics;
  const push = otlp === null ? null : startPushing(otlp, collect);
  const measure = instruments(provider, readGauges);
  // The names are ours alone, and the resource is one line for all of them.
  const serializer = new PrometheusSerializer(undefined, false, undefined, false, true);
  let scraping: Promise<string> | null = null;

  async function scrape(): Promise<string> {
    return serializer.serialize(withPrometheusNames(await collect()));
  }

  return {
    measure,
    scrape: () => (scraping ??= scrape().finally(() => (scraping = null))),
    async close() {
      await push?.close();
      await provider.shutdown();
    },
  };
}

type Recorded = Pick<Counter, 'add'> | Pick<Histogram, 'record'>;

function instruments(provider: MeterProvider, readGauges: MetricExportOptions['readGauges']): Measure {
  const meter = provider.getMeter('adjutant');
  const recorded = new Map<MetricName, Recorded>();
  const gauges = new Map<MetricName, ObservableGauge>();
  for (const key of METRIC_NAMES) {
    const { kind, name, unit, says: description, buckets } = METRICS[key];
    const advice = buckets === undefined ? {} : { advice: { explicitBucketBoundaries: [...buckets] } };
    if (kind === 'gauge') gauges.set(key, meter.createObservableGauge(name, { unit, description }));
    else if (kind === 'counter') recorded.set(key, meter.createCounter(name, { unit, description }));
    else recorded.set(key, meter.createHistogram(name, { unit, description, ...advice }));
  }
  meter.addBatchObservableCallback(
    async (result) => {
      for (const { metric, value, labels } of await readGauges()) {
        const gauge = gauges.get(metric);
        if (gauge !== undefined) result.observe(gauge, value, labels);
      }
    },
    [...gauges.values()],
  );
  return (metric, value, labels) => {
    const instrument = recorded.get(metric);
    if (instrument === undefined) return;
    if ('add' in instrument) instrument.add(value, labels);
    else instrument.record(value, labels);
  };
}

/**
 * A reader of its own would keep another copy of every series: a directive then costs 8 µs instead of 4.5. Failures are
 * reported here: the SDK would hand them to a handler that the whole process shares.
 */
function startPushing({ url, intervalMs, onExported }: OtlpTarget, collect: () => Promise<ResourceMetrics>) {
  const answers = watchAnswers(url);
  const exporter = new OTLPMetricExporter({ url, timeoutMillis: TIMEOUT_MS, concurrencyLimit: 2 });
  let pushing: Promise<void> | null = null;

  async function pushOnce(): Promise<void> {
    const metrics = await collect();
    const { promise, resolve } = Promise.withResolvers<void>();
    exporter.export(metrics, ({ code, error }) => {
      onExported(code === 0 ? answers.fault() : (error ?? new Error('the export failed')));
      resolve();
    });
    await promise;
  }

  function push(): Promise<void> {
    pushing ??= pushOnce().finally(() => (pushing = null));
    return pushing;
  }

  const timer = setInterval(() => void push().catch(onExported), intervalMs).unref();
  return {
    async close(): Promise<void> {
      clearInterval(timer);
      await pushing;
      await push();
      await exporter.shutdown();
      answers.close();
    },
  };
}

/** The serializer adds `_total`, but no unit, so that the same metric would have another name behind a collector. */
function withPrometheusNames({ resource, scopeMetrics }: ResourceMetrics): ResourceMetrics {
  const ours = new Map(METRIC_NAMES.map((key) => [METRICS[key].name, prometheusName(METRICS[key])]));
  return {
    resource,
    scopeMetrics: scopeMetrics.map((scope) => ({
      ...scope,
      metrics: scope.metrics.map((metric) => {
        const name = ours.get(metric.descriptor.name) ?? metric.descriptor.name;
        // The text format knows no units.
        return { ...metric, descriptor: { ...metric.descriptor, name, unit: '' } };
      }),
    })),
  };
}
