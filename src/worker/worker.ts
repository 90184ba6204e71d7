// A worker: serves lanes, makes attempts, and stops without losing any.
// Must never stop taking care of an attempt before it has been recorded.
import { modelLane } from '../contract/model/model-name.ts';
import type { KeySpace } from '../store/keys.ts';
import { isToolLane } from '../store/catalog/route.ts';
import { createLaneLimits } from '../store/catalog/lane-limits.ts';
import { consumeLane, type ConsumeOptions, type JobOutcome, type LaneConsumer } from '../queue/consume.ts';
import type { HandOver } from '../queue/hand-over.ts';
import type { JobData } from '../queue/job.ts';
import type { HeldJob } from '../queue/lane-take.ts';
import { type Deadline, settledWithin } from '../platform/lifecycle.ts';
import type { RedisConnection } from '../platform/redis/connection.ts';
import { attemptDirective } from './attempt/attempt.ts';
import type { AttemptParts } from './attempt/claimed.ts';
import type { LaneRates } from './lane-rates.ts';
import { createSharedLimits } from './shared-limits.ts';

/** One lane a worker serves. */
export interface ServedLane {
  name: string;
  /** Attempts at once in this process. */
  concurrency: number;
  /** Attempts at once over all workers; null = no such limit. */
  globalConcurrency: number | null;
  /** Attempts that begin in a period over all workers; null = no such limit. */
  rate: { max: number; per_ms: number } | null;
  /** All calls of the lane may be made twice. Default: some may not. */
  mayRepeat?: boolean;
  /** One attempt at a time over all workers, whatever freezes and whatever other workers are configured with. */
  serial?: boolean;
}

export interface WorkerOptions {
  attempt: AttemptParts;
  connection: RedisConnection;
  keys: KeySpace;
  serves: readonly ServedLane[];
  /** How work is handed over to it. Default: it takes its jobs. */
  handOver?: HandOver | undefined;
  /** Rates of the last minute. Default: not counted. */
  rates?: Pick<LaneRates, 'of'>;
  /** How long a stop waits for running attempts before it aborts them, milliseconds. */
  drainMs: number;
  /** BullMQ's lock on a job and its interval of checks for dead ones, milliseconds. */
  lockMs: number;
  stalledCheckMs: number;
  onError(error: Error): void;
}

const MODEL_LANES = modelLane('');

/** For Redis to answer at the end of a stop, beyond the time in which a deaf executor is left behind. */
const LAST_WORDS_MS = 5_000;

export type Worker = ReturnType<typeof createWorker>;

/** Whether this process alone decides how many attempts there are; else only a job may begin one. */
function isLocal({ globalConcurrency, rate }: ServedLane): boolean {
  return globalConcurrency === null && rate === null;
}

/** Lanes of a worker and their consumers. `isOpen`: whether the lane is taken from. */
interface LaneWork {
  isOpen(lane: string): boolean;
  handle(job: JobData, lane: string, held: HeldJob | null): Promise<JobOutcome>;
}

function consumerOf(options: WorkerOptions, lane: ServedLane, work: LaneWork): LaneConsumer {
  const { connection, keys, lockMs, stalledCheckMs, onError } = options;
  const { name, concurrency } = lane;
  const consumed = { lane: name, concurrency, connection, prefix: keys.prefix, lockMs, stalledCheckMs };
  const handle: ConsumeOptions['handle'] = (job, held) => work.handle(job, name, held);
  return consumeLane({ ...consumed, handle, ...claimingOf(options, lane, work), onError });
}

/**
 * The way in which the claims of a lane come with its jobs, and in which its idle slots are announced; nothing: a limit
 * over all workers decides, so that each attempt makes its own claim.
 */
