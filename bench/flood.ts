/** `node --conditions=adjutant-source bench/flood.ts [waiting]`: how long single calls of one wait while another has so many waiting in the lane.
 *  It must not let the flood end before the last of them. */
import { performance } from 'node:perf_hooks';
import { openKeyedLane } from './keyed-lane.ts';

const DEFAULT_WAITING = 100_000;
const BATCH = 1_000;
const SINGLES = 40;
const SLOTS = 16;
/** Of each call. */
const TOOL_MS = 20;
const HOUR_MS = 3_600_000;
const waiting = Number(process.argv[2] ?? DEFAULT_WAITING);

await using lane = await openKeyedLane(
  { concurrency: SLOTS, max_queued: 2 * waiting },
  { max_open: 2 * waiting },
);
const { client } = lane;

const call = (fairness_key: string) => ({
  type: 'tool_exec' as const,
  tool_name: 'keyed.work',
  arguments: { key: fairness_key, label: '', ms: TOOL_MS },
  deadline_ms: HOUR_MS,
  fairness_key,
});

/** Milliseconds from the submission to the end, of single calls one after the other: the middle one, and the longest. */
async function singles(): Promise<{ middle: number; longest: number }> {
  const took: number[] = [];
  for (let nth = 0; nth < SINGLES; nth += 1) {
    const begunAt = performance.now();
    await client.execute(call('single'));
    took.push(performance.now() - begunAt);
  }
  const sorted = took.toSorted((a, b) => a - b);
  return { middle: sorted[SINGLES / 2] ?? 0, longest: sorted.at(-1) ?? 0 };
}

async function flood(): Promise<void> {
  for (let first = 0; first < waiting; first += BATCH) {
    const many = Array.from({ length: Math.min(BATCH, waiting - first) }, () => call('flood'));
    await client.submit(many);
  }
}

const waitingNow = async (): Promise<number> =>
  (await client.lanes()).lanes.find(({ name }) => name === 'tool.keyed')?.gated ?? 0;

const idle = await singles();
await flood();
const before = await waitingNow();
const flooded = await singles();
const after = await waitingNow();
const text = ({ middle, longest }: typeof idle): string =>
  `p50 ${middle.toFixed(0)} ms, longest ${longest.toFixed(0)} ms`;
process.stdout.write(`idle lane: ${text(idle)}\n`);
process.stdout.write(`beside ${before} to ${after} of another that wait: ${text(flooded)}\n`);
process.stdout.write(`ratio of the middle ones: ${(flooded.middle / idle.middle).toFixed(2)}\n`);
if (after < SLOTS) process.stdout.write('the flood ended too soon: this shows nothing\n');
