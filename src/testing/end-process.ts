/** Ends a process of the test kit at once.
 *  It must never be given the pid of something that the test kit has not started. */

/** As `kill -9`; nothing where it has ended. */
export function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}
