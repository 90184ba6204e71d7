// The loop of one lane: takes jobs with their claims for free slots, has each attempt made, and ends it with the take of the next.
// Must never hold more jobs than slots, end a job for another worker, nor depend on being the only one that changes the lane.
import { Job, type RedisQueueBackend, UnrecoverableError, Worker } from 'bullmq';
import type { EndWithJob } from '../store/request/endings.ts';
import { prepareScripts, type ScriptReply } from '../store/scripts.ts';
import { pause } from '../platform/lifecycle.ts';
import type { RedisConnection } from '../platform/redis/connection.ts';
import { newClaimToken, newShortId } from '../platform/telemetry/identifier.ts';
import type { Handed } from './hand-over.ts';
import { isJobData, type JobData } from './job.ts';
import { createLaneOffers, type Offering } from './lane-offers.ts';
import { lanePrefix } from './lane-registry.ts';
import { RUN_LANE } from './run-wake.ts';
import { laneScriptsOn } from './lane-scripts.ts';
import {
  type Ask,
  askFor,
  type ClaimingLane,
  type Found,
  foundIn,
  type HeldJob,
  type JobFound,
  pushedClaim,
} from './lane-take.ts';

/** Outcome of a handled job: it ends, or is enqueued again at an instant (ms since the epoch). */
export type JobOutcome = (
  | {
      kind: 'done';
      /**
       * The error that the directive ended in: type and message, for readers of the failed jobs of a lane. Default:
       * none.
       */
      failure?: string;
    }
  | {
      kind: 'later';
      at: number;
      /** The attempt that comes then. Default: the same as before. */
      attempt?: number;
    }
) & {
  /** The recorded outcome of its directive: null: success, else the type of its error. Absent: none was recorded. */
  errorType?: string | null;
};

export interface ConsumeOptions {
  lane: string;
  prefix: string;
  connection: RedisConnection;
  /** Jobs at once in this process. */
  concurrency: number;
  /** How long a job is locked for a silent worker, milliseconds. */
  lockMs: number;
  /** Interval of BullMQ's checks for jobs without a lock, milliseconds. */
  stalledCheckMs: number;
  /** `held`: the directive was claimed with the job; null: it is to be claimed. */
  handle: (job: JobData, held: HeldJob | null) => Promise<JobOutcome>;
  /** How directives are claimed as their jobs are taken, where one script can. Default: none is. */
  claiming?: ClaimingLane | undefined;
  /** The announcement of idle slots while the lane is empty. Default: jobs are only pulled. */
  offering?: Offering | undefined;
  onError: (error: Error) => void;
}

export interface LaneConsumer {
  readonly lane: string;
  start(): Promise<void>;
  /** Takes nothing more until `resume`; what was taken goes on. */
  pause(): Promise<void>;
  resume(): void;
  /** Takes nothing more, and resolves when what was taken has been handled. */
  stop(): Promise<void>;
}

/** BullMQ's timer is no finer than about 100 ms: a shorter wait is kept here, with the job in hand. */
const SHORT_WAIT_MS = 100;
/** BullMQ only hands a stalled job out again; whether it may run is decided by the journal. */
const NEVER_GIVE_UP = 1_000_000_000;
/** As include-failed.lua keeps them; `age` in seconds. */
const KEPT_FAILED = { count: 1_000, age: 86_400 };
/** Most jobs of one script: Redis does nothing else meanwhile, and other workers may be idle too. */
const MOST_TAKEN = 16;
/** An empty lane is looked at so often, whatever its marker says. */
const LOOK_MS = 5_000;
/** Before the next try when Redis refuses, or does not answer. */
const FAILED_PAUSE_MS = 500;
/** A delayed job may be due a little before BullMQ's script thinks so. */
const SHORTEST_WAIT_MS = 2;

/** A lock is renewed so often before it runs out. */
const RENEWALS_PER_LOCK = 4;

/** A job that this process has. */
interface TakenJob {
  readonly id: string;
  readonly lock: string;
  /** null: it is no job of a directive or run. */
  readonly data: JobData | null;
  readonly held: HeldJob | null;
  /** As BullMQ's own script took it; null: ours did. */
  readonly theirs: Job | null;
  /** It has ended, and this was taken then. */
  next?: readonly TakenJob[];
  /** Its lock goes with its end, which is on its way. */
  isEnding?: boolean;
}

/** A job and its id, for how long the lane is limited, and when its next delayed job is due; milliseconds. */
type TheirReply = Awaited<ReturnType<RedisQueueBackend['moveToActive']>>;

type Later = Extract<JobOutcome, { kind: 'later' }>;

