/** Lines for a person while the service is unreachable: one when that begins, one when it ends.
 *  It must never repeat a line while nothing changes. */
import type { Terminal } from './terminal.ts';

/** Called with each failed attempt to reach the service, and null after a success. */
export function createReachLines(terminal: Terminal): (failure: Error | null) => void {
  let awaySinceMs: number | null = null;
  return (failure) => {
    if (failure === null && awaySinceMs !== null) {
      const seconds = ((performance.now() - awaySinceMs) / 1_000).toFixed(1);
      terminal.err(terminal.paintErr('dim', `the service answers again after ${seconds} s`));
      awaySinceMs = null;
    }
    if (failure === null || awaySinceMs !== null) return;
    awaySinceMs = performance.now();
    const reason = failure.message.replace(/\.$/, '');
    const line = `${reason}; what was accepted is kept, and this command tries again until the service answers`;
    terminal.err(terminal.paintErr('yellow', line));
  };
}
