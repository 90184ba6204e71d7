// The metrics of a process in the official SDK: aggregated once, read as Prometheus text and sent as OTLP.
// Must never be imported where metrics are off: loading the SDK takes a tenth of a second.
import type { Counter, Histogram, ObservableGauge } from '@opentelemetry/api';
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AggregationTemporality,
  type IMetricReader,
  MeterProvider,
  MetricReader,
  PeriodicExportingMetricReader,
  type PushMetricExporter,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics';
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
  /** null: nobody is sent anything. */
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
  const readers: IMetricReader[] = [scraper, ...(otlp === null ? [] : [pushReader(otlp)])];
  const provider = new MeterProvider({ resource: resourceFromAttributes({ ...resource }), readers });
  const measure = instruments(provider, readGauges);
  // The names are ours alone, and the resource is one line for all of them.
  const serializer = new PrometheusSerializer(undefined, false, undefined, false, true);
  let scraping: Promise<string> | null = null;

  async function scrape(): Promise<string> {
    const { resourceMetrics } = await scraper.collect();
    return serializer.serialize(withPrometheusNames(resourceMetrics));
  }

  return {
    measure,
    scrape: () => (scraping ??= scrape().finally(() => (scraping = null))),
    close: () => provider.shutdown(),
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

function pushReader({ url, intervalMs, onExported }: OtlpTarget): IMetricReader {
  const exporter = new OTLPMetricExporter({
    url,
    timeoutMillis: TIMEOUT_MS,
    concurrencyLimit: 2,
    temporalityPreference: AggregationTemporality.CUMULATIVE,
  });
  return new PeriodicExportingMetricReader({
    exporter: watched(exporter, onExported),
    exportIntervalMillis: intervalMs,
    exportTimeoutMillis: Math.min(intervalMs, 2 * TIMEOUT_MS),
    cardinalityLimits: { default: MOST_SERIES },
  });
}

/** Failures are reported here: the SDK would hand them to a handler that the whole process shares. */
function watched(exporter: OTLPMetricExporter, onExported: OtlpTarget['onExported']): PushMetricExporter {
  return {
    export(metrics, done) {
      exporter.export(metrics, (result) => {
        onExported(result.code === 0 ? null : (result.error ?? new Error('the export failed')));
        done({ code: 0 });
      });
    },
    selectAggregation: (type) => exporter.selectAggregation(type),
    selectAggregationTemporality: (type) => exporter.selectAggregationTemporality(type),
    forceFlush: () => exporter.forceFlush(),
    shutdown: () => exporter.shutdown(),
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