export function consumeLane(options: ConsumeOptions): LaneConsumer {
  const { lane, prefix, connection, concurrency, lockMs, claiming, offering, handle, onError } = options;
  const scripts = laneScriptsOn(connection, prefix);
  const run = prepareScripts(connection);
  // Without a processor: BullMQ's manual processing.
  const worker = new Worker<JobData>(lane, null, {
    connection,
    prefix: lanePrefix(prefix, lane),
    lockDuration: lockMs,
    // @guard takeover-3
    stalledInterval: options.stalledCheckMs,
    maxStalledCount: NEVER_GIVE_UP,
    removeOnComplete: { count: 0 },
    removeOnFail: KEPT_FAILED,
  });
  worker.on('error', onError);
  const backend = worker.getBackend();
  const base = backend.toKey('');
  const about = { lane, lockMs, sweep: claiming?.sweep ?? '' };
  /** The place where the last take is remembered: there is one at a time. */
  const place = newShortId();
  /** Taken jobs by their lock. */
  const running = new Map<string, TakenJob>();
  let isOpen = true;
  let isStopped = false;
  /** The last check found the lane empty, and no job is due before `dueAt` (0: none is). */
  let empty: { dueAt: number } | null = null;
  /** Jobs on their way, and requested checks: an answer from before a check does not say that the lane is empty. */
  let [coming, looks] = [0, 0];
  let changed = Promise.withResolvers<void>();
  let renewing: NodeJS.Timeout | undefined;

  const free = (): number => concurrency - running.size - coming;
  const mayGoOn = (): boolean => isOpen && !isStopped;
  const mayTake = (): boolean => mayGoOn() && free() > 0;
  const claimingNow = (): ClaimingLane | null => (claiming?.mayClaim() ? claiming : null);
  const offers = offering === undefined ? null : createLaneOffers({ ...offering, base, run, lockMs }, free);

  function wake(): void {
    changed.resolve();
    changed = Promise.withResolvers<void>();
  }

  async function serve(): Promise<void> {
    while (!isStopped) {
      try {
        if (!mayTake()) await changed.promise;
        else if (empty === null) await take();
        else await waitForWork(empty);
      } catch (error) {
        if (isStopped) return;
        onError(error as Error);
        await pause(FAILED_PAUSE_MS);
      }
    }
  }

  async function take(): Promise<void> {
    const most = Math.min(free(), MOST_TAKEN);
    coming += most;
    try {
      const jobs = scripts.fit() ? await pull(most) : await pullPlainly();
      coming -= most;
      for (const job of jobs) begin(job);
    } catch (error) {
      coming -= most;
      throw error;
    } finally {
      wake();
    }
  }

  async function pull(most: number): Promise<readonly TakenJob[]> {
    const by = claimingNow();
    const confirm = (await by?.confirm()) ?? null;
    const ask = askFor(about, by);
    // A claim that has to be confirmed comes with its job only where a worker can wait for that.
    const mayOffer = confirm === null && (by !== null || claiming === undefined);
    const found = await offeringSlots(mayOffer ? most : 0, true, async (offered) =>
      foundIn(await run('job-take', [base], [...ask.words(offered), place, most])),
    );
    if (found.kind === 'slow') return pullPlainly();
    const isDurable = confirm === null || (await confirm().then(always, never));
    return jobsIn(found, ask, { isDurable, endsAtOnce: confirm === null, looks });
  }

  /** Jobs of an answer; where it has none, the lane is known to be empty. */
  function jobsIn(
    found: Found,
    ask: Ask,
    how: { isDurable: boolean; endsAtOnce: boolean; looks: number },
  ): readonly TakenJob[] {
    if (found.kind === 'none' && how.looks === looks) empty = { dueAt: found.dueAt };
    return found.kind === 'jobs' ? found.jobs.map((job) => takenOf(job, ask, how)) : [];
  }

  function takenOf(
    { id, lock, data, claim }: JobFound,
    { askedAt }: Ask,
    { isDurable, endsAtOnce }: { isDurable: boolean; endsAtOnce: boolean },
  ): TakenJob {
    const given = dataIn(data);
    if (claim === null) return { id, lock, data: given, held: null, theirs: null };
    return claimed({ id, lock, data: given }, { verdict: isDurable ? claim : null, askedAt, endsAtOnce });
  }

  function claimed(
    job: Pick<TakenJob, 'id' | 'lock' | 'data'>,
    { endsAtOnce = true, ...claim }: Pick<HeldJob, 'verdict' | 'askedAt'> & { endsAtOnce?: boolean },
  ): TakenJob {
    let ask: Ask | undefined;
    let answer: ScriptReply | undefined;
    const end: EndWithJob = async (...given) => {
      ask ??= askFor(about, mayGoOn() ? claimingNow() : null);
      answer ??= await endWithDirective(taken, given, ask);
      return answer;
    };
    const held = { token: job.lock, ...claim, end: endsAtOnce ? end : undefined };
    const taken: TakenJob = { ...job, held, theirs: null };
    return taken;
  }

  /** Takes a job by BullMQ's own script, which knows of pauses, limits and delays. */
  async function pullPlainly(): Promise<readonly TakenJob[]> {
    const lock = newClaimToken();
    return theirsIn(await backend.moveToActive(lock), lock, looks);
  }

  function theirsIn(
    [json, id, limitedMs, dueAt]: TheirReply,
    lock: string,
    seen: number,
  ): readonly TakenJob[] {
    if (!json || id === undefined) {
      // A limit ends without a marker.
      if (seen === looks) empty = { dueAt: limitedMs > 0 ? Date.now() + limitedMs : (dueAt ?? 0) };
      return [];
    }
    const theirs = Job.fromJSON<JobData>(worker, json, id);
    return [{ id, lock, data: isJobData(theirs.data) ? theirs.data : null, held: null, theirs }];
  }

  /** Waits for a marker, or until something is due. */
  async function waitForWork({ dueAt }: { dueAt: number }): Promise<void> {
    const waitMs = Math.min(dueAt === 0 ? LOOK_MS : dueAt - Date.now(), LOOK_MS);
    if (waitMs <= 0) return look();
    const marker = await backend.waitForJob(Math.max(waitMs, SHORTEST_WAIT_MS) / 1_000);
    if (marker === null) return look();
    if (marker.score > Date.now()) {
      // A delayed job: this process looks when it is due, and others every few seconds.
      if (empty !== null) empty = { dueAt: Math.min(dueAt || Infinity, marker.score) };
    } else if (mayTake()) look();
    // @guard offer-marker
    else await mark();
  }

  /** Wakes the loop of one worker that waits. */
  async function mark(): Promise<void> {
    await connection.zadd(backend.toKey('marker'), 'LT', 0, '0');
  }

  function look(): void {
    looks += 1;
    empty = null;
  }

  /** `slots`: those that become free where the script finds nothing. */
  async function offeringSlots(
    slots: number,
    areAll: boolean,
    ask: (offered: string) => Promise<Found>,
  ): Promise<Found> {
    const prepared = slots > 0 ? (offers?.prepare(slots, areAll) ?? null) : null;
    let found: Found | undefined;
    try {
      found = await ask(prepared?.text ?? '');
      return found;
    } finally {
      prepared?.settle(found);
    }
  }

  function begin(job: TakenJob): void {
    running.set(job.lock, job);
    void handleJob(job);
  }

  async function handleJob(job: TakenJob): Promise<void> {
    try {
      const outcome = await outcomeOf(job);
      if (job.next === undefined) await settle(job, outcome);
    } catch (error) {
      onError(error as Error);
    }
    running.delete(job.lock);
    for (const next of job.next ?? []) begin(next);
    wake();
  }

  async function outcomeOf({ id, data, held }: TakenJob): Promise<JobOutcome> {
    if (data === null) {
      onError(
        new Error(`the job ${id.slice(0, 64)} of the lane ${lane} names no directive, and was dropped`),
      );
      return { kind: 'done' };
    }
    try {
      let outcome = await handle(data, held);
      for (let waitMs = shortWait(outcome); waitMs > 0; waitMs = shortWait(outcome)) {
        await pause(waitMs);
        outcome = await handle(data, null);
      }
      return outcome;
    } catch (error) {
      // The sweeper finds its directive open.
      onError(error as Error);
      return { kind: 'done' };
    }
  }

  async function settle(job: TakenJob, outcome: JobOutcome): Promise<void> {
    job.isEnding = true;
    if (outcome.kind === 'later') return delay(job, outcome);
    const { id, lock, theirs } = job;
    // BullMQ's script would forget that the run was woken meanwhile.
    const isTurn = job.data?.type === 'run' && scripts.fit();
    if (theirs === null || isTurn) {
      await run('job-done', [base], [id, lock, outcome.failure ?? '']);
      // Where the lane is limited, the end of one job lets the next one begin.
      if (theirs !== null) await mark();
      return;
    }
    const seen = looks;
    // Where the lane is limited, the end of one job lets the next one begin, and no marker says so.
    const next = await (outcome.failure === undefined
      ? theirs.moveToCompleted(null, lock, mayGoOn())
      : theirs.moveToFailed(failed(outcome.failure), lock, mayGoOn()));
    if (Array.isArray(next)) job.next = theirsIn(next as unknown as TheirReply, lock, seen);
  }

  async function delay({ id, lock, theirs }: TakenJob, { at, attempt }: Later): Promise<void> {
    const job = theirs ?? (await Job.fromId<JobData>(worker, id));
    if (!job) return;
    if (attempt !== undefined && attempt !== job.data.attempt) await job.updateData({ ...job.data, attempt });
    await job.moveToDelayed(at, lock);
    if (theirs !== null) await mark();
  }

  /** However often it is asked for, it is one end, and takes one job. */
  async function endWithDirective(
    job: TakenJob,
    [keys, args, { texts, failure }]: Parameters<EndWithJob>,
    ask: Ask,
  ): Promise<ScriptReply> {
    let verdict: ScriptReply = [];
    const seen = looks;
    job.isEnding = true;
    const found = await offeringSlots(ask.claims ? 1 : 0, false, async (offered) => {
      const given = [...args, job.id, job.lock, failure, ask.claims ? 1 : 0, ...ask.words(offered), ...texts];
      const [ended = [], then = []] = pairOf(
        await run('job-end', [...keys, runLaneBase(prefix), base], given),
      );
      verdict = ended;
      return foundIn(then);
    });
    if (found.kind === 'slow') await mark();
    job.isEnding = found.kind !== 'kept';
    if (found.kind !== 'kept' && found.kind !== 'lost')
      job.next = jobsIn(found, ask, { isDurable: true, endsAtOnce: true, looks: seen });
    return verdict;
  }

  /** A job that was pushed to this process: it begins, or where no slot is free another worker takes it. */
  async function takeHanded(handed: Handed): Promise<void> {
    if (offers === null || offering === undefined) return;
    offers.used(handed);
    const lock = `${offers.process}.${handed.slot}`;
    const data = dataIn(handed.data);
    // @guard offer-full
    if (data !== null && mayTake() && (claiming === undefined || claimingNow() !== null)) {
      const job = { id: handed.name, lock, data };
      // @guard offer-fresh
      const askedAt = offers.instantOf(handed.at);
      return begin(
        claiming === undefined
          ? { ...job, held: null, theirs: null }
          : claimed(job, { verdict: pushedClaim(handed), askedAt }),
      );
    }
    const { request_id = '', id = '' } = data ?? {};
    await run('offer-return', [base], [handed.name, lock, offering.keyPrefix, request_id, id]);
  }

  async function renew(): Promise<void> {
    const jobs = [...running.values()];
    if (jobs.length === 0) return;
    const ids = jobs.map(({ id }) => id);
    const locks = jobs.map(({ lock }) => lock);
    for (const id of await backend.extendLocks(ids, locks, lockMs)) {
      const lost = jobs.find((job) => job.id === id && job.isEnding !== true && running.has(job.lock));
      if (lost)
        onError(new Error(`another worker may take the job ${id} of the lane ${lane}: its lock is gone`));
    }
  }

  /** Resolves when no job is on its way, nor running where `all`. */
  async function settled(all: boolean): Promise<void> {
    while (coming > 0 || (all && running.size > 0)) await changed.promise;
  }

  return {
    lane,
    async start() {
      await worker.waitUntilReady();
      const unused = await scripts.check();
      if (unused !== null) onError(new Error(unused));
      offering?.handOver.join(lane, (handed) => void takeHanded(handed).catch(onError));
      // @guard offer-lock
      renewing ??= setInterval(() => void renew().catch(onError), lockMs / RENEWALS_PER_LOCK);
      worker.startStalledCheckTimer().catch(onError);
      void serve();
    },
    async pause() {
      isOpen = false;
      await settled(false);
      // It may have been resumed meanwhile.
      if (!isOpen) await offers?.withdraw();
    },
    resume() {
      isOpen = true;
      look();
      wake();
    },
    async stop() {
      isStopped = true;
      wake();
      await backend.disconnectBlocking(false).catch(() => {});
      await settled(false);
      // @guard offer-withdrawn +1
      await offers?.withdraw();
      await settled(true);
      clearInterval(renewing);
      await worker.close();
    },
  };
}

function runLaneBase(prefix: string): string {
  return `${lanePrefix(prefix, RUN_LANE)}:${RUN_LANE}:`;
}

const always = (): boolean => true;
const never = (): boolean => false;

/** null: another tool has added or changed it. */
function dataIn(json: string): JobData | null {
  try {
    const data: unknown = JSON.parse(json);
    return isJobData(data) ? data : null;
  } catch {
    return null;
  }
}

/** BullMQ keeps its message as the job's `failedReason`, and no stack of it. */
function failed(reason: string): UnrecoverableError {
  return Object.assign(new UnrecoverableError(reason), { stack: '' });
}

/** Milliseconds; 0 = the job goes back to its lane, or is done. */
function shortWait(outcome: JobOutcome): number {
  if (outcome.kind === 'done') return 0;
  const waitMs = outcome.at - Date.now();
  return waitMs <= SHORT_WAIT_MS ? Math.max(waitMs, 0) : 0;
}

/** As job-end.lua answers: what became of the directive, and what was taken. */
function pairOf(reply: ScriptReply): readonly ScriptReply[] {
  return reply as unknown as readonly ScriptReply[];
}
