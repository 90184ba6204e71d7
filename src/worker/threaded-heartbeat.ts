// A heartbeat that runs in a thread of its own, as the worker sees it.
// Must never let the death of that thread go unnoticed: leases would run out under living attempts.
import { Worker } from 'node:worker_threads';
import type { ClaimRef } from '../journal/journal.ts';
import type { Heartbeat, StopAttempt } from './heartbeat.ts';
import type { BeatMessage, HeartbeatThreadData, WatchMessage } from './heartbeat-thread.ts';

export interface ThreadedHeartbeatOptions extends HeartbeatThreadData {
  onError(error: Error): void;
}

interface Watched {
  claim: ClaimRef;
  stop: StopAttempt;
}

/** Beside this file, in source and in the build. */
const THREAD_FILE = new URL(
  `./heartbeat-thread.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`,
  import.meta.url,
);

/** Attempts that begin and end within one turn of the event loop never cross to the thread. */
export function createThreadedHeartbeat({ onError, ...data }: ThreadedHeartbeatOptions): Heartbeat {
  const watched = new Map<number, Watched>();
  let began: number[] = [];
  let ended: number[] = [];
  let flushing: NodeJS.Immediate | undefined;
  let lastKey = 0;
  let closed = false;
  let thread = startThread();

  function startThread(): Worker {
    const started = new Worker(THREAD_FILE, { workerData: data });
    started.unref();
    started.on('message', hear);
    started.on('error', onError);
    started.once('exit', restart);
    return started;
  }

  function restart(): void {
    if (closed) return;
    onError(new Error('the heartbeat thread ended and is started again'));
    thread = startThread();
    began = [...watched.keys()];
    flush();
  }

  function hear(message: BeatMessage): void {
    if (message.kind === 'error') onError(new Error(message.message));
    else watched.get(message.key)?.stop(message.reason);
  }

  function flush(): void {
    flushing = undefined;
    const living = began.flatMap((key) => {
      const entry = watched.get(key);
      return entry ? [{ key, claim: entry.claim }] : [];
    });
    const message: WatchMessage = { began: living, ended };
    began = [];
    ended = [];
    if (living.length > 0 || message.ended.length > 0) thread.postMessage(message);
  }

  function end(key: number): void {
    watched.delete(key);
    if (began.at(-1) === key) began.pop();
    else ended.push(key);
    flushing ??= setImmediate(flush);
  }

  return {
    watch(claim, stop) {
      const key = ++lastKey;
      watched.set(key, { claim, stop });
      began.push(key);
      flushing ??= setImmediate(flush);
      return () => end(key);
    },
    close() {
      closed = true;
      clearImmediate(flushing);
      watched.clear();
      void thread.terminate();
    },
  };
}
