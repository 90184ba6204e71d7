// A real Prometheus that scrapes what the exporter of the service writes, and is asked every query of deploy/.
// Must never listen anywhere but on a free port of 127.0.0.1.
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parse } from 'yaml';
import { freePort, spawnProcess } from '../support/process.ts';
import { comparedBy, queriesOfDeployment } from './queries.ts';
import { demand } from './report.ts';
import { sampleMetrics } from './sample-metrics.ts';

/** The first scrape comes seconds after the start, and a rate needs two. */
const LONGEST_MS = 60_000;
const ROLES = ['api', 'engine', 'worker'];

export async function answersQueries(program: string, folder: string): Promise<void> {
  const scrape = sampleMetrics();
  const server = createServer((_request, response) => {
    void scrape().then((text) => response.setHeader('content-type', 'text/plain; version=0.0.4').end(text));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const port = await freePort();
  const config = configIn(folder, (server.address() as AddressInfo).port);
  const prometheus = spawnProcess(program, [
    `--config.file=${config}`,
    `--storage.tsdb.path=${join(folder, 'prometheus')}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ]);
  try {
    await allAnswered(`http://127.0.0.1:${port}`);
    await scrapesEachRole(`http://127.0.0.1:${port}`);
    await scalesByOneNumber(`http://127.0.0.1:${port}`);
  } finally {
    await prometheus.stop();
    server.close();
    server.closeAllConnections();
  }
}

/** The job of a cluster, with pods that are named here instead of found, and their two ports. */
function configIn(folder: string, port: number): string {
  mkdirSync(join(folder, 'prometheus'));
  const [job] = (parse(readFileSync('deploy/prometheus/kubernetes.yml', 'utf8')) as Scrapes).scrape_configs;
  const { kubernetes_sd_configs: _, ...own } = job;
  const pods = ROLES.flatMap((role) => ['metrics', 'http'].map((name) => podOf(role, name, port)));
  const path = join(folder, 'prometheus.json');
  const scraped = { ...own, static_configs: pods };
  // JSON is YAML.
  writeFileSync(path, JSON.stringify({ global: { scrape_interval: '1s' }, scrape_configs: [scraped] }));
  return path;
}

interface Scrapes {
  readonly scrape_configs: readonly [{ readonly kubernetes_sd_configs: unknown }];
}

function podOf(role: string, portName: string, port: number) {
  const labels = {
    __meta_kubernetes_pod_name: `${role}-0`,
    __meta_kubernetes_pod_label_app_kubernetes_io_name: 'adjutant',
    __meta_kubernetes_pod_label_app_kubernetes_io_component: role,
    __meta_kubernetes_pod_container_port_name: portName,
  };
  return { targets: [`127.0.0.1:${port}`], labels };
}

/** One of each role, each on its port for metrics only. */
async function scrapesEachRole(url: string): Promise<void> {
  const found = (await resultOf(url, 'up == 1'))
    .map(({ metric }) => metric['job'] ?? '')
    .toSorted((a, b) => a.localeCompare(b));
  const expected = ROLES.map((role) => `adjutant-${role}`);
  demand(found.join() === expected.join(), `it scrapes ${found.join()}`);
}

/** A comparison is asked for what it compares. */
async function allAnswered(url: string): Promise<void> {
  const endsAt = performance.now() + LONGEST_MS;
  let open = queriesOfDeployment();
  while (open.length > 0 && performance.now() < endsAt) {
    const answered = await Promise.all(open.map(async ({ expression }) => isAnswered(url, expression)));
    open = open.filter((_, index) => answered[index] === false);
    await pause(500);
  }
  demand(open.length === 0, `no answer to ${open.map(({ of }) => of).join(', ')}`);
}

/** The sample has 1 in each state of three lanes, and three processes report it: each lane counts once, without what is delayed. */
const WORK: Readonly<Record<string, string>> = {
  'keda/worker': '6',
  'lanes/tools': '4',
  'lanes/models': '2',
};

/** KEDA takes one number, and refuses more. */
async function scalesByOneNumber(url: string): Promise<void> {
  const scaling = queriesOfDeployment().filter(({ of }) => of.startsWith('scaling'));
  demand(scaling.length === Object.keys(WORK).length, `${scaling.length} scaling queries`);
  for (const { of, expression } of scaling) {
    const [, expected] = Object.entries(WORK).find(([path]) => of.includes(path)) ?? [];
    const found = (await resultOf(url, expression)).map(({ value }) => value[1]);
    demand(found.join() === expected, `${of} has ${found.join()} instead of ${expected}`);
  }
}

async function isAnswered(url: string, expression: string): Promise<boolean> {
  return (await resultOf(url, comparedBy(expression)).catch(() => [])).length > 0;
}

type Vector = readonly {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [atSeconds: number, value: string];
}[];

/** A panel replaces the interval by what fits its width. */
export async function resultOf(url: string, expression: string): Promise<Vector> {
  const query = encodeURIComponent(expression.replaceAll('$__rate_interval', '1m'));
  const answer = await fetch(`${url}/api/v1/query?query=${query}`);
  return ((await answer.json()) as { data?: { result: Vector } }).data?.result ?? [];
}
