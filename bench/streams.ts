/** `npm run bench -- --only streams`: answers that are followed while they are written, beside reading the provider itself.
 *  It must not run both at once. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { table } from '../src/cli/table.ts';
import { type Child, freePort, spawnNode } from '../test/support/process.ts';
import type { TestRedis } from '../test/support/redis.ts';
import { type LatencySummary, summarizeLatencies } from './latency.ts';
import { middle } from './report.ts';
import type { Section } from './sections.ts';
import { processorTimeMs } from './processor-time.ts';

export interface Pace {
  /** Of each answer. */
  readonly pieces: number;
  /** Between two pieces of an answer, milliseconds. */
  readonly paceMs: number;
  /** Before the first piece, milliseconds. Default: another time for each answer. */
  readonly thinkingMs?: number;
}

export interface StreamPlan extends Pace {
  /** Answers at once, all of one worker. */
  readonly streams: number;
  /** How often they are read, one after the other. */
  readonly rounds: number;
}

/** What the readers saw; delays are from the provider's writing of a piece to the reader. */
export interface StreamReading {
  readonly elapsedMs: number;
  readonly pieces: number;
  /** In which they came: a delta may hold several. */
  readonly events: number;
  readonly delays: LatencySummary & { readonly mostMs: number };
  /** Of the first piece of each answer. */
  readonly firstMs: readonly number[];
}

/** All rounds; of the delays, those of the round with the median. */
export interface Row extends Omit<StreamReading, 'firstMs'> {
  readonly source: string;
  readonly first: LatencySummary;
  readonly costs: string;
  /** Of all processes but the provider, for each piece. */
  readonly cpuUs: number;
}

/** Longer than the slowest answer may take on a busy machine. */
const MOST_MS = 600_000;
/** Answers before any counts, of the readers' processes as well. */
export const WARM_UP = 20;

export async function benchStreams(redis: TestRedis, plan: StreamPlan): Promise<Section> {
  const { provider, providerUrl } = await startPacedProvider(plan);
  const config = await writeConfig(plan, providerUrl);
  const [worker, api] = await Promise.all([
    startRole(redis, 'worker', config),
    startRole(redis, 'api', config),
  ]);
  const apiUrl = /http:[\d.:/]+/.exec(api.lines.join('\n'))?.[0] ?? '';
  const parts = { redis: redis.pid, provider: provider.pid, worker: worker.pid, api: api.pid };
  const fromProvider = startReader('provider', providerUrl);
  const fromService = startReader('service', apiUrl);
  const fromEndpoint = startReader('provider', `${apiUrl}/openai`);
  const readers = [fromProvider, fromService, fromEndpoint];
  try {
    // Brings code and connections up to temperature, those of the readers too.
    for (const reader of readers) await readStreams(reader, WARM_UP);
    const idle = statusMiB(worker.pid, 'VmRSS');
    const alone = await measured('provider itself, fetch', { provider: parts.provider }, plan, fromProvider);
    const through = await measured('service, event stream', parts, plan, fromService);
    const endpoint = await measured('model endpoint, fetch', parts, plan, fromEndpoint);
    const after = statusMiB(worker.pid, 'VmRSS');
    const memory = `worker: ${idle} MiB resident before, ${after} after, ${statusMiB(worker.pid, 'VmHWM')} at most`;
    const figures = { ...figuresOf(plan, through), ...figuresOf(plan, endpoint, 'endpoint_') };
    return { text: report(plan, [alone, through, endpoint], memory), figures };
  } finally {
    for (const reader of readers) if (reader.connected) reader.disconnect();
    await Promise.all([worker, api, provider].map((child) => child.stop()));
  }
}

export async function startPacedProvider({ pieces, paceMs, thinkingMs }: Pace) {
  const port = await freePort();
  const pace = [pieces, paceMs, ...(thinkingMs === undefined ? [] : [thinkingMs])];
  const provider = await ready(
    spawnNode(['bench/stream-provider-process.ts', ...[port, ...pace].map(String)]),
  );
  return { provider, providerUrl: `http://127.0.0.1:${port}` };
}

export async function writeConfig({ streams }: StreamPlan, providerUrl: string): Promise<string> {
  const file = join(await mkdtemp(join(tmpdir(), 'adjutant-bench-')), 'adjutant.json');
  const lane = { concurrency: streams, timeout_ms: MOST_MS };
  const bench = { type: 'openai-compatible', base_url: `${providerUrl}/v1`, lane };
  await writeFile(file, JSON.stringify({ providers: { bench } }));
  return file;
}

