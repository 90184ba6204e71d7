// Sends an empty export to a collector, to learn whether it accepts exports. Imported only at a check: loading the SDK
// takes a tenth of a second.
import { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-proto';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { type Exported, type ExportFault, exportFault, isNotServed, watchAnswers } from '../export-fault.ts';

const TIMEOUT_MS = 3_000;

export interface CollectorProbe extends ExportFault {
  /** It answers, and has no place for this. */
  readonly isNotServed: boolean;
}

/** null: the collector takes it. */
export async function probeCollector(what: Exported, url: string): Promise<CollectorProbe | null> {
  const answers = watchAnswers(url);
  try {
    const error = (await sendNothing(what, url)) ?? answers.fault();
    return error === null ? null : { ...exportFault(what, url, error), isNotServed: isNotServed(error) };
  } finally {
    answers.close();
  }
}

type Sent = Parameters<Parameters<OTLPTraceExporter['export']>[1]>[0];

async function sendNothing(what: Exported, url: string): Promise<Error | null> {
  const { promise, resolve } = Promise.withResolvers<Sent>();
  const settings = { url, timeoutMillis: TIMEOUT_MS };
  const exporter = what === 'traces' ? new OTLPTraceExporter(settings) : new OTLPMetricExporter(settings);
  if (exporter instanceof OTLPTraceExporter) exporter.export([], resolve);
  else exporter.export({ resource: resourceFromAttributes({}), scopeMetrics: [] }, resolve);
  const { code, error } = await promise;
  await exporter.shutdown();
  return code === 0 ? null : (error ?? new Error('the export failed'));
}
