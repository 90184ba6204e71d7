// The way in, the same for a submission, a run's turn and a run's start: announce → accept → enqueue, in one script where one can.
// Must never accept what the sweeper could not find, nor leave a job behind for what was refused.
import type { WithAcceptance } from '../journal/journal.ts';
import type { SweepIndex } from '../journal/sweep-index.ts';
import type { Confirm } from './durability.ts';
import { type JobData, MAX_INLINE_BYTES } from './job.ts';
import type { Lanes } from './lanes.ts';
import type { LocalLanes } from './local-roles.ts';

export interface LaneJob {
  lane: string;
  data: JobData;
}

/** An index entry: if it is still open `afterMs` from now, by the clock of Redis, the sweeper looks at it. */
export interface Announcement {
  id: string;
  afterMs: number;
}

export interface Entry<V> {
  requestId: string;
  /** Written before the acceptance: what is accepted and then never enqueued is found there. */
  announcements: readonly Announcement[];
  /** The one write that makes it durable. `together`: it announces and enqueues as well. */
  accept(together?: WithAcceptance): Promise<V>;
  /** The jobs of what was accepted; null: it was refused. */
  jobsOf(verdict: V): readonly LaneJob[] | null;
  /** The only job, where no verdict changes it: it is sent in the same round trip as the acceptance. */
  only?: LaneJob | undefined;
  /** The lane of all jobs, where `accept` can announce and enqueue as well, and nothing else follows it. */
  onlyLane?: string | undefined;
  /** What else follows the acceptance, beside the jobs; the sweeper does what fails of it. */
  afterwards?(): Promise<void>;
  /** Whether the job of a refused entry belongs to nobody. Default: it always does. */
  isStray?(job: LaneJob, verdict: V): boolean | Promise<boolean>;
}

export interface EntranceOptions {
  index: SweepIndex;
  lanes: Lanes;
  /** What this process takes itself is not enqueued. */
  local: LocalLanes;
  /** Begun before each acceptance; null = Redis' own durability. */
  confirm: () => Promise<Confirm | null>;
  /** Redis Cluster keeps no order between slots, so there each step waits for the one before it. */
  ordered: boolean;
  /** Milliseconds on a clock that only goes forward. */
  now?: () => number;
}

export type Entrance = ReturnType<typeof createEntrance>;

/** The sweeper looks at what has entered this long after it, if it is still open. */
export const FIRST_LOOK_MS = 5_000;
/** An acceptance slower than this may have been swept out of the index before it happened. */
const SLOW_ACCEPT_MS = 2_500;

export function createEntrance(options: EntranceOptions) {
  const { lanes, local, ordered, now = () => performance.now() } = options;

  /** Returns once the entry is accepted, as durable as configured, and enqueued; or refused. Rejects when Redis does not answer. */
  async function enter<V>(entry: Entry<V>): Promise<V> {
    const confirm = await options.confirm();
    const together = togetherOf(entry);
    const verdict = await (together ? entry.accept(together) : enterInSteps(entry));
    if (entry.jobsOf(verdict) !== null) await confirm?.();
    return verdict;
  }

  /** Redis takes it whole or not at all; null: not of this entry. What this process takes itself has no job. */
  function togetherOf<V>({ announcements, onlyLane }: Entry<V>): WithAcceptance | null {
    if (onlyLane === undefined || !ordered || local.canTake(onlyLane)) return null;
    const laneBase = lanes.scriptedBase(onlyLane);
    return laneBase === null ? null : { announcements, laneBase, inlineBytes: MAX_INLINE_BYTES };
  }

  async function enterInSteps<V>(entry: Entry<V>): Promise<V> {
    const begunAt = now();
    const announced = announce(options.index, entry);
    if (!ordered) await announced;
    const accepting = entry.accept();
    const ahead = enqueueAhead(entry);
    const [verdict] = await Promise.all([accepting, announced]);
    const jobs = entry.jobsOf(verdict);
    if (jobs === null) {
      if (ahead) await removeStray(entry, verdict, ahead).catch(() => {});
      return verdict;
    }
    // From here on it is durable: what fails now the sweeper does later.
    if (now() - begunAt > SLOW_ACCEPT_MS) await announce(options.index, entry, 0).catch(() => {});
    await Promise.allSettled([ahead ?? dispatch(jobs), entry.afterwards?.()]);
    return verdict;
  }

  /** One job on one connection: Redis takes the three commands in this order, in one round trip. */
  function enqueueAhead<V>({ only }: Entry<V>): Promise<void> | undefined {
    if (only === undefined || !ordered || local.canTake(only.lane)) return undefined;
    const enqueued = lanes.enqueue(only.lane, only.data);
    enqueued.catch(() => {});
    return enqueued;
  }

  function dispatch(jobs: readonly LaneJob[]): Promise<void> {
    const left = jobs.filter(({ lane, data }) => !local.take(lane, data));
    return enqueueAll(lanes, left);
  }

  /** Where nobody serves the lane the job would stay for ever. */
  async function removeStray<V>(entry: Entry<V>, verdict: V, ahead: Promise<void>): Promise<void> {
    await ahead;
    if (entry.only === undefined || (await entry.isStray?.(entry.only, verdict)) === false) return;
    await lanes.removeJob(entry.only.lane, entry.requestId, entry.only.data.id);
  }

  return { enter };
}

/** `afterMs`: instead of those of the entry. */
async function announce(
  index: SweepIndex,
  { requestId, announcements }: Pick<Entry<unknown>, 'requestId' | 'announcements'>,
  afterMs?: number,
): Promise<void> {
  const byTime = Map.groupBy(announcements, (each) => afterMs ?? each.afterMs);
  const written = [...byTime].map(([ms, ids]) => {
    const refs = ids.map(({ id }) => ({ requestId, id }));
    return index.announce(refs, ms);
  });
  await Promise.all(written);
}

async function enqueueAll(lanes: Lanes, jobs: readonly LaneJob[]): Promise<void> {
  const byLane = Map.groupBy(jobs, ({ lane }) => lane);
  await Promise.all(
    [...byLane].map(([lane, [first, ...others]]) => {
      if (!first) return Promise.resolve();
      if (others.length === 0) return lanes.enqueue(lane, first.data);
      return lanes.enqueueAll(
        lane,
        [first, ...others].map(({ data }) => data),
      );
    }),
  );
}
