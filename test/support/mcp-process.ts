/** Whether a process of a test's server is still running.
 *  It must never count a zombie as alive: a grandchild may not have been reaped yet. */
import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

export function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return !isZombie(pid);
}

/** Resolves when the process is gone. The kernel reports the end of a grandchild to no process here. */
export async function gone(pid: number): Promise<void> {
  while (exists(pid)) await delay(5);
}

function isZombie(pid: number): boolean {
  try {
    return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
