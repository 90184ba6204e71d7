// Start in order, stop in reverse: the lifecycle that every long-lived part follows.
// Must never know what the parts do.

/** The end of a stop, which all parts share. */
export interface Deadline {
  /** Milliseconds; 0 or less: it has passed. */
  leftMs(): number;
}

export function deadlineIn(ms: number, now: () => number = () => performance.now()): Deadline {
  const at = now() + ms;
  return { leftMs: () => at - now() };
}

/**
 * A long-lived part. `stop` tolerates never having been started and being called twice; past the deadline it is left
 * behind, so that what has to be let go of by then is let go of before it waits for anything.
 */
export interface Startable {
  readonly name: string;
  start(): Promise<void>;
  stop(by?: Deadline): Promise<void>;
}

/**
 * Starts the parts in order; when one fails, stops all of them and rethrows its error. Those that were not reached
 * are stopped too: a part may hold something from its making on, and would keep the process alive.
 * `interrupt` leaves the rest unstarted, and the part alone that is about to start; stopping them is the caller's.
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
 * Stops the parts in reverse order; every one is stopped, then the first error is thrown. Names those that had not stopped
 * by the deadline.
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
    await (by ? settledWithin(stopped, Math.max(by.leftMs(), 0)) : stopped);
    if (!isStopped) left.push(part.name);
  }
  if (errors.length > 0) throw errors[0];
  return left;
}

/** Also of a part that throws instead of rejecting. */
async function stopOf(part: Startable, by: Deadline | undefined): Promise<void> {
  await part.stop(by);
}

/** A promise of `ms` milliseconds which `signal` ends early; it never rejects. */
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

/** Resolves when `work` has settled, or after `ms`; it never rejects, and leaves no timer that keeps the process alive. */
export async function settledWithin(work: Promise<unknown>, ms: number): Promise<void> {
  const settled = new AbortController();
  const ended = work.then(
    () => settled.abort(),
    () => settled.abort(),
  );
  await Promise.race([ended, pause(ms, settled.signal)]);
}
