/** The one signal that ends a call: cancelled by its caller, idle for too long, too long in all, or pool stopped.
 *  It must never lose the reason: the protocol reports all of them alike. */

export type CallEnding = 'cancelled' | 'timed_out' | 'total_timed_out' | 'stopped';

export interface CallDeadline {
  readonly signal: AbortSignal;
  /** null while the call may go on. */
  ending(): CallEnding | null;
  /** The call made progress: restarts its idle time, not its total time. */
  touch(): void;
  /** From now on only the total time counts: the server keeps the call as a task, and is asked about it. */
  hold(): void;
  /** Pauses the idle time, as during a question, until each pause is resumed; the total time goes on. */
  pause(): void;
  resume(): void;
  end(how: CallEnding): void;
  dispose(): void;
}

export interface CallLimits {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly maxTotalMs: number;
}

/** setTimeout takes no more than 31 bits. */
const MAX_TIMER_MS = 2 ** 31 - 1;

export function startCallDeadline(limits: CallLimits): CallDeadline {
  const controller = new AbortController();
  const startedAt = performance.now();
  let ending: CallEnding | null = null;
  let total: NodeJS.Timeout | null = null;
  let isHeld = false;
  let pauses = 0;
  const end = (how: CallEnding): void => {
    if (ending !== null) return;
    ending = how;
    controller.abort(how);
  };
  const limitTotal = (): void => {
    const leftMs = limits.maxTotalMs - (performance.now() - startedAt);
    total ??= setTimeout(end, clampTimer(leftMs), 'total_timed_out');
  };
  const onCancel = (): void => end('cancelled');
  const startIdle = (): NodeJS.Timeout => setTimeout(end, clampTimer(limits.timeoutMs), 'timed_out');
  let idle: NodeJS.Timeout | null = startIdle();
  const stopIdle = (): void => {
    if (idle !== null) clearTimeout(idle);
    idle = null;
  };
  // The second timer starts when it can matter: without progress the idle time ends first.
  if (limits.maxTotalMs < limits.timeoutMs) limitTotal();
  if (limits.signal.aborted) onCancel();
  else limits.signal.addEventListener('abort', onCancel, { once: true });

  return {
    signal: controller.signal,
    ending: () => ending,
    touch() {
      if (ending !== null || isHeld) return;
      idle?.refresh();
      limitTotal();
    },
    hold() {
      isHeld = true;
      stopIdle();
      if (ending === null) limitTotal();
    },
    pause() {
      pauses += 1;
      stopIdle();
      if (ending === null) limitTotal();
    },
    resume() {
      pauses -= 1;
      if (pauses === 0 && ending === null && !isHeld) idle ??= startIdle();
    },
    end,
    dispose() {
      stopIdle();
      if (total !== null) clearTimeout(total);
      limits.signal.removeEventListener('abort', onCancel);
    },
  };
}

function clampTimer(ms: number): number {
  return Math.min(Math.max(ms, 0), MAX_TIMER_MS);
}
