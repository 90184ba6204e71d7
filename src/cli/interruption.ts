/** What the signals of a stop mean: the first asks politely, one that comes later is meant.
 *  It must never take an echo of the first for a second wish: wrappers pass on what the terminal sent to all. */

/** The same wish, heard again from a wrapper or from the terminal itself. */
const ECHO_MS = 1_000;

const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

type StopSignal = (typeof STOP_SIGNALS)[number];

export interface Interruption {
  readonly signal: AbortSignal;
  readonly hear: (signal: StopSignal) => void;
}

/** `insist` is called for a signal that comes more than a second after the first. */
export function createInterruption(
  insist: (signal: StopSignal) => void,
  now: () => number = () => performance.now(),
): Interruption {
  const controller = new AbortController();
  let askedAt: number | null = null;
  return {
    signal: controller.signal,
    hear(signal: StopSignal): void {
      if (askedAt === null) {
        askedAt = now();
        controller.abort();
      } else if (now() - askedAt > ECHO_MS) {
        insist(signal);
      }
    },
  };
}

/** The interruption of this process; insisting ends it by the signal itself. */
export function listenForStop(): AbortSignal {
  const { signal: interrupt, hear } = createInterruption((signal) => {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
  for (const signal of STOP_SIGNALS) process.on(signal, hear);
  return interrupt;
}
