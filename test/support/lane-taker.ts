/** The jobs of a lane as a worker takes them, with their claims, on a store of the test.
 *  It must never make an attempt. */
import type { ToolExec } from '../../src/contract/directive/work-directive.ts';
import { prepareScripts, type RunScript } from '../../src/store/scripts.ts';
import type { ClaimVerdict } from '../../src/store/request/verdicts.ts';
import { jobId } from '../../src/queue/job.ts';
import { type ClaimingLane, claimWords, createLaneClaims } from '../../src/queue/lane-claims.ts';
import { lanePrefix } from '../../src/queue/lane-registry.ts';
import { createKnownEmpty } from '../../src/queue/known-empty.ts';
import { createLaneTaker } from '../../src/queue/lane-taker.ts';
import { LANE } from './journal.ts';
import type { openStore } from './store.ts';

type OpenStore = Awaited<ReturnType<typeof openStore>>;

export type TakerOptions = Partial<Omit<ClaimingLane, 'words'>> & {
  leaseMs?: number;
  repeats?: boolean;
  script?: (run: RunScript) => RunScript;
  /** Slots. */
  free?: number;
};

/** A worker's view of the lane, with two slots unless the test says otherwise. `repeats`: each script runs twice, and the second answer is the one that arrives. */
export function takerOn(
  { connection, keys, journal }: Pick<OpenStore, 'connection' | 'keys' | 'journal'>,
  { repeats = false, script = (run) => run, free = 2, leaseMs = 60_000, ...more }: TakerOptions = {},
) {
  const once = prepareScripts(connection);
  const twice: RunScript = async (...given) => {
    await once(...given);
    return once(...given);
  };
  const slots = { free };
  const serial = keys.serial(LANE);
  const claims = createLaneClaims({
    words: claimWords({ lane: LANE, leaseMs, keyPrefix: keys.prefix, serial, owesStart: true }),
    sweep: keys.sweep,
    confirm: async () => null,
    reserve: () => slots.free > 0 && (slots.free -= 1) >= 0,
    release: () => void (slots.free += 1),
    mayGoOn: () => true,
    ...more,
  });
  const base = `${lanePrefix(keys.prefix, LANE)}:${LANE}:`;
  const run = script(repeats ? twice : once);
  const taker = createLaneTaker({ base, run, lockMs: 30_000, known: createKnownEmpty(), claims });
  const held = async ({ request_id, id }: ToolExec) => {
    const job = claims.heldJob(jobId(request_id, id));
    return job && { ...job, verdict: job.reply && (await journal.claimedWithJob(request_id, job.reply)) };
  };
  return { ...taker, claims, base, slots, held };
}

export const nameOf = ({ request_id, id }: ToolExec): string => jobId(request_id, id);

/** The claim of a directive that was granted; fails the test when it was not. */
export function granted({ request_id: requestId, id }: ToolExec, verdict: ClaimVerdict | null | undefined) {
  if (verdict?.kind !== 'granted') throw new Error(`not granted but ${verdict?.kind}`);
  return { requestId, id, fence: verdict.fence };
}
