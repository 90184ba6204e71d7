// The metrics of a process: opened before its roles, closed after them.
// Must never fail a start or a directive, nor hold a stop for longer than two seconds.
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { type Deadline, settledWithin, type Startable } from '../../lifecycle.ts';
import { exportFault, isNotServed, shownCollector } from '../export-fault.ts';
import { type GaugeSource, readAll, type Reading } from './gauges.ts';
import type { Logger } from '../logger.ts';
import { beginAtZero, createMeters, type KnownNames, type Meters, NO_METERS } from './meters.ts';
import type { MetricExport, OtlpTarget } from './metric-export.ts';
import { createOutage, type OutageNews, secondsOf } from '../outage.ts';

export interface MetricSettings {
  /** null: nothing is exported. */
  readonly otlp: Pick<OtlpTarget, 'url' | 'intervalMs'> | null;
  /** Attributes of the process. */
  readonly resource: Readonly<Record<string, string>>;
  readonly known: KnownNames;
}

export interface Metrics extends Startable {
  readonly meters: Meters;
  /** `source` is read with each collection, from now on. */
  add(source: GaugeSource): void;
  /** In the text format of Prometheus. null: metrics are off. */
  readonly scrape: (() => Promise<string>) | null;
}

/** The most time that a stop gives a collector. */
const LONGEST_STOP_MS = 2_000;

const OFF: Metrics = {
  name: 'metrics',
  meters: NO_METERS,
  add: () => {},
  scrape: null,
  start: async () => {},
  stop: async () => {},
};

/** `settings` null: nothing is measured, and nothing is loaded. */
export function createMetrics(settings: MetricSettings | null, logger: Logger): Metrics {
  if (settings === null) return OFF;
  let open: MetricExport | null = null;
  let self: ProcessGauges | null = null;
  const sources: GaugeSource[] = [() => self?.read() ?? []];
  const readGauges = (): Promise<Reading[]> => readAll(sources);
  const meters = createMeters(
    (metric, value, labels) => open?.measure(metric, value, labels),
    settings.known,
  );
  return {
    name: 'metrics',
    meters,
    add: (source) => void sources.push(source),
    scrape: async () => (await open?.scrape()) ?? '',
    async start() {
      self ??= watchProcess();
      if (open !== null) return;
      open = await openExport(settings, { meters, logger, readGauges });
      beginAtZero(open.measure, settings.known);
    },
    async stop(by?: Deadline) {
      const closing = open?.close();
      open = null;
      self?.stop();
      self = null;
      if (closing !== undefined)
        await settledWithin(closing, Math.min(LONGEST_STOP_MS, by?.leftMs() ?? Infinity));
    },
  };
}

interface ExportParts {
  readonly meters: Meters;
  readonly logger: Logger;
  readonly readGauges: () => Promise<Reading[]>;
}

async function openExport(
  { otlp, resource }: MetricSettings,
  { meters, logger, readGauges }: ExportParts,
): Promise<MetricExport> {
  const { openMetricExport } = await import('./metric-export.ts');
  if (otlp === null) return openMetricExport({ resource, otlp, readGauges });
  const log = exportLog(otlp.url, logger);
  const onExported = (error: Error | null): void => {
    if (error !== null) meters.exportFailed('metrics');
    log(error);
  };
  return openMetricExport({ resource, otlp: { ...otlp, onExported }, readGauges });
}

/** One line as the collector is lost, and one as it is back. Jaeger takes traces only, which is no outage. */
function exportLog(url: string, logger: Logger): (error: Error | null) => void {
  const outage = createOutage();
  const collector = shownCollector(url);
  return (error) => {
    const news: OutageNews | null = error === null ? outage.works() : outage.failed();
    if (news?.kind === 'ended') {
      logger.info({ collector, after_s: secondsOf(news.afterMs) }, 'the collector takes metrics again');
    } else if (news?.kind === 'began' && error !== null)
      logger[isNotServed(error) ? 'info' : 'warn'](
        { ...exportFault('metrics', url, error) },
        'the collector takes no metrics; they are dropped',
      );
  };
}

const NANOSECONDS = 1e9;
/** How often the delay is measured, milliseconds. Each measurement costs a timer. */
const RESOLUTION_MS = 20;

interface ProcessGauges {
  readonly read: GaugeSource;
  stop(): void;
}

/** The delay is that beyond the timer's own time, since the last reading. */
function watchProcess(): ProcessGauges {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  let load = performance.eventLoopUtilization();
  const seconds = (nanoseconds: number): number =>
    Math.max(0, nanoseconds / NANOSECONDS - RESOLUTION_MS / 1_000);
  return {
    read() {
      const since = performance.eventLoopUtilization(load);
      load = performance.eventLoopUtilization();
      const readings = [
        { metric: 'loopDelayP99', value: seconds(delay.percentile(99)) },
        { metric: 'loopDelayMax', value: seconds(delay.max) },
        { metric: 'loopUtilization', value: since.utilization },
        { metric: 'memory', value: process.memoryUsage.rss() },
      ] as const;
      delay.reset();
      return readings;
    },
    stop: () => void delay.disable(),
  };
}
