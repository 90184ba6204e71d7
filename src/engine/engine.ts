// The engine: takes the turns of runs as they are woken, one turn at a time for each run.
// Must never keep state that a run needs after its turn: any engine may take the next one.
import { createSemaphore } from '../bounds/semaphore.ts';
import type { EndWithTurn, RunNews } from '../journal/journal.ts';
import type { KeySpace } from '../journal/keys.ts';
import { runReading } from '../journal/run-journal.ts';
import { asError, settledWithin } from '../lifecycle.ts';
import { consumeLane, type JobOutcome } from '../queue/consume.ts';
import type { Handed, HandOver } from '../queue/hand-over.ts';
import type { JobData } from '../queue/job.ts';
import { type ClaimingLane, type HeldJob, readingWords } from '../queue/lane-claims.ts';
import { RUN_LANE } from '../queue/run-wake.ts';
import { createRunTurns, type Known } from './run-turns.ts';
import type { TurnParts } from './turn.ts';

export interface EngineOptions {
  turn: TurnParts;
  connection: Parameters<typeof consumeLane>[0]['connection'];
  keys: Pick<KeySpace, 'prefix' | 'sweep'>;
  /** How the first turns of runs are handed over to it. Default: it takes their jobs. */
  handOver?: HandOver;
  /** Turns at once in this process. */
  concurrency: number;
  /** How long a stop waits for turns, milliseconds. */
  drainMs: number;
  /** BullMQ's lock on a job and how often it checks for dead workers, milliseconds. */
  lockMs: number;
  stalledCheckMs: number;
  onError(error: Error): void;
}

/** After a turn fails because Redis does not answer, it is tried again this much later. */
const RETRY_MS = 500;

export type Engine = ReturnType<typeof createEngine>;

export function createEngine(options: EngineOptions) {
  const { turn, drainMs, keys, handOver, ...consuming } = options;
  const { concurrency, onError } = consuming;
  const slots = createSemaphore(concurrency);
  const stopping = new AbortController();
  let draining = false;
  const isAway = (): boolean => stopping.signal.aborted || draining;
  const turns = createRunTurns({ turn, concurrency, isStopping: () => stopping.signal.aborted, report });

  /** Like `attend`, for callers that cannot handle a failure: the sweeper enqueues the run again. */
  async function wake(requestId: string, version: number, news?: RunNews): Promise<void> {
    const known = news && { version, news };
    const woken = isAway() ? turn.waker.wake(requestId, version) : turns.attend(requestId, known);
    await woken.catch(report);
  }

  /** A run that begins; where there is no room, it is for any engine. */
  async function begin({ name: requestId, at, brings }: Handed): Promise<void> {
    const reading = runReading(requestId, [...brings]);
    if (isAway() || !hasPlaceFor(requestId) || reading === null) return turn.waker.wake(requestId, 0);
    await turns.attend(requestId, { reading, readAt: handOver?.instantOf(at) ?? -Infinity });
  }

  function hasPlaceFor(requestId: string): boolean {
    return turns.has(requestId) || turns.size() < concurrency;
  }

  function report(error: unknown): void {
    onError(asError(error));
  }

  async function handle({ request_id: requestId }: JobData, held: HeldJob | null): Promise<JobOutcome> {
    if (held === null) await slots.take();
    try {
      await turns.attend(requestId, readWith(held, requestId));
      return stopping.signal.aborted ? { kind: 'later', at: Date.now() } : { kind: 'done' };
    } catch (error) {
      report(error);
      return { kind: 'later', at: Date.now() + RETRY_MS };
    } finally {
      slots.release();
    }
  }

  const ahead: ClaimingLane = {
    words: readingWords(keys.prefix),
    sweep: keys.sweep,
    // Nothing is written with it.
    confirm: () => Promise.resolve(null),
    reserve: slots.tryTake,
    mayGoOn: () => !slots.isAwaited(),
    release: slots.release,
    offering: handOver && { handOver, leaseMs: 0, owesStart: false, keyPrefix: keys.prefix },
  };
  // The sweeper enqueues what fails.
  handOver?.join(RUN_LANE, (handed) => void begin(handed).catch(report));
  const lane = { ...consuming, prefix: keys.prefix, lane: RUN_LANE };
  const consumer = consumeLane({ ...lane, handle, claiming: ahead });

  return {
    name: 'engine',
    wake,
    takeEnd: async (...end: Parameters<EndWithTurn>) => (isAway() ? null : turns.takeEnd(...end)),
    holds: turn.store.holds,
    /** Whether a turn of the run need not wait for those of other runs here. */
    hasPlaceFor,
    /** Runs with a turn under way. */
    busyRuns: turns.size,
    lanes: () => [{ name: RUN_LANE, concurrency, running: turns.size() }],
    /** On request of an operator: takes no turns until it is taken back. Those under way go on. */
    setDraining(on: boolean): void {
      draining = on;
      if (on) consumer.pause().catch(report);
      else consumer.resume();
    },
    start: () => consumer.start(),
    async stop(): Promise<void> {
      stopping.abort();
      const ended = Promise.all([consumer.stop(), turns.done()]);
      await settledWithin(ended, drainMs);
    },
  };
}

/** What came with the job of a first turn; undefined: the run is to be read. */
function readWith(held: HeldJob | null, requestId: string): Known | undefined {
  const reading = held?.reply ? runReading(requestId, held.reply) : null;
  return held && reading ? { reading, readAt: held.askedAt } : undefined;
}
