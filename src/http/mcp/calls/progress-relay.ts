/** The progress of a call for one client: the tool's own, and a sign of life while the tool is silent. Never sends a
 *  value that is not greater than the one before: clients refuse or ignore it. */

export interface Progress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

export interface ProgressRelay extends Disposable {
  report(progress: Progress): void;
  /** Why nothing goes on: a sign of life now, or this step, and the text of the signs of life that follow. */
  say(message: string, step?: number): void;
  /** The cause of the last reason is over. */
  resume(): void;
}

/** Smaller than the steps that tools report, so that the next value is greater. */
const SIGN_OF_LIFE = 1e-6;
/** Share of a large value: a smaller step would not change it. */
const SMALLEST_STEP = 2 ** -50;

export function createProgressRelay(
  notify: (progress: Progress) => Promise<void>,
  heartbeatMs: number,
): ProgressRelay {
  let last = -Infinity;
  let reason: string | null = null;

  function send(progress: Progress): void {
    last = progress.progress;
    heartbeat.refresh();
    // Nobody hears it when the client has gone: that is noticed elsewhere.
    notify(progress).catch(() => {});
  }

  const say = (message: string, step = 0): void =>
    send({ progress: Math.max(step, alive(Math.max(last, 0))), message });
  const heartbeat = setInterval(() => say(reason ?? 'still running'), heartbeatMs);

  return {
    report(progress) {
      reason = null;
      if (progress.progress > last) send(progress);
    },
    say(message, step) {
      reason = message;
      say(message, step);
    },
    resume() {
      reason = null;
    },
    [Symbol.dispose]: () => clearInterval(heartbeat),
  };
}

function alive(last: number): number {
  return last + Math.max(SIGN_OF_LIFE, last * SMALLEST_STEP);
}
