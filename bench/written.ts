/** `node --conditions=adjutant-source bench/written.ts [directives] [scenario]`: what an operation writes into the append-only file, command by command.
 *  It must say bytes, never times: so it may run on a busy machine. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { startRedis, type TestRedis } from '../test/support/redis.ts';
import { measure } from './measurement.ts';
import { SCENARIOS } from './scenarios.ts';

const DEFAULT_COUNT = 1_000;
const CONCURRENCY = 100;
const [count = DEFAULT_COUNT, name = 'noop', shown = ''] = [
  Number(process.argv[2] ?? DEFAULT_COUNT),
  process.argv[3],
  process.argv[4],
];
const scenario = SCENARIOS[name];
if (scenario === undefined) throw new Error(`There is no scenario ${name}.`);

const fileOf = async ({ dir }: TestRedis): Promise<string> => {
  const folder = join(dir, 'appendonlydir');
  const names = await readdir(folder);
  return join(folder, names.find((each) => each.endsWith('.incr.aof')) ?? '');
};

/** The commands of a piece of the file, each as its arguments. */
function* commandsOf(bytes: Buffer): Generator<{ args: string[]; size: number }> {
  let at = 0;
  const line = (): string => {
    const end = bytes.indexOf('\r\n', at);
    const text = bytes.toString('latin1', at, end);
    at = end + 2;
    return text;
  };
  while (at < bytes.length) {
    const from = at;
    const head = line();
    if (head.startsWith('#')) continue;
    const args = Array.from({ length: Number(head.slice(1)) }, () => {
      const length = Number(line().slice(1));
      const text = bytes.toString('latin1', at, at + length);
      at += length + 2;
      return text;
    });
    yield { args, size: at - from };
  }
}

/** Ids, numbers and instants away: what is left names the place. */
const placeOf = (text: string): string =>
  text
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<id>')
    .replaceAll(/\d{3,}/g, '<n>')
    .slice(0, 60);

const redis = await startRedis({ appendonly: true, args: ['--auto-aof-rewrite-percentage', '0'] });
const stage = await scenario.start(redis, 50);
let from = 0;
try {
  const warm = { count: 1, concurrency: 1 };
  await measure(scenario.transport, stage, { loads: [warm], counted: null });
  from = (await stat(await fileOf(redis))).size;
  await measure(scenario.transport, stage, {
    loads: [{ count, concurrency: CONCURRENCY }],
    counted: null,
  });
} finally {
  await stage.stop();
}
const bytes = (await readFile(await fileOf(redis))).subarray(from);
await redis.stop();

const sums = new Map<string, { times: number; size: number }>();
let nth = 0;
for (const { args, size } of commandsOf(bytes)) {
  nth += 1;
  if (shown !== '' && nth > 10_000 && nth < 10_000 + Number(shown)) console.log(JSON.stringify(args), size);
  const command = (args[0] ?? '').toUpperCase();
  const key = ['MULTI', 'EXEC', 'SELECT'].includes(command) ? command : `${command} ${placeOf(args[1] ?? '')}`;
  const sum = sums.get(key) ?? { times: 0, size: 0 };
  sums.set(key, { times: sum.times + 1, size: sum.size + size });
}
/** The warm-up of the measurement is in the file as well. */
const all = count + 500;
console.log(`${(bytes.length / all).toFixed(0)} bytes an operation`);
for (const [key, { times, size }] of [...sums].toSorted(([, a], [, b]) => b.size - a.size).slice(0, 40))
  console.log(`${(size / all).toFixed(1).padStart(8)}  ${(times / all).toFixed(2).padStart(6)} ×  ${key}`);
