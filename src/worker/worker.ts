// A worker: serves lanes, makes attempts, and stops without losing any.
// Must never stop taking care of an attempt before it has been recorded.
import { consumeLane, type LaneConsumer } from '../queue/consume.ts';
import type { Lanes } from '../queue/lanes.ts';
import { pause } from '../lifecycle.ts';
import type { RedisConnection } from '../redis.ts';
import { attemptDirective, type AttemptParts } from './attempt.ts';

/** One lane a worker serves. */
export interface ServedLane {
  name: string;
  /** Attempts at once in this process. */
  concurrency: number;
  /** One attempt at a time over all workers. */
  serial: boolean;
}

export interface WorkerOptions extends AttemptParts {
  connection: RedisConnection;
  prefix: string;
  lanes: Lanes;
  serves: readonly ServedLane[];
  /** How long a stop waits for running attempts before it aborts them, milliseconds. */
  drainMs: number;
  /** BullMQ's lock on a job and how often it looks for dead ones, milliseconds. */
  lockMs: number;
  stalledCheckMs: number;
  onError(error: Error): void;
}

export type Worker = ReturnType<typeof createWorker>;

export function createWorker(options: WorkerOptions) {
  const { serves, running, heartbeat, onError } = options;
  const consumers: LaneConsumer[] = [];
  let stopping: Promise<void> | undefined;

  function consumer({ name, concurrency }: ServedLane): LaneConsumer {
    const { connection, prefix, lockMs, stalledCheckMs } = options;
    const handle = attemptDirective.bind(null, options);
    return consumeLane({
      lane: name,
      concurrency,
      connection,
      prefix,
      lockMs,
      stalledCheckMs,
      handle,
      onError,
    });
  }

  async function start(): Promise<void> {
    for (const lane of serves) {
      await options.lanes.setGlobalConcurrency(lane.name, lane.serial ? 1 : null);
      consumers.push(consumer(lane));
    }
    await Promise.all(consumers.map((each) => each.start()));
  }

  /** Takes nothing more, waits for what runs, then aborts it; what was aborted goes back to its lane. */
  async function drain(): Promise<void> {
    const drained = new AbortController();
    const closed = Promise.all(consumers.map((each) => each.stop())).finally(() => drained.abort());
    await pause(options.drainMs, drained.signal);
    running.stopAll('shutdown');
    await closed;
    heartbeat.close();
    options.settlement.flush();
  }

  return {
    name: 'worker',
    start,
    stop(): Promise<void> {
      stopping ??= drain();
      return stopping;
    },
  };
}
