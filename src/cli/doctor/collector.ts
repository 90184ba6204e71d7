// Examines whether the collector takes what is configured to be sent to it.
// Must never send it a span or a figure.
import { advice, fault, fine, type Finding } from './finding.ts';
import type { Config } from '../../config/config.ts';
import { type Exported, shownCollector } from '../../platform/telemetry/export-fault.ts';

/** Nothing where nothing is sent. */
export async function examineCollector({
  telemetry: { tracing },
  metrics: { isOn, otlp },
}: Pick<Config, 'telemetry' | 'metrics'>): Promise<Finding[]> {
  const asked: [Exported, string][] = [
    ...(tracing === null ? [] : [['traces', tracing.url] as [Exported, string]]),
    ...(otlp === null || !isOn ? [] : [['metrics', otlp.url] as [Exported, string]]),
  ];
  return Promise.all(asked.map(([what, url]) => collectorFinding(what, url)));
}

async function collectorFinding(what: Exported, url: string): Promise<Finding> {
  const { probeCollector } = await import('../../platform/telemetry/traces/collector-probe.ts');
  const found = await probeCollector(what, url);
  if (found === null) return fine(what, `the collector at ${shownCollector(url)} takes them`);
  const says = `the collector at ${found.collector} takes none: ${found.error}`;
  // Jaeger takes traces only.
  return (found.isNotServed && what === 'metrics' ? advice : fault)(what, says, found.fix);
}
