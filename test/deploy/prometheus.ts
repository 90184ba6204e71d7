// A real Prometheus that scrapes what the exporter of the service writes, and is asked every query of deploy/.
// Must never listen anywhere but on a free port of 127.0.0.1.
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort, spawnProcess } from '../support/process.ts';
import { comparedBy, queriesOfDeployment } from './queries.ts';
import { demand } from './report.ts';
import { sampleMetrics } from './sample-metrics.ts';

/** The first scrape comes seconds after the start, and a rate needs two. */
const LONGEST_MS = 60_000;
const JOBS = ['adjutant-api', 'adjutant-engine', 'adjutant-worker'];

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
  } finally {
    await prometheus.stop();
    server.close();
    server.closeAllConnections();
  }
}

function configIn(folder: string, port: number): string {
  mkdirSync(join(folder, 'prometheus'));
  const jobs = JOBS.map((job) => ({ job_name: job, static_configs: [{ targets: [`127.0.0.1:${port}`] }] }));
  const path = join(folder, 'prometheus.json');
  // JSON is YAML.
  writeFileSync(path, JSON.stringify({ global: { scrape_interval: '1s' }, scrape_configs: jobs }));
  return path;
}

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

/** A panel replaces the interval by what fits its width. A comparison is asked for what it compares. */
async function isAnswered(url: string, expression: string): Promise<boolean> {
  const query = encodeURIComponent(comparedBy(expression).replaceAll('$__rate_interval', '1m'));
  const answer = await fetch(`${url}/api/v1/query?query=${query}`).catch(() => null);
  if (answer === null) return false;
  const { data } = (await answer.json()) as { data?: { result: unknown[] } };
  return (data?.result.length ?? 0) > 0;
}