function claimingOf(
  { attempt: { confirm, limits, breaker }, keys, handOver }: WorkerOptions,
  served: ServedLane,
  { isOpen }: LaneWork,
): Pick<ConsumeOptions, 'claiming' | 'offering'> {
  const { name: lane, serial, mayRepeat = false } = served;
  if (!isLocal(served) || serial) return {};
  const isTool = isToolLane(lane);
  const { leaseMs } = limits;
  const mayClaim = (): boolean => isOpen(lane) && breaker.downForMs(lane) === null;
  const shared = { leaseMs, keyPrefix: keys.prefix };
  const { sweep } = keys;
  return {
    claiming: {
      ...shared,
      serial: isTool ? keys.serial(lane) : '',
      owesStart: isTool,
      sweep,
      confirm,
      mayClaim,
    },
    // What it does not hear of it has not begun: that is reported before each call that may not be made twice.
    offering: handOver && { ...shared, handOver, owesStart: !mayRepeat },
  };
}

function busyLane({ name, concurrency }: ServedLane, running: number, rates: WorkerOptions['rates']) {
  const recent = rates?.of(name);
  return { name, concurrency, running, ...(recent && { recent }) };
}

export function createWorker(options: WorkerOptions) {
  const { onError } = options;
  const serves = [...options.serves];
  const { records, lanes, running, heartbeat, logger, reports } = options.attempt;
  const consumers = createLaneConsumers(onError, (lane) => options.attempt.breaker.downForMs(lane) !== null);
  const pauses = createLanePauses(onError);
  const limits = createLaneLimits(options.connection, options.keys);
  const shared = createSharedLimits({ serves, limits, serial: records.serial, lanes, logger, onError });
  const inHand = createInHand();
  let stopping: Promise<void> | undefined;

  const handle: LaneWork['handle'] = async (job, lane, held) =>
    inHand.during(lane, () => attemptDirective(options.attempt, job, lane, held));

  function isOpen(lane: string): boolean {
    if (stopping || consumers.isDraining()) return false;
    return !pauses.isPaused(lane) && !lanes.isPaused(lane) && !shared.isLimited(lane);
  }

  async function start(): Promise<void> {
    await shared.start();
    for (const { name } of serves) reports.meters.served(name);
    const opened = serves.map((lane) => consumerOf(options, lane, { isOpen, handle }));
    await consumers.start(opened);
  }

  /** Takes jobs of another lane from now on, which has no limit over all workers. */
  async function serve(lane: ServedLane): Promise<void> {
    if (stopping) return;
    serves.push(lane);
    reports.meters.served(lane.name);
    await consumers.start([consumerOf(options, lane, { isOpen, handle })]);
  }

  /** Takes no more jobs of a lane that `serve` added. Resolves when those that it had taken have ended. */
  async function leave(name: string): Promise<void> {
    const at = serves.findIndex((lane) => lane.name === name);
    if (at !== -1) serves.splice(at, 1);
    pauses.end(name);
    await consumers.leave(name);
  }

  /**
   * Stops taking jobs of one lane for a while (Infinity: until further notice); null ends the pause. Those of a model's lane are taken all the same: each
   * may have another model to go on to.
   */
  function pauseLane(lane: string, pauseMs: number | null): void {
    if (lane.startsWith(MODEL_LANES)) return;
    const consumer = consumers.of(lane);
    pauses.end(lane);
    if (!consumer || stopping) return;
    if (pauseMs === null) consumer.resume();
    else pauses.begin(consumer, pauseMs);
  }

  /** Takes nothing more, waits for what runs, then aborts it; what was aborted, or only waited, goes back to its lane. */
  async function drain(by?: Deadline): Promise<void> {
    pauses.stop();
    shared.stop();
    running.beginDrain();
    let isClosed = false;
    // Consumers close once their jobs have ended.
    const closing = consumers.stop().finally(() => (isClosed = true));
    const ended = Promise.allSettled([closing, inHand.none()]);
    const drainMs = Math.max(0, Math.min(options.drainMs, (by?.leftMs() ?? Infinity) - LAST_WORDS_MS));
    await settledWithin(inHand.none(), drainMs);
    running.stopAll('shutdown');
    await settledWithin(ended, LAST_WORDS_MS);
    running.giveUp();
    // Without Redis its consumers do not close: they end with the connection, which is their owner's.
    if (isClosed) await closing;
    heartbeat.close();
    records.ends.flush();
  }

  return {
    name: 'worker',
    start,
    serve,
    leave,
    /** Attempts that have not been recorded yet. */
    inHand: inHand.total,
    /** The lanes that are served, and how many attempts of each run here. */
    lanes: () => serves.map((lane) => busyLane(lane, inHand.in(lane.name), options.rates)),
    /** On request of an operator; has no effect on a stop. */
    setDraining: consumers.setDraining,
    pauseLane,
    stop(by?: Deadline): Promise<void> {
      stopping ??= drain(by);
      return stopping;
    },
  };
}

