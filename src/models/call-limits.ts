// The time limits of one model call, and the one signal that stops it.
// Must never leave a timer or a connection behind: `end` frees both.

/** Why a call was stopped early. */
export type CallStop = 'total' | 'idle' | 'caller';

export interface CallLimits {
  /** Aborted by the caller's signal or by a limit; closes the connection. */
  readonly signal: AbortSignal;
  /** The first reason; null: nothing stopped it. */
  stop(): CallStop | null;
  /** From now on each chunk must follow the last one within the idle limit. */
  expectNext(): void;
  /** The time until the next `expectNext` does not count against the provider. */
  pause(): void;
  /** `close`: the answer was not read to its end, so its connection cannot be used again. */
  end(close: boolean): void;
}

/** Milliseconds. */
export interface LimitSettings {
  timeoutMs: number;
  idleTimeoutMs: number;
}

/** The calls whose limits are counting, by their signal. */
const counting = new WeakMap<AbortSignal, () => void>();

/** The answer of the call with this signal is complete: silence after it is no fault of the provider. */
export function noteComplete(signal: AbortSignal | null | undefined): void {
  if (signal) counting.get(signal)?.();
}

export function beginLimits(caller: AbortSignal, { timeoutMs, idleTimeoutMs }: LimitSettings): CallLimits {
  const controller = new AbortController();
  let stopped: CallStop | null = null;
  let isWaiting = false;
  let isComplete = false;
  let idle: NodeJS.Timeout | undefined;

  function stop(reason: CallStop): void {
    stopped ??= reason;
    controller.abort(new DOMException(`stopped: ${reason}`, 'AbortError'));
  }

  const onCaller = (): void => stop('caller');
  const total = setTimeout(() => stop('total'), timeoutMs);
  if (caller.aborted) onCaller();
  else caller.addEventListener('abort', onCaller, { once: true });
  counting.set(controller.signal, () => {
    isComplete = true;
    isWaiting = false;
  });

  return {
    signal: controller.signal,
    stop: () => stopped,
    expectNext() {
      isWaiting = !isComplete;
      // One timer for all pieces: a stream has thousands.
      if (idle) idle.refresh();
      else idle = setTimeout(() => (isWaiting ? stop('idle') : undefined), idleTimeoutMs);
    },
    pause() {
      isWaiting = false;
    },
    end(close) {
      clearTimeout(total);
      clearTimeout(idle);
      caller.removeEventListener('abort', onCaller);
      if (close) controller.abort(new DOMException('the answer is not read to its end', 'AbortError'));
    },
  };
}
