/** Signals that stop the process: the first stops it gently, a later one forces the end.
 *  It must never take an echo of the first for a second request: wrappers pass on what the terminal sent to all. */

/** A signal this soon after the first is an echo from a wrapper or the terminal. */
const ECHO_MS = 1_000;

const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

type StopSignal = (typeof STOP_SIGNALS)[number];

interface Interruption {
  readonly signal: AbortSignal;
  readonly receive: (signal: StopSignal) => void;
}

/** `force` is called for a signal more than a second after the first. */
export function createInterruption(
  force: (signal: StopSignal) => void,
  now: () => number = () => performance.now(),
): Interruption {
  const controller = new AbortController();
  let askedAt: number | null = null;
  return {
    signal: controller.signal,
    receive(signal: StopSignal): void {
      if (askedAt === null) {
        askedAt = now();
        controller.abort();
      } else if (now() - askedAt > ECHO_MS) {
        force(signal);
      }
    },
  };
}

/** The interruption of this process; a forced end uses the signal itself. */
export function listenForStop(): AbortSignal {
  const { signal: interrupt, receive } = createInterruption((signal) => {
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
  for (const signal of STOP_SIGNALS) process.on(signal, receive);
  return interrupt;
}
