/** `node --conditions=adjutant-source bench/flood.ts [waiting]`: how long a single call of one waits until its tool begins, while another has so many waiting in the lane.
 *  It must not let the flood end before the last of them. */
import { randomUUID } from 'node:crypto';
import { openKeyedLane } from './keyed-lane.ts';

const DEFAULT_WAITING = 100_000;
const BATCH = 1_000;
const SINGLES = 40;
const SLOTS = 32;
/** Of each call: with the slots, what one process can do beside the client and the tools, so that processor time is not what is measured. */
const TOOL_MS = 100;
const HOUR_MS = 3_600_000;
const waiting = Number(process.argv[2] ?? DEFAULT_WAITING);

await using lane = await openKeyedLane(
  { concurrency: SLOTS, max_queued: 2 * waiting },
  { max_open: 2 * waiting },
);
const { client, calls } = lane;

const call = (fairness_key: string, label = '') => ({
  type: 'tool_exec' as const,
  tool_name: 'keyed.work',
  arguments: { key: fairness_key, label, ms: TOOL_MS },
  deadline_ms: HOUR_MS,
  fairness_key,
});

/** Milliseconds from the submission until the tool begins, of single calls one after the other: the middle one, and the longest. */
async function singles(): Promise<{ middle: number; longest: number }> {
  const waits: number[] = [];
  for (let nth = 0; nth < SINGLES; nth += 1) {
    const label = randomUUID();
    const submittedAt = Date.now();
    await client.execute(call('single', label));
    const begun = calls.findLast((each) => each.label === label);
    if (begun !== undefined) waits.push(begun.beganAt - submittedAt);
  }
  const sorted = waits.toSorted((a, b) => a - b);
  return { middle: sorted[SINGLES / 2] ?? Number.NaN, longest: sorted.at(-1) ?? Number.NaN };
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
process.stdout.write(`until the tool begins, idle lane: ${text(idle)}\n`);
process.stdout.write(`beside ${before} to ${after} of another that wait: ${text(flooded)}\n`);
process.stdout.write(`ratio of the middle ones: ${(flooded.middle / idle.middle).toFixed(2)}\n`);
if (after < SLOTS) process.stdout.write('the flood ended too soon: this shows nothing\n');
