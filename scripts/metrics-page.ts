/** The table of metrics in docs/metrics.md, from the names of src/platform/telemetry/metrics/metric-names.ts.
 *  It must not describe a metric: its definition does. */
import { prometheusLabel, prometheusName } from '../src/platform/telemetry/metrics/metric.ts';
import { METRIC_NAMES, METRICS } from '../src/platform/telemetry/metrics/metric-names.ts';
import { type GeneratedPage, withContent } from './generated-page.ts';

export const METRICS_PAGE: GeneratedPage = {
  page: 'docs/metrics.md',
  script: 'scripts/generate-metrics.ts',
};

/** The page with a new table. */
export function metricsPage(text: string): string {
  return withContent(METRICS_PAGE, text, table());
}

function table(): string {
  const rows = METRIC_NAMES.map((name) => {
    const metric = METRICS[name];
    const labels = metric.labels.map((label) => `\`${prometheusLabel(label)}\``).join(', ');
    return `| \`${prometheusName(metric)}\` | ${metric.kind} | ${labels} | ${metric.by} | ${metric.says} |`;
  });
  return ['| metric | kind | labels | of | what |', '| --- | --- | --- | --- | --- |', ...rows, ''].join(
    '\n',
  );
}
