/** `node --conditions=adjutant-source bench/written.ts [directives] [scenario]`: what an operation writes into the append-only file, command by command.
 *  It must say bytes, never times: so it may run on a busy machine. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { startRedis, type TestRedis } from '../test/support/redis.ts';
import { measure, WARM_UP } from './measurement.ts';
import { SCENARIOS } from './scenarios.ts';

const DEFAULT_COUNT = 1_000;
const CONCURRENCY = 100;
const SLOTS = 50;
const MOST_SHOWN = 40;
const [count, name] = [Number(process.argv[2] ?? DEFAULT_COUNT), process.argv[3] ?? 'noop'];
const scenario = SCENARIOS[name];
if (scenario === undefined)
  throw new Error(`no scenario ${name}: one of ${Object.keys(SCENARIOS).join(' ')}`);

async function fileOf({ dir }: TestRedis): Promise<string> {
  const folder = join(dir, 'appendonlydir');
  const names = await readdir(folder);
  return join(folder, names.find((each) => each.endsWith('.incr.aof')) ?? '');
}

/** The commands of a piece of the file, each as its arguments, and its bytes. */
function* commandsOf(bytes: Buffer): Generator<{ args: string[]; size: number }> {
  let at = 0;
  const line = (): string => {
    const end = bytes.indexOf('\r\n', at);
    const text = bytes.toString('latin1', at, end);
    at = end + 2;
    return text;
  };
  const argument = (): string => {
    const length = Number(line().slice(1));
    at += length + 2;
    return bytes.toString('latin1', at - length - 2, at - 2);
  };
  while (at < bytes.length) {
    const from = at;
    const head = line();
    if (!head.startsWith('*')) continue;
    yield { args: Array.from({ length: Number(head.slice(1)) }, argument), size: at - from };
  }
}

/** Ids and instants away: what is left names the place. */
function placeOf(text: string): string {
  return text
    .replaceAll(/\b(?:[0-9a-f-]{36}|[0-9a-v]{23}|d[0-9A-Za-z_-]{20})(?![0-9A-Za-z_-])/g, '<id>')
    .replace(/taken:.*/, 'taken:<place>')
    .slice(0, 60);
}

async function measured() {
  try {
    const loads = [{ count, concurrency: CONCURRENCY }];
    return await measure(transport, stage, { loads, counted: null });
  } finally {
    await stage.stop();
  }
}

const redis = await startRedis({ appendonly: true, args: ['--auto-aof-rewrite-percentage', '0'] });
const { transport } = scenario;
const stage = await scenario.start(redis, SLOTS);
const file = await fileOf(redis);
const { size: from } = await stat(file);
const { measurements } = await measured();
const bytes = (await readFile(file)).subarray(from);
await redis.stop();

const sums = new Map<string, { times: number; size: number }>();
for (const { args, size } of commandsOf(bytes)) {
  const place = `${(args[0] ?? '').toUpperCase()} ${placeOf(args[1] ?? '')}`;
  const sum = sums.get(place) ?? { times: 0, size: 0 };
  sums.set(place, { times: sum.times + 1, size: sum.size + size });
}
// What is run before anything counts is in the file as well.
const operations = count + WARM_UP;
const memory = measurements[0]?.memoryBytes ?? Number.NaN;
console.log(
  `an operation: ${(bytes.length / operations).toFixed(0)} bytes written, ${memory.toFixed(0)} in memory`,
);
for (const [place, { times, size }] of [...sums]
  .toSorted(([, a], [, b]) => b.size - a.size)
  .slice(0, MOST_SHOWN))
  console.log(
    `${(size / operations).toFixed(1).padStart(8)}  ${(times / operations).toFixed(2).padStart(6)} ×  ${place}`,
  );