export async function startRole(
  redis: TestRedis,
  role: 'api' | 'worker',
  configFile: string,
): Promise<Child> {
  const args = [resolve('src/cli/main.ts'), role, '--config', configFile];
  if (role === 'api') args.push('--port', '0');
  return ready(spawnNode(args, { env: { REDIS_URL: redis.url } }));
}

async function ready(child: Child): Promise<Child> {
  await child.waitForLine(/ready|works|listens on/);
  return child;
}

/** Ends when it is disconnected. */
export function startReader(source: 'service' | 'provider', url: string): ChildProcess {
  return fork(resolve('bench/stream-reader-process.ts'), [source, url]);
}

export async function readStreams(reader: ChildProcess, count: number): Promise<StreamReading> {
  const answered = new AbortController();
  const { signal } = answered;
  const ended = once(reader, 'exit', { signal }).then(([code]) => {
    throw new Error(`The readers ended with ${String(code)}.`);
  });
  ended.catch(() => {});
  reader.send(count);
  const [reading] = (await Promise.race([once(reader, 'message', { signal }), ended])) as [StreamReading];
  answered.abort();
  return reading;
}

export async function measured(
  source: string,
  parts: Readonly<Record<string, number>>,
  { pieces, streams, rounds }: StreamPlan,
  reader: ChildProcess,
): Promise<Row> {
  const before = Object.values(parts).map(processorTimeMs);
  const readings: StreamReading[] = [];
  for (let round = 0; round < rounds; round += 1) readings.push(await readStreams(reader, streams));
  const reading = sumUp(readings);
  if (reading.pieces !== pieces * streams * rounds)
    throw new Error(`${reading.pieces} pieces were read of ${pieces * streams * rounds}.`);
  let cpuUs = 0;
  const costs = Object.entries(parts).map(([name, pid], index) => {
    const usedMs = processorTimeMs(pid) - (before[index] ?? 0);
    if (name !== 'provider') cpuUs += (usedMs / reading.pieces) * 1_000;
    const perPieceUs = (usedMs / reading.pieces) * 1_000;
    return `${name} ${((usedMs / reading.elapsedMs) * 100).toFixed(0)} % (${perPieceUs.toFixed(0)})`;
  });
  return { ...reading, source, costs: costs.join(', '), cpuUs };
}

function sumUp(readings: readonly StreamReading[]): Omit<Row, 'source' | 'costs' | 'cpuUs'> {
  const sum = (of: (reading: StreamReading) => number): number =>
    readings.reduce((total, reading) => total + of(reading), 0);
  return {
    elapsedMs: sum(({ elapsedMs }) => elapsedMs),
    pieces: sum(({ pieces }) => pieces),
    events: sum(({ events }) => events),
    delays: middle(readings, ({ delays }) => delays.p50Ms).delays,
    first: summarizeLatencies(readings.flatMap(({ firstMs }) => firstMs)),
  };
}

/** Of the answers that came through the service. */
function figuresOf({ streams }: StreamPlan, { first, delays, cpuUs }: Row, of = ''): Record<string, number> {
  const name = String(streams);
  return {
    [`${of}first_piece_${name}_ms`]: first.p50Ms,
    [`${of}piece_${name}_ms`]: delays.p50Ms,
    [`${of}piece_${name}_us`]: cpuUs,
  };
}

function statusMiB(pid: number, field: 'VmRSS' | 'VmHWM'): string {
  const kib = new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return (Number(kib?.[1] ?? 0) / 1_024).toFixed(0);
}

const COLUMNS = [
  '',
  'pieces/s',
  'events/s',
  'delay p50 ms',
  'p99 ms',
  'most ms',
  'first p50 ms',
  'p99 ms',
  'CPU: % of a core (µs per piece)',
] as const;

function report(
  { streams, pieces, paceMs, rounds }: StreamPlan,
  rows: readonly Row[],
  memory: string,
): string {
  const often = rounds > 1 ? `, ${rounds} times` : '';
  const title = `${streams} answers at once of ${pieces} pieces, one every ${paceMs} ms${often}; one worker`;
  const lines = rows.map(({ source, elapsedMs, pieces: read, events, delays, first, costs }) => [
    source,
    ...[read, events].map((number) => ((number / elapsedMs) * 1_000).toFixed(0)),
    ...[delays.p50Ms, delays.p99Ms, delays.mostMs, first.p50Ms, first.p99Ms].map((ms) => ms.toFixed(2)),
    costs,
  ]);
  return `\n${title}\n${table([COLUMNS, ...lines]).join('\n')}\n${memory}`;
}
