/** `node --conditions=adjutant-source bench/flood.ts [waiting]`: how long a single call of one waits until its tool begins, while another has so many waiting in its
 *  lane; beside an idle lane, before, and of the same worker at the same time. It must not let the flood end before the last of them. */
import { setTimeout as pause } from 'node:timers/promises';
import { createHttpClient } from '../src/client/http-client.ts';
import { startRedis } from '../test/support/redis.ts';
import { machineTimeMs } from './processor-time.ts';
import { startPaced } from './scenarios.ts';

const DEFAULT_WAITING = 100_000;
const BATCH = 1_000;
const SINGLES = 100;
const SLOTS = 32;
/** Of each call of the flood, on average: with the slots, what two cores can do beside Redis, the API and the client. They differ, so that they do not end in step. */
const TOOL_MS = 100;
/** The longest between two single calls: they come at any moment. */
const PAUSE_MS = 40;
const HOUR_MS = 3_600_000;
const waiting = Number(process.argv[2] ?? DEFAULT_WAITING);

await using redis = await startRedis();
await using started = new AsyncDisposableStack();
const stage = await startPaced(redis, { lanes: ['flooded', 'idle'], slots: SLOTS, mostOpen: 2 * waiting });
started.defer(() => stage.stop());
const client = createHttpClient({ baseUrl: stage.target.baseUrl });

type Lane = 'flooded' | 'idle';

const call = (lane: Lane, fairness_key: string, ms: number) => ({
  type: 'tool_exec' as const,
  tool_name: `${lane}.work`,
  arguments: { ms },
  deadline_ms: HOUR_MS,
  fairness_key,
});

/** Milliseconds from the submission until the tool begins. */
async function single(lane: Lane): Promise<number> {
  await pause(Math.random() * PAUSE_MS);
  const submittedAt = performance.timeOrigin + performance.now();
  const { data } = await client.execute(call(lane, 'single', 0));
  const beganAt = 'result' in data && data.result.ok ? Number(data.result.payload) : Number.NaN;
  if (Number.isNaN(beganAt)) throw new Error(`It has not begun: ${JSON.stringify(data)}`);
  return beganAt - submittedAt;
}

/** One after the other, in turns over the lanes. */
async function singles(...lanes: readonly Lane[]): Promise<Waits[]> {
  const machineAt = machineTimeMs();
  const startedAt = performance.now();
  const waits = lanes.map((): number[] => []);
  for (let nth = 0; nth < SINGLES; nth += 1)
    for (const [at, lane] of lanes.entries()) waits[at]?.push(await single(lane));
  const cores = (machineTimeMs() - machineAt) / (performance.now() - startedAt);
  return waits.map((each) => ({ cores, sorted: each.toSorted((a, b) => a - b) }));
}

interface Waits {
  readonly sorted: readonly number[];
  /** Of the machine, busy meanwhile. */
  readonly cores: number;
}

const part = ({ sorted }: Waits, share: number): number =>
  sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN;

async function flood(): Promise<void> {
  for (let first = 0; first < waiting; first += BATCH) {
    const size = Math.min(BATCH, waiting - first);
    await client.submit(Array.from({ length: size }, () => call('flooded', 'flood', lastingMs())));
  }
}

const lastingMs = (): number => Math.round(TOOL_MS * (0.5 + Math.random()));

const waitingNow = async (): Promise<number> =>
  (await client.lanes()).lanes.find(({ name }) => name === 'tool.flooded')?.gated ?? 0;

function say(what: string, waits: Waits): void {
  const [middle, most] = [part(waits, 0.5), part(waits, 0.9)].map((ms) => ms.toFixed(1));
  process.stdout.write(`${what}: p50 ${middle} ms, p90 ${most} ms; ${waits.cores.toFixed(1)} cores busy\n`);
}

await singles('flooded', 'idle');
const [before] = (await singles('idle')) as [Waits];
await flood();
const floodedAt = await waitingNow();
const [flooded, beside] = (await singles('flooded', 'idle')) as [Waits, Waits];
const left = await waitingNow();
if (left < SLOTS) throw new Error('The flood ended too soon: this shows nothing.');
say('idle lane, nothing else', before);
say('idle lane of the worker, beside the flood of the other', beside);
say(`lane with ${floodedAt} to ${left} of another that wait`, flooded);
const ratio = (to: Waits): string => (part(flooded, 0.5) / part(to, 0.5)).toFixed(2);
process.stdout.write(`ratio of p50: ${ratio(before)} to nothing else, ${ratio(beside)} beside the flood\n`);
