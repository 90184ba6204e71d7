/** Ends this process when its parent is gone: SIGKILL, unlike other signals, cannot be passed on.
 *  It must work on Node 20, never keep a process alive, and never act in a thread or a fork, which has its own parent. */
import { readFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const LOOK_MS = 500;

/** The parent and grandparent of this process; null where the system does not report them. */
export function ancestors() {
  return [process.ppid, parentOf(process.ppid)];
}

/**
 * Sends this process `signal` once one of `expected`, as `ancestors` returned them, is gone. A child of a lost parent
 * gets another parent, even before anything reaps the lost one.
 */
export function endWith(expected, signal) {
  const timer = setInterval(() => {
    const now = ancestors();
    if (expected.every((pid, index) => pid === null || pid === now[index])) return;
    clearInterval(timer);
    process.kill(process.pid, signal);
  }, LOOK_MS);
  timer.unref();
}

/** The argument that makes Node do this from its start. */
export function watchArgument(expected, signal) {
  const url = new URL(import.meta.url);
  url.search = new URLSearchParams({ expected: JSON.stringify(expected), signal }).toString();
  return `--import=${url.href}`;
}

function parentOf(pid) {
  try {
    // The program's name is in brackets and may hold anything; state and parent follow it.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1);
    return Number(fields.split(' ')[1]);
  } catch {
    return null;
  }
}

const { searchParams } = new URL(import.meta.url);
const signal = searchParams.get('signal');
if (signal !== null && isMainThread && process.channel === undefined)
  endWith(JSON.parse(searchParams.get('expected')), signal);
