// Takes the jobs of one lane and hands them to the worker; the only place that knows BullMQ's control exceptions.
// Must never return a result to BullMQ, which would copy it into its event stream.
import { DelayedError, type Job, UnrecoverableError, Worker } from 'bullmq';
import { prepareScripts } from '../journal/scripts.ts';
import { pause } from '../lifecycle.ts';
import type { RedisConnection } from '../redis/connection.ts';
import { isJobData, type JobData } from './job.ts';
import { type ClaimingLane, createLaneClaims, type HeldJob, type LaneClaims } from './lane-claims.ts';
import { createLaneOffers, type LaneOffers } from './lane-offers.ts';
import { lanePrefix } from './lane-registry.ts';
import { laneScriptsOn } from './lane-scripts.ts';

/** What becomes of a job after it was handled: forgotten, or enqueued again at an instant (ms since the epoch). */
export type JobOutcome = (
  | {
      kind: 'done';
      /** The directive ended in this error: type and message, for whoever reads the failed jobs of a lane. Default: it did not. */
      failure?: string;
    }
  | {
      kind: 'later';
      at: number;
      /** The attempt that comes then. Default: the same as before. */
      attempt?: number;
    }
) & {
  /** What was recorded of its directive: null = success, else the type of its error. Absent: nothing was. */
  errorType?: string | null;
};

export interface ConsumeOptions {
  lane: string;
  prefix: string;
  connection: RedisConnection;
  /** Jobs at once in this process. */
  concurrency: number;
  /** How long BullMQ holds a job for a silent worker before it hands it out again, milliseconds. */
  lockMs: number;
  /** How often it looks for such jobs, milliseconds. */
  stalledCheckMs: number;
  /** `held`: the directive was claimed with the job; null: it is to be claimed. */
  handle: (job: JobData, held: HeldJob | null) => Promise<JobOutcome>;
  /** How directives are claimed as their jobs are taken, where one script can. Default: none is. */
  claiming?: ClaimingLane | undefined;
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

/** BullMQ only hands a stalled job out again; whether it may run is decided by the journal. */
const SHORT_WAIT_MS = 100;

const NEVER_GIVE_UP = 1_000_000_000;

/** As include-failed.lua keeps them; `age` in seconds. */
const KEPT_FAILED = { count: 1_000, age: 86_400 };

export function consumeLane(options: ConsumeOptions): LaneConsumer {
  const scripts = laneScriptsOn(options.connection, options.prefix);
  const workerOptions = {
    connection: options.connection,
    prefix: lanePrefix(options.prefix, options.lane),
    autorun: false,
    concurrency: options.concurrency,
    lockDuration: options.lockMs,
    stalledInterval: options.stalledCheckMs,
    maxStalledCount: NEVER_GIVE_UP,
    runRetryDelay: 500,
    removeOnComplete: { count: 0 },
    removeOnFail: KEPT_FAILED,
  };
  let goesOn = true;
  const claims = claimsOf(options, () => goesOn);
  const backend = claims ? scripts.claiming(claims) : scripts.backend;
  const worker = new Worker<JobData>(options.lane, processor(options, claims), workerOptions, backend);
  worker.on('error', (error) => {
    if (!isOfEnded(error, claims)) options.onError(error);
  });
  worker.on('failed', (_job, error) => {
    if (!(error instanceof UnrecoverableError)) options.onError(error);
  });
  let running: Promise<void> | undefined;
  return {
    lane: options.lane,
    async start() {
      await worker.waitUntilReady();
      const unused = await scripts.check();
      if (unused !== null) options.onError(new Error(unused));
      running ??= worker.run();
      running.catch(options.onError);
    },
    async pause() {
      goesOn = false;
      await takesNothingMore(claims);
      // It may have been resumed meanwhile.
      if (!goesOn) await worker.pause(true);
    },
    resume: () => {
      goesOn = true;
      worker.resume().catch(options.onError);
    },
    async stop() {
      goesOn = false;
      await takesNothingMore(claims);
      await worker.close();
    },
  };
}

/** What was handed over or taken ahead has been asked for. */
async function takesNothingMore(claims: LaneClaims | null): Promise<void> {
  await claims?.offers?.withdraw();
  await claims?.ready.none();
}

const NOT_RENEWED = /^could not renew lock for job (.+)$/;

/** The lock of a job that our scripts have ended, and of which BullMQ has not heard yet. */
function isOfEnded({ message }: Error, claims: LaneClaims | null): boolean {
  const id = NOT_RENEWED.exec(message)?.[1];
  return id !== undefined && claims !== null && claims.isEnding(id);
}

/** Milliseconds; 0 = the job goes back to its lane, or is done. */
function shortWait(outcome: JobOutcome): number {
  if (outcome.kind === 'done') return 0;
  const waitMs = outcome.at - Date.now();
  return waitMs <= SHORT_WAIT_MS ? Math.max(waitMs, 0) : 0;
}

/** `goesOn`: whether the lane is taken from. */
function claimsOf(options: ConsumeOptions, goesOn: () => boolean): LaneClaims | null {
  const { claiming, handle, onError } = options;
  if (claiming === undefined) return null;
  const mayGoOn = (): boolean => goesOn() && claiming.mayGoOn();
  const gate = { mayGoOn, reserve: () => goesOn() && claiming.reserve() };
  return createLaneClaims({ ...claiming, ...gate }, { offers: offersOf(options), handle, onError });
}

/** null: jobs of the lane are only taken. */
function offersOf({ claiming, connection, prefix, lane, lockMs }: ConsumeOptions): LaneOffers | null {
  if (claiming?.offering === undefined) return null;
  const base = `${lanePrefix(prefix, lane)}:${lane}:`;
  const options = { ...claiming.offering, base, run: prepareScripts(connection), lockMs };
  return createLaneOffers(options, claiming.offering.freeSlots);
}

/** Somebody else has added or changed it; its id may be of any length. */
function namedFor({ id = '' }: Pick<Job, 'id'>, lane: string): string {
  return `the job ${id.slice(0, 64)} of the lane ${lane}`;
}

/** BullMQ keeps its message as the job's `failedReason`, and no stack of it. */
function failed(reason: string): UnrecoverableError {
  return Object.assign(new UnrecoverableError(reason), { stack: '' });
}

function processor(
  { handle, lane, onError }: ConsumeOptions,
  claims: LaneClaims | null,
): (job: Job<JobData>, token?: string) => Promise<null> {
  return async (job, token) => {
    if (!isJobData(job.data)) {
      onError(new Error(`${namedFor(job, lane)} names no directive, and was dropped`));
      return null;
    }
    const id = job.id ?? '';
    let outcome: JobOutcome;
    try {
      outcome = await (claims?.begunJob(id) ?? handle(job.data, claims?.heldJob(id) ?? null));
      // BullMQ's timer is no finer than about 100 ms: a shorter wait is kept here, with the job in hand.
      for (let waitMs = shortWait(outcome); waitMs > 0; waitMs = shortWait(outcome)) {
        await pause(waitMs);
        outcome = await handle(job.data, null);
      }
    } catch (error) {
      // The sweeper finds its directive open.
      onError(error as Error);
      return null;
    }
    if (outcome.kind === 'done') {
      if (outcome.failure !== undefined && !claims?.hasEnded(id)) throw failed(outcome.failure);
      return null;
    }
    const { envelope: _envelope, ...data } = job.data;
    const { attempt = data.attempt } = outcome;
    if (attempt !== undefined && attempt !== data.attempt) await job.updateData({ ...data, attempt });
    await job.moveToDelayed(outcome.at, token);
    throw new DelayedError();
  };
}
