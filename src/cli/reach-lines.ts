/** What a person reads while the service is out of reach: a line when that begins, a line when it is over.
 *  It must never repeat itself while nothing changes. */
import type { Terminal } from './terminal.ts';

/** Given each failed try to reach the service, and null for each that succeeds. */
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
    const line = `${reason}; what it has accepted goes on, and it is asked again until it answers`;
    terminal.err(terminal.paintErr('yellow', line));
  };
}
