// The engine: takes the turns of runs as they are woken, one turn at a time for each run.
// Must never keep state that a run needs after its turn: any engine may take the next one.
import { createSemaphore } from '../bounds/semaphore.ts';
import type { ComingEnd, EndedWithTurn, RunNews } from '../journal/journal.ts';
import { asError, settledWithin } from '../lifecycle.ts';
import { consumeLane, type JobOutcome } from '../queue/consume.ts';
import { RUN_LANE } from '../queue/run-wake.ts';
import { endWithTurn } from './end-with-turn.ts';
import { takeTurns, type TurnParts } from './turn.ts';

export interface EngineOptions {
  turn: TurnParts;
  connection: Parameters<typeof consumeLane>[0]['connection'];
  prefix: string;
  /** Turns at once in this process. */
  concurrency: number;
  /** How long a stop waits for turns, milliseconds. */
  drainMs: number;
  /** BullMQ's lock on a job and how often it checks for dead workers, milliseconds. */
  lockMs: number;
  stalledCheckMs: number;
  onError(error: Error): void;
}

/** Everything that a run at this version has to read. */
interface KnownVersion {
  version: number;
  news: RunNews;
}

/** One run in this process: its turns follow each other. */
interface Current {
  /** It was woken during a turn that may have read too early. */
  again: boolean;
  /** All that the next turn has to read, where that is known. */
  news: KnownVersion | undefined;
  done: Promise<void>;
}

/** After a turn fails because Redis does not answer, it is tried again this much later. */
const RETRY_MS = 500;

export type Engine = ReturnType<typeof createEngine>;

export function createEngine(options: EngineOptions) {
  const { turn, drainMs, ...consuming } = options;
  const { concurrency, onError } = consuming;
  const current = new Map<string, Current>();
  const places = createSemaphore(concurrency);
  const stopping = new AbortController();
  let draining = false;

  /** Rejects with the error of the last turn. `first`: a turn that has its place already. */
  async function turnsOf(requestId: string, run: Current, first?: Promise<unknown>): Promise<void> {
    if (first === undefined) await places.take();
    try {
      await first;
      while (run.again && !stopping.signal.aborted) {
        const { news } = run;
        Object.assign(run, { again: false, news: undefined });
        const known = news ? turn.store.withNews(requestId, news.version, news.news) : null;
        await takeTurns(turn, requestId, known);
      }
      // A stop leaves no run behind that nobody would wake.
      if (run.again) await turn.waker.wake(requestId, 0);
    } finally {
      // In the same step as the last check of `again`, so that no wake is lost.
      current.delete(requestId);
      places.release();
    }
  }

  /** Takes the turns that are due; resolves when none is left, rejects when Redis does not answer. */
  function attend(requestId: string, news?: KnownVersion): Promise<void> {
    const known = current.get(requestId);
    if (known) {
      // Two of them together are not all of it.
      known.news = known.again ? undefined : news;
      known.again = true;
      return known.done;
    }
    const run: Current = { again: true, news, done: Promise.resolve() };
    current.set(requestId, run);
    run.done = turnsOf(requestId, run);
    return run.done;
  }

  /** Like `attend`, for callers that cannot handle a failure: the sweeper enqueues the run again. */
  async function wake(requestId: string, version: number, news?: RunNews): Promise<void> {
    const known = news && { version, news };
    const woken =
      stopping.signal.aborted || draining ? turn.waker.wake(requestId, version) : attend(requestId, known);
    await woken.catch(report);
  }

  /**
   * Writes an end together with the turn that reads it, and takes the turns that follow; null: nothing is written. Rejects where
   * Redis may have written it and not answered.
   */
  async function takeEnd(requestId: string, end: ComingEnd): Promise<EndedWithTurn | null> {
    const isAway = stopping.signal.aborted || draining;
    if (isAway || current.has(requestId) || !turn.store.holds(requestId) || !places.tryTake()) return null;
    const run: Current = { again: false, news: undefined, done: Promise.resolve() };
    current.set(requestId, run);
    const taking = endWithTurn(turn, requestId, end).then((taken) => {
      run.again ||= taken?.again === true;
      return taken;
    });
    run.done = turnsOf(requestId, run, taking);
    // Who woke it meanwhile, and whoever takes this end, are told.
    run.done.catch(() => {});
    const taken = await taking;
    await run.done.catch(report);
    return taken && taken.ended;
  }

  function report(error: unknown): void {
    onError(asError(error));
  }

  async function handle(requestId: string): Promise<JobOutcome> {
    try {
      await attend(requestId);
      return stopping.signal.aborted ? { kind: 'later', at: Date.now() } : { kind: 'done' };
    } catch (error) {
      report(error);
      return { kind: 'later', at: Date.now() + RETRY_MS };
    }
  }

  const consumer = consumeLane({ ...consuming, lane: RUN_LANE, handle: (job) => handle(job.request_id) });

  return {
    name: 'engine',
    wake,
    takeEnd,
    /** Whether a turn of the run need not wait for those of other runs here. */
    hasPlaceFor: (requestId: string): boolean => current.has(requestId) || current.size < concurrency,
    /** Runs with a turn under way. */
    busyRuns: (): number => current.size,
    lanes: () => [{ name: RUN_LANE, concurrency, running: current.size }],
    /** On request of an operator: takes no turns until it is taken back. Those under way go on. */
    setDraining(on: boolean): void {
      draining = on;
      if (on) consumer.pause().catch(report);
      else consumer.resume();
    },
    start: () => consumer.start(),
    async stop(): Promise<void> {
      stopping.abort();
      const ended = Promise.all([consumer.stop(), ...[...current.values()].map(({ done }) => done)]);
      await settledWithin(ended, drainMs);
    },
  };
}
