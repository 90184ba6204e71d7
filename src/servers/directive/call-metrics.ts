/** The duration of each call as a metric, sent to a collector: by tool and outcome.
 *  Labels never have a value that a client chose. Loaded only with a collector. */
import { LABEL } from '../../platform/telemetry/metrics/metric.ts';
import { openMetricExport } from '../../platform/telemetry/metrics/metric-export.ts';
import { type CallExport, type CallReport, closeInTime } from './call-report.ts';

export interface CallMetricsOptions {
  /** Where OTLP metrics are posted. */
  readonly url: string;
  readonly intervalMs: number;
  readonly serviceName: string;
  readonly version: string;
}

export function openCallMetrics({ url, intervalMs, serviceName, version }: CallMetricsOptions): CallExport {
  const nothing = (): void => {};
  const { measure, close } = openMetricExport({
    resource: { 'service.name': serviceName, 'service.version': version },
    otlp: { url, intervalMs, onExported: nothing },
    readGauges: async () => [],
  });
  return {
    onCall: (report) => measure('directiveToolDuration', report.durationMs / 1_000, labelsOf(report)),
    close: async () => closeInTime(close),
  };
}

/** At most the five tools and `unknown`, each with the few codes of its errors. */
function labelsOf({ tool, errorCode }: CallReport): Record<string, string> {
  return {
    [LABEL.mcpMethod]: 'tools/call',
    [LABEL.toolName]: tool,
    ...(errorCode === null ? {} : { [LABEL.errorType]: String(errorCode) }),
  };
}
