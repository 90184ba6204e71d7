// Repeats a journal call until Redis answers: a known result survives an outage.
// Must never be used for anything that is not safe to repeat.
import { pause } from '../lifecycle.ts';

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 2_000;

/** Connection losses are waited out by the connection itself; what is refused (LOADING, READONLY, OOM) is asked again here. */
export async function persistently<T>(call: () => Promise<T>): Promise<T> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
    try {
      return await call();
    } catch (error) {
      if (isProgrammingError(error)) throw error;
      await pause(pauseMs);
    }
  }
}

/** Errors that asking again cannot mend. */
function isProgrammingError(error: unknown): boolean {
  const message = error instanceof Error ? error.message : '';
  return /^(ERR|WRONGTYPE|NOPERM|NOAUTH|CROSSSLOT)/.test(message) && !message.includes('DISABLE_SCRIPTS')
    ? true
    : error instanceof TypeError;
}
