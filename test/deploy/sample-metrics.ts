// Every metric of the service, written by the real exporter with values of every label that a query names.
// Must never invent a name: metrics, labels and their spelling come from src/telemetry.
import { openMetricExport } from '../../src/platform/telemetry/metrics/metric-export.ts';
import { METRIC_NAMES, type MetricName, METRICS } from '../../src/platform/telemetry/metrics/metric-names.ts';

/** Of the labels that queries select by; others get one value. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  lane: ['tool.everything', 'llm.scripted', 'custom.webhook'],
  state: ['waiting', 'active', 'delayed'],
  outcome: ['succeeded', 'failed'],
};

type Labels = Readonly<Record<string, string>>;

/** A scrape of a service in which everything has happened; each call finds more. */
export function sampleMetrics(): () => Promise<string> {
  const gauges = METRIC_NAMES.filter((metric) => METRICS[metric].kind === 'gauge');
  const counted = METRIC_NAMES.filter((metric) => METRICS[metric].kind !== 'gauge');
  const { measure, scrape } = openMetricExport({
    resource: { 'service.name': 'adjutant' },
    otlp: null,
    readGauges: async () =>
      gauges.flatMap((metric) => labelSetsOf(metric).map((labels) => ({ metric, value: 1, labels }))),
  });
  return () => {
    for (const metric of counted) for (const labels of labelSetsOf(metric)) measure(metric, 1, labels);
    return scrape();
  };
}

function labelSetsOf(metric: MetricName): Labels[] {
  return METRICS[metric].labels.reduce<Labels[]>(
    (sets, label) =>
      sets.flatMap((set) => (VALUES[label] ?? ['some']).map((value) => ({ ...set, [label]: value }))),
    [{}],
  );
}
