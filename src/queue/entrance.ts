// The way in, the same for a submission, a run's turn and a run's start: announce → accept → enqueue, in one script where one can.
// Must never accept what the sweeper could not find, nor enqueue what was refused.
import type { Announcement, WithAcceptance } from '../store/request/journal.ts';
import type { ChangedRequests } from '../store/index/changed-requests.ts';
import type { LaterIndex } from '../store/index/later-index.ts';
import { isShown, type SweepIndex } from '../store/index/sweep-index.ts';
import type { Ticket } from '../contract/directive/flow.ts';
import type { Confirm } from './durability.ts';
import type { GatedLanes } from './gated-lanes.ts';
import type { JobData } from './job.ts';
import type { Lanes } from './lanes.ts';

export interface LaneJob {
  lane: string;
  data: JobData;
  /** With what it enters the gate of the lane, which enqueues it when it may go. Default: it goes at once. */
  ticket?: Ticket;
}

export interface Entry<V> {
  requestId: string;
  /** Written before the acceptance: what is accepted and then never enqueued is found there. */
  announcements: readonly Announcement[];
  /** The one write that makes it durable. `together`: it announces as well, and enqueues where that names the lane. */
  accept(together?: WithAcceptance): Promise<V>;
  /** The jobs of what was accepted; null: it was refused. */
  jobsOf(verdict: V): readonly LaneJob[] | null;
  /** The lane of all jobs, where `accept` can enqueue them as well. */
  onlyLane?: string | undefined;
  /** The request that has something new. Default: `requestId`. */
  changes?(verdict: V): string;
  /** The ids that existed before, and begin as they were accepted then. Default: none. */
  wereThere?(verdict: V): readonly string[];
  /** The steps after the acceptance, beside the jobs; the sweeper repeats those that fail. */
  afterwards?(): Promise<void>;
}

export interface EntranceOptions {
  index: SweepIndex;
  later: Pick<LaterIndex, 'add' | 'announced'>;
  lanes: Lanes;
  gated: Pick<GatedLanes, 'enter'>;
  /** Begun before each acceptance; null = Redis' own durability. */
  confirm: () => Promise<Confirm | null>;
  /** Redis Cluster keeps no order between slots, so there each step waits for the one before it. */
  ordered: boolean;
  /** The list of requests that have changed. Default: requests are not listed. */
  changes?: Pick<ChangedRequests, 'note' | 'noteAhead' | 'rowAfterMs'>;
  /** Milliseconds on a clock that only goes forward. */
  now?: () => number;
}

export type Entrance = ReturnType<typeof createEntrance>;

/** The sweeper checks an entry this long after its acceptance, if it is still open. */
export const FIRST_LOOK_MS = 5_000;
/** With one acceptance: the largest batch and the note of its spans. Lua's stack bounds it. */
const MOST_ANNOUNCED = 1_001;
/** An acceptance slower than this may have been swept out of the index before it happened. */
const SLOW_ACCEPT_MS = 2_500;

