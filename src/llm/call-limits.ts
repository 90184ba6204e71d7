// The time limits of one model call, and the one signal that stops it.
// Must never leave a timer or a connection behind: `end` takes both back.

/** Why a call was stopped before it came to its end. */
export type CallStop = 'total' | 'idle' | 'caller';

export interface CallLimits {
  /** Aborted by the caller's signal or by a limit; closes the connection. */
  readonly signal: AbortSignal;
  /** The first reason; null: nothing stopped it. */
  stop(): CallStop | null;
  /** From here on every piece must come within the idle limit of the last. */
  expectNext(): void;
  /** The time until the next `expectNext` is not the provider's. */
  pause(): void;
  /** `close`: the answer was not read to its end, so its connection is of no more use. */
  end(close: boolean): void;
}

/** Milliseconds. */
export interface LimitSettings {
  timeoutMs: number;
  idleTimeoutMs: number;
}

export function beginLimits(caller: AbortSignal, { timeoutMs, idleTimeoutMs }: LimitSettings): CallLimits {
  const controller = new AbortController();
  let stopped: CallStop | null = null;
  let isWaiting = false;
  let idle: NodeJS.Timeout | undefined;

  function stop(reason: CallStop): void {
    stopped ??= reason;
    controller.abort(new DOMException(`stopped: ${reason}`, 'AbortError'));
  }

  const onCaller = (): void => stop('caller');
  const total = setTimeout(() => stop('total'), timeoutMs);
  if (caller.aborted) onCaller();
  else caller.addEventListener('abort', onCaller, { once: true });

  return {
    signal: controller.signal,
    stop: () => stopped,
    expectNext() {
      isWaiting = true;
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
