/** The progress that one client hears of its call: the tool's own, and a sign of life while the tool is silent.
 *  It must never send a value that is not greater than the one before: clients refuse or ignore it. */

export interface Progress {
  readonly progress: number;
  readonly total?: number | undefined;
  readonly message?: string | undefined;
}

export interface ProgressRelay extends Disposable {
  report(progress: Progress): void;
  /** A sign of life with a reason: nothing is further than before. */
  say(message: string): void;
}

/** Smaller than the steps that tools report, so that the next value is greater. */
const SIGN_OF_LIFE = 1e-6;
/** Of a large value: less than this would not change it. */
const SMALLEST_STEP = 2 ** -50;

export function createProgressRelay(
  notify: (progress: Progress) => Promise<void>,
  heartbeatMs: number,
): ProgressRelay {
  let last = -Infinity;
  let isSilent = true;

  function send(progress: Progress): void {
    last = progress.progress;
    // Nobody hears it when the client has gone: that is noticed elsewhere.
    notify(progress).catch(() => {});
  }

  const say = (message: string): void => send({ progress: alive(Math.max(last, 0)), message });
  const heartbeat = setInterval(() => {
    if (isSilent) say('still running');
    isSilent = true;
  }, heartbeatMs);

  return {
    report(progress) {
      isSilent = false;
      if (progress.progress > last) send(progress);
    },
    say(message) {
      isSilent = false;
      say(message);
    },
    [Symbol.dispose]: () => clearInterval(heartbeat),
  };
}

function alive(last: number): number {
  return last + Math.max(SIGN_OF_LIFE, last * SMALLEST_STEP);
}
