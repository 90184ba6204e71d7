// Start in order, stop in reverse: the lifecycle of every long-lived part.
// Must never know what the parts do.

/** The deadline of a stop, shared by all parts. */
export interface Deadline {
  /** Milliseconds; 0 or less: it has passed. */
  leftMs(): number;
}

export function deadlineIn(ms: number, now: () => number = () => performance.now()): Deadline {
  const at = now() + ms;
  return { leftMs: () => at - now() };
}

/**
 * A long-lived part. `stop` tolerates never having been started and being called twice. A part that misses the deadline
 * is abandoned, so it must release what matters before it waits for anything.
 */
export interface Startable {
  readonly name: string;
  start(): Promise<void>;
  stop(by?: Deadline): Promise<void>;
}

/**
 * Starts the parts in order; when one fails, stops all of them and rethrows its error. Parts that were not reached are
 * stopped, too: a part may hold something from its creation on, and would keep the process alive.
 * `interrupt` leaves the rest unstarted; then the caller must stop the parts.
 */
export async function startAll(parts: readonly Startable[], interrupt?: AbortSignal): Promise<void> {
  try {
    for (const part of parts) {
      if (interrupt?.aborted === true) return;
      await Promise.race([part.start(), ...(interrupt ? [whenAborted(interrupt)] : [])]);
    }
  } catch (error) {
    await stopAll(parts).catch(() => {});
    throw error;
  }
}

function whenAborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener('abort', () => resolve(), { once: true });
  return promise;
}

/**
 * Stops all parts in reverse order, then throws the first error. Names the parts that had not stopped by the deadline.
 */
export async function stopAll(parts: readonly Startable[], by?: Deadline): Promise<string[]> {
  const errors: unknown[] = [];
  const left: string[] = [];
  for (const part of parts.toReversed()) {
    let isStopped = false;
    const stopped = stopOf(part, by).then(
      () => (isStopped = true),
      (error: unknown) => {
        isStopped = true;
        errors.push(error);
      },
    );
    await (by ? settledWithin(stopped, by.leftMs()) : stopped);
    if (!isStopped) left.push(part.name);
  }
  if (errors.length > 0) throw errors[0];
  return left;
}

/** Also handles a part that throws instead of rejecting. */
async function stopOf(part: Startable, by: Deadline | undefined): Promise<void> {
  await part.stop(by);
}

/** Waits `ms` milliseconds, or until `signal` fires; never rejects. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  const wake = (): void => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', wake);
    resolve();
  };
  const timer = setTimeout(wake, ms);
  signal?.addEventListener('abort', wake, { once: true });
  return promise;
}

/** Resolves when `work` has ended, or after `ms` (0 or less: at once); never rejects, and leaves no timer that keeps the process alive. */
export async function settledWithin(work: Promise<unknown>, ms: number): Promise<void> {
  const settled = new AbortController();
  const ended = work.then(
    () => settled.abort(),
    () => settled.abort(),
  );
  await Promise.race([ended, pause(Math.max(ms, 0), settled.signal)]);
}

/** A thrown value as an error. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

export interface LoopOptions {
  readonly name: string;
  /** Failures are reported to `onError`, and the work is repeated after the pause. */
  readonly work: () => Promise<void>;
  /** Between the end of the work and its next beginning, milliseconds. */
  readonly everyMs: number;
  /** How long a stop waits for the work under way, milliseconds. */
  readonly longestStopMs: number;
  readonly onError: (error: Error) => void;
}

export interface Loop extends Startable {
  /** Fires when it is stopped. */
  readonly stopping: AbortSignal;
}

/** A part that does the same again and again until it is stopped. */
export function createLoop({ name, work, everyMs, longestStopMs, onError }: LoopOptions): Loop {
  const stopping = new AbortController();
  let loop: Promise<void> | undefined;

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        await work();
      } catch (error) {
        onError(asError(error));
      }
      await pause(everyMs, stopping.signal);
    }
  }

  return {
    name,
    stopping: stopping.signal,
    async start(): Promise<void> {
      loop ??= run();
    },
    async stop(): Promise<void> {
      stopping.abort();
      await settledWithin(loop ?? Promise.resolve(), longestStopMs);
    },
  };
}
