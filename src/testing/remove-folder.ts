/** Ends the process of a test's Redis, and removes its folder.
 *  It must never be given a folder that the test kit has not made. */
import { rmSync } from 'node:fs';

/** A Redis that was killed just now may still be writing; other processes of the kit remove it too. */
export function removeFolder(folder: string): void {
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 });
  } catch {
    // Another process has removed a part of it meanwhile.
  }
}

export function endProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}
