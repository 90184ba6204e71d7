/** The table of metrics in docs/operations.md, from the names of src/telemetry/metric-names.ts.
 *  It must not describe a metric: its definition does. */
import { prometheusLabel, prometheusName } from '../src/telemetry/metric.ts';
import { METRIC_NAMES, METRICS } from '../src/telemetry/metric-names.ts';

const BEGIN = '<!-- The table below is written by scripts/generate-metrics.ts. -->';
const END = '<!-- The table above is written by scripts/generate-metrics.ts. -->';

/** The page with a new table. */
export function metricsPage(page: string): string {
  const [before, rest] = page.split(BEGIN);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined)
    throw new Error('docs/operations.md has lost the lines that its table stands between');
  return `${before}${BEGIN}\n\n${table()}\n${END}${after}`;
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