function createInHand() {
  const counts = new Map<string, number>();
  let total = 0;
  const waiting: (() => void)[] = [];

  function add(lane: string, more: 1 | -1): void {
    total += more;
    counts.set(lane, (counts.get(lane) ?? 0) + more);
  }

  return {
    /** Counts while `work` goes on. */
    async during<T>(lane: string, work: () => Promise<T>): Promise<T> {
      add(lane, 1);
      try {
        return await work();
      } finally {
        add(lane, -1);
        if (total === 0) for (const resolve of waiting.splice(0)) resolve();
      }
    },
    total: (): number => total,
    in: (lane: string): number => counts.get(lane) ?? 0,
    /** Resolves as soon as nothing is left. */
    async none(): Promise<void> {
      if (total === 0) return;
      await new Promise<void>((resolve) => void waiting.push(resolve));
    },
  };
}

/** `isDown`: the server of the lane cannot be reached, and its lane is resumed when it can. */
function createLaneConsumers(onError: (error: Error) => void, isDown: (lane: string) => boolean) {
  const consumers: LaneConsumer[] = [];
  let draining = false;

  function gated(consumer: LaneConsumer): LaneConsumer {
    const resume = (): void => {
      if (!draining && !isDown(consumer.lane)) consumer.resume();
    };
    return { ...consumer, resume };
  }

  return {
    async start(opened: readonly LaneConsumer[]): Promise<void> {
      const added = opened.map(gated);
      consumers.push(...added);
      await Promise.all(added.map((each) => each.start()));
      for (const each of added) if (draining || isDown(each.lane)) each.pause().catch(onError);
    },
    async leave(lane: string): Promise<void> {
      const at = consumers.findIndex((each) => each.lane === lane);
      if (at !== -1) await consumers.splice(at, 1)[0]?.stop();
    },
    of: (lane: string): LaneConsumer | undefined => consumers.find((each) => each.lane === lane),
    isDraining: (): boolean => draining,
    /** Takes nothing more until it is taken back; what was taken goes on. */
    setDraining(on: boolean): void {
      if (on === draining) return;
      draining = on;
      for (const each of consumers) {
        if (on) each.pause().catch(onError);
        else each.resume();
      }
    },
    async stop(): Promise<void> {
      await Promise.all(consumers.map((each) => each.stop()));
    },
  };
}

function createLanePauses(onError: (error: Error) => void) {
  /** undefined: until it is ended. */
  const resuming = new Map<string, NodeJS.Timeout | undefined>();

  /** Nothing is left of the lane's pause, but that its consumer may be paused still. */
  function end(lane: string): void {
    clearTimeout(resuming.get(lane));
    resuming.delete(lane);
  }

  return {
    isPaused: (lane: string): boolean => resuming.has(lane),
    end,
    /** `pauseMs`: Infinity = until it is ended. */
    begin(consumer: LaneConsumer, pauseMs: number): void {
      end(consumer.lane);
      resuming.set(
        consumer.lane,
        pauseMs === Infinity ? undefined : setTimeout(() => consumer.resume(), pauseMs),
      );
      consumer.pause().catch(onError);
    },
    /** No consumer is resumed any more. */
    stop(): void {
      for (const timer of resuming.values()) clearTimeout(timer);
    },
  };
}
