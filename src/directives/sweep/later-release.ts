// Moves due directives from the index of delayed ones to the sweeper, which enqueues them. Never blocks Redis or this
// process, however many begin at the same instant: it moves a few at a time.
import { asError, pause, settledWithin } from '../../platform/lifecycle.ts';
import type { LaterIndex } from '../../store/index/later-index.ts';
import type { DueEntry } from '../../store/index/sweep-index.ts';

export interface LaterReleaseOptions {
  later: Pick<LaterIndex, 'take' | 'onAnnounced'>;
  /** Failed steps are repeated by the sweeper a second later. */
  begin: (entry: DueEntry, now: number) => Promise<void>;
  /** How late another process may find what is announced here, should this one die, milliseconds. */
  intervalMs: number;
  onError: (error: Error) => void;
}

/** Each costs Redis and this process about as much as a submission. */
const AT_ONCE = 100;
const LONGEST_STOP_MS = 1_000;

export function createLaterRelease({ later, begin, intervalMs, onError }: LaterReleaseOptions) {
  const stopping = new AbortController();
  let heard = new AbortController();
  let running: Promise<void> | undefined;

  /** Resolves to how long nothing begins, milliseconds. */
  async function release(): Promise<number> {
    const { now, entries, nextMs } = await later.take(AT_ONCE);
    await Promise.all(
      entries.map((entry) => begin(entry, now).catch((error: unknown) => onError(asError(error)))),
    );
    return Math.min(nextMs ?? intervalMs, intervalMs);
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      heard = new AbortController();
      let waitMs = intervalMs;
      try {
        waitMs = await release();
      } catch (error) {
        onError(asError(error));
      }
      // Others have the event loop in between, also in a wave.
      await pause(waitMs, AbortSignal.any([stopping.signal, heard.signal]));
    }
  }

  return {
    name: 'later',
    release,
    start(): void {
      later.onAnnounced(() => heard.abort());
      running ??= run();
    },
    async stop(): Promise<void> {
      stopping.abort();
      await settledWithin(running ?? Promise.resolve(), LONGEST_STOP_MS);
    },
  };
}
