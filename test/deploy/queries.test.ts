/** Every query of dashboard, alerts and scaling names metrics and labels that a scrape has.
 *  It must not take a name from a document: only from what a process or its exporter writes. */
import { expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { parsePrometheus, type Sample } from '../support/prometheus-text.ts';
import { startService } from '../support/running-service.ts';
import { useRedis } from '../support/shared.ts';
import { metricsIn, queriesOfDeployment } from './queries.ts';
import { sampleMetrics } from './sample-metrics.ts';

const redis = useRedis();
const named = new Set(queriesOfDeployment().flatMap(({ expression }) => metricsIn(expression)));

function missingFrom(samples: readonly Sample[], names: Iterable<string>): string[] {
  const there = new Set(samples.map(({ name }) => name));
  return [...names].filter((name) => !there.has(name));
}

test('every metric that a query names is written by the exporter of the service', async () => {
  expect(named.size).toBeGreaterThan(30);
  expect(missingFrom(parsePrometheus(await sampleMetrics()()), named)).toEqual([]);
});

test('what workers are scaled by is served as soon as a worker has listed its lanes', async () => {
  const scaling = queriesOfDeployment().filter(({ of }) => of.startsWith('scaling'));
  expect(scaling).toHaveLength(3);
  await using service = await startService({ redisUrl: redis.url });
  const scrape = async (): Promise<Sample[]> =>
    parsePrometheus(await (await fetch(`${service.url}/metrics`)).text());
  const names = scaling.flatMap(({ expression }) => metricsIn(expression));
  // A scrape leaves out what Redis is too late with.
  await eventually(async () => missingFrom(await scrape(), names)).toEqual([]);
  const samples = await scrape();
  const states = samples.filter(({ name }) => name === 'adjutant_lane_depth').map(({ labels }) => labels);
  expect(states.map(({ state }) => state)).toEqual(expect.arrayContaining(['waiting', 'active']));
  expect(states.map(({ lane }) => lane)).toContain('tool.peer');
});

test('every label that a query selects or groups by is one of its metrics', async () => {
  const samples = parsePrometheus(await sampleMetrics()());
  const known = new Set([...samples.flatMap(({ labels }) => Object.keys(labels)), 'job', 'instance']);
  const used = queriesOfDeployment().flatMap(({ expression }) => [
    ...[...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(/,\s*/)),
    ...[...expression.matchAll(/[{,]\s*([a-z_]+)(?:=~?|!=)/g)].map(([, label = '']) => label),
  ]);
  expect(used.length).toBeGreaterThan(20);
  expect(used.filter((label) => !known.has(label))).toEqual([]);
});
