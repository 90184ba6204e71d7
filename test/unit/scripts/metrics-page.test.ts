/** The table of metrics in the documentation is that of the names, and the names are those that Prometheus takes.
 *  It must not repeat a name. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { metricsPage } from '../../../scripts/metrics-page.ts';
import { prometheusName } from '../../../src/platform/telemetry/metrics/metric.ts';
import { METRIC_NAMES, METRICS } from '../../../src/platform/telemetry/metrics/metric-names.ts';

test('docs/metrics.md has the table as it is', () => {
  const page = readFileSync('docs/metrics.md', 'utf8');
  expect(metricsPage(page)).toBe(page);
});

test('every name that the page mentions is one of the table', () => {
  const names = new Set(METRIC_NAMES.map((name) => prometheusName(METRICS[name])));
  const page = readFileSync('docs/metrics.md', 'utf8');
  const mentioned = [...page.matchAll(/`((?:adjutant|gen_ai|nodejs|process|http_server)_[a-z0-9_]+)`/g)];
  const unknown = mentioned.map(([, name = '']) => name).filter((name) => !names.has(name));
  // Labels of the conventions look like names.
  const labels = new Set(
    METRIC_NAMES.flatMap((name) => METRICS[name].labels.map((label) => label.replaceAll('.', '_'))),
  );
  expect(unknown.filter((name) => !labels.has(name))).toEqual([]);
});

test('names are what Prometheus takes, and differ', () => {
  const names = METRIC_NAMES.map((name) => prometheusName(METRICS[name]));
  expect(new Set(names).size).toBe(names.length);
  expect(names.filter((name) => !/^[a-z][a-z0-9_]*$/.test(name))).toEqual([]);
});