export function createEntrance(options: EntranceOptions) {
  const { lanes, gated, ordered, now = () => performance.now() } = options;

  /** Returns once the entry is accepted, as durable as configured, and enqueued; or refused. Rejects when Redis does not answer. */
  async function enter<V>(entry: Entry<V>): Promise<V> {
    const confirm = await options.confirm();
    const together = togetherOf(options, entry);
    const verdict = await entered(entry, together);
    if (entry.jobsOf(verdict) === null) return verdict;
    if (!isNoted(together)) options.changes?.note(entry.changes?.(verdict) ?? entry.requestId);
    if (entry.announcements.some(({ later }) => later !== undefined)) options.later.announced();
    await confirm?.();
    return verdict;
  }

  async function entered<V>(entry: Entry<V>, together: WithAcceptance | undefined): Promise<V> {
    try {
      return await (together?.laneBase ? enterAtOnce(entry, together) : enterInSteps(entry, together));
    } catch (error) {
      // Redis may have accepted it and not answered.
      if (!isNoted(together)) options.changes?.note(entry.requestId);
      throw error;
    }
  }

  async function enterAtOnce<V>(entry: Entry<V>, together: WithAcceptance): Promise<V> {
    const verdict = await entry.accept(together);
    if (entry.jobsOf(verdict) !== null) await entry.afterwards?.().catch(() => {});
    return verdict;
  }

  async function enterInSteps<V>(entry: Entry<V>, together: WithAcceptance | undefined): Promise<V> {
    const begunAt = now();
    const announced = together ? Promise.resolve(NO_SCORES) : announce(options, entry);
    if (!ordered) await announced;
    const [verdict, scores] = await Promise.all([entry.accept(together), announced]);
    const jobs = entry.jobsOf(verdict);
    if (jobs === null) return verdict;
    // From here on it is durable: what fails now the sweeper does later.
    const isOwn = (entry.changes?.(verdict) ?? entry.requestId) === entry.requestId;
    if (now() - begunAt > SLOW_ACCEPT_MS && isOwn) await announce(options, entry, 0).catch(() => {});
    else await addLater(options.later, entry, verdict, scores).catch(() => {});
    await Promise.allSettled([dispatch(jobs), entry.afterwards?.()]);
    // What was there may have ended, and been forgotten, before its job came: the sweeper removes that.
    const mayBeStray = jobs.length > 0 && (entry.wereThere?.(verdict).length ?? 0) > 0;
    if (mayBeStray) await announce(options, entry).catch(() => {});
    return verdict;
  }

  async function dispatch(jobs: readonly LaneJob[]): Promise<void> {
    const open = jobs.filter(({ ticket }) => ticket === undefined);
    const entering = jobs.map(
      async ({ lane, data, ticket }) => ticket && gated.enter(lane, data, { ticket }),
    );
    await Promise.all([enqueueAll(lanes, open), ...entering]);
  }

  return { enter };
}

/** The writes that Redis makes as a whole or not at all; undefined: the steps stay separate. */
function togetherOf<V>(
  { ordered, lanes, changes }: EntranceOptions,
  entry: Entry<V>,
): WithAcceptance | undefined {
  const { requestId, announcements, onlyLane } = entry;
  if (!ordered || announcements.length > MOST_ANNOUNCED) return undefined;
  const laneBase = onlyLane === undefined ? null : lanes.scriptedBase(onlyLane);
  const rowAfterMs = isSwept(entry) ? null : (changes?.rowAfterMs(requestId) ?? null);
  return { rowAfterMs, announcements, laneBase };
}

/** Whether the sweeper notes it again. What ends as it is accepted it never sees, and what begins later only then. */
function isSwept({ requestId, announcements }: Pick<Entry<unknown>, 'requestId' | 'announcements'>): boolean {
  return announcements.some(({ id, later }) => later === undefined && isShown({ requestId, id }));
}

function isNoted(together: WithAcceptance | undefined): boolean {
  return together !== undefined && together.rowAfterMs !== null;
}

/** The entries by the time of the sweeper's check, milliseconds after the announcement. */
type Scores = ReadonlyMap<number, string>;
const NO_SCORES: Scores = new Map();

/** `afterMs`: instead of those of the entry. */
async function announce(
  { index, changes }: Pick<EntranceOptions, 'index' | 'changes'>,
  { requestId, announcements }: Pick<Entry<unknown>, 'requestId' | 'announcements'>,
  afterMs?: number,
): Promise<Scores> {
  const noted = isSwept({ requestId, announcements }) ? undefined : changes?.noteAhead(requestId);
  const byTime = Map.groupBy(announcements, (each) => afterMs ?? each.afterMs);
  const written = [...byTime].map(async ([ms, ids]): Promise<[number, string]> => {
    const refs = ids.map(({ id }) => ({ requestId, id }));
    return [ms, await index.announce(refs, ms)];
  });
  const scores = await Promise.all(written);
  await noted;
  return new Map(scores);
}

/**
 * A directive that begins later, announced in steps: until here it is in the sweep index like all others, which forgets
 * refused ones.
 */
async function addLater<V>(
  later: EntranceOptions['later'],
  entry: Entry<V>,
  verdict: V,
  scores: Scores,
): Promise<void> {
  if (scores.size === 0 || !entry.announcements.some((each) => each.later !== undefined)) return;
  const before = new Set(entry.wereThere?.(verdict));
  const accepted = entry.announcements.filter(({ id }) => !before.has(id));
  const moved = [...scores].map(async ([ms, score]) => {
    const begins = accepted.flatMap(({ id, afterMs, later: begin }) =>
      begin !== undefined && afterMs === ms ? [{ ...begin, id }] : [],
    );
    if (begins.length > 0) await later.add(entry.requestId, begins, score);
  });
  await Promise.all(moved);
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
