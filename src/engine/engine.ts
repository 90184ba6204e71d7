// The engine: takes the turns of runs when they are enqueued for, one at a time for each run.
// Must never hold what a run needs beyond the turn it takes: any engine may take the next one.
import type { RunNews } from '../journal/journal.ts';
import { settledWithin } from '../lifecycle.ts';
import { consumeLane, type JobOutcome } from '../queue/consume.ts';
import { RUN_LANE } from '../queue/run-wake.ts';
import { takeTurns, type TurnParts } from './turn.ts';

export interface EngineOptions extends TurnParts {
  connection: Parameters<typeof consumeLane>[0]['connection'];
  prefix: string;
  /** Turns at once in this process. */
  concurrency: number;
  /** How long a stop waits for turns, milliseconds. */
  drainMs: number;
  /** BullMQ's lock on a job and how often it looks for dead ones, milliseconds. */
  lockMs: number;
  stalledCheckMs: number;
  onError(error: Error): void;
}

/** All that a run of a version has to read. */
interface Told {
  version: number;
  news: RunNews;
}

/** One run in this process: its turns come one after the other. */
interface Current {
  /** It was woken while a turn was under way that may have read too early. */
  again: boolean;
  done: Promise<void>;
}

/** A turn that could not be taken because Redis did not answer is tried again after this time. */
const RETRY_MS = 500;

export type Engine = ReturnType<typeof createEngine>;

export function createEngine(options: EngineOptions) {
  const { connection, prefix, concurrency, lockMs, stalledCheckMs, onError } = options;
  const current = new Map<string, Current>();
  const waiting: (() => void)[] = [];
  const stopping = new AbortController();
  let busy = 0;

  async function enter(): Promise<void> {
    busy += 1;
    if (busy > concurrency) await new Promise<void>((resolve) => waiting.push(resolve));
  }

  function leave(): void {
    busy -= 1;
    waiting.shift()?.();
  }

  /** Rejects with what kept the last turn from being taken. */
  async function turnsOf(requestId: string, run: Current, news: Told | undefined): Promise<void> {
    await enter();
    try {
      let told = news ? options.store.withNews(requestId, news.version, news.news) : null;
      while (run.again && !stopping.signal.aborted) {
        run.again = false;
        await takeTurns(options, requestId, told);
        told = null;
      }
    } finally {
      // In the same step as the last look at `again`: a wake is never left for nobody.
      current.delete(requestId);
      leave();
    }
  }

  /** Takes the turns that are due; resolves when there is none left, rejects when Redis does not answer. */
  function attend(requestId: string, news?: Told): Promise<void> {
    const known = current.get(requestId);
    if (known) {
      known.again = true;
      return known.done;
    }
    const run: Current = { again: true, done: Promise.resolve() };
    current.set(requestId, run);
    run.done = turnsOf(requestId, run, news);
    return run.done;
  }

  /** As `attend`, for who cannot do anything about a failure: the sweeper jobs again. */
  async function wake(requestId: string, version: number, news?: RunNews): Promise<void> {
    const told = news && { version, news };
    const woken = stopping.signal.aborted ? options.waker.wake(requestId, version) : attend(requestId, told);
    await woken.catch(report);
  }

  function report(error: unknown): void {
    onError(error instanceof Error ? error : new Error(String(error)));
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

  const consumer = consumeLane({
    lane: RUN_LANE,
    prefix,
    connection,
    concurrency,
    lockMs,
    stalledCheckMs,
    handle: (job) => handle(job.request_id),
    onError,
  });

  return {
    name: 'engine',
    wake,
    /** Runs of which a turn is under way. */
    busyRuns: (): number => current.size,
    start: () => consumer.start(),
    async stop(): Promise<void> {
      stopping.abort();
      const ended = Promise.all([consumer.stop(), ...[...current.values()].map(({ done }) => done)]);
      await settledWithin(ended, options.drainMs);
    },
  };
}
