// Waits for the signal that ends a directive.
// Must never rely on an announcement alone: what may have been missed is read from the journal.
import { isTerminalSignal, type Signal, type TerminalSignal } from '../../contract/signal/signal.ts';
import type { Announcement } from '../../store/log/announcement.ts';
import { RECHECK_MS } from '../../store/log/follower.ts';
import type { Journal } from '../../store/request/journal.ts';
import type { Subscriber } from '../../store/log/subscriber.ts';

export type Awaited =
  | { kind: 'ended'; signal: TerminalSignal }
  | { kind: 'unknown' }
  | { kind: 'timeout' }
  | { kind: 'aborted' };

export interface AwaitOptions {
  timeoutMs?: number;
  signal?: AbortSignal;
}

export interface ResultWatch {
  /** `fresh`: the directive was accepted after the watch began, so that its end cannot have been missed. */
  ended(options?: AwaitOptions & { fresh?: boolean }): Promise<Awaited>;
  stop(): void;
}

/** Whether `signal` ends the directive. */
function isEndOf(directiveId: string, signal: Signal): signal is TerminalSignal {
  return isTerminalSignal(signal) && signal.causationid === directiveId;
}

/** Sources of a watch: announcements, and the journal. */
export interface WatchParts {
  journal: Journal;
  subscriber: Subscriber;
  /** Poll interval without announcements, milliseconds. Default: 5 000. */
  recheckMs?: number;
}

/** Begins to listen to the request's log. */
export async function watchLog(
  parts: WatchParts,
  requestId: string,
  directiveId: string,
): Promise<ResultWatch> {
  const { subscriber } = parts;
  const watch = watchResult(parts, requestId, directiveId);
  const leave = await subscriber.listen(requestId, watch.hear);
  return { ended: watch.ended, stop: leave };
}

/** Begins to listen to this process' inbox; to be called before the directive is submitted with that inbox. */
export function watchInbox(parts: WatchParts, requestId: string, directiveId: string): ResultWatch {
  const { subscriber } = parts;
  const watch = watchResult(parts, requestId, directiveId);
  return { ended: watch.ended, stop: subscriber.listenInbox(requestId, directiveId, watch.hear) };
}

function watchResult(
  { journal, recheckMs = RECHECK_MS }: WatchParts,
  requestId: string,
  directiveId: string,
) {
  const found = Promise.withResolvers<Awaited>();
  let checking = false;
  /** An announcement arrived during the poll: it may have come too late for it. */
  let again = false;
  // Before `ended` is called the directive may not have been submitted yet.
  let submitted = false;

  async function check(): Promise<void> {
    again = true;
    if (checking) return;
    checking = true;
    try {
      while (again) await look();
    } finally {
      checking = false;
    }
  }

  async function look(): Promise<void> {
    again = false;
    const record = await journal.directive(requestId, directiveId);
    if (!record && submitted) found.resolve({ kind: 'unknown' });
    if (record?.terminal) await readTerminal(record.terminal);
  }

  async function readTerminal(sequence: number): Promise<void> {
    const signal = await journal.log.at(requestId, sequence);
    if (signal && isTerminalSignal(signal)) found.resolve({ kind: 'ended', signal });
  }

  function hear(announcement: Announcement | null): void {
    const signal = announcement?.signal ?? null;
    if (signal === null) check().catch(() => {});
    else if (isEndOf(directiveId, signal)) found.resolve({ kind: 'ended', signal });
  }

  async function ended({
    timeoutMs,
    signal,
    fresh,
  }: AwaitOptions & { fresh?: boolean } = {}): Promise<Awaited> {
    if (signal?.aborted) return { kind: 'aborted' };
    submitted = true;
    const abort = (): void => found.resolve({ kind: 'aborted' });
    signal?.addEventListener('abort', abort, { once: true });
    const timeout =
      timeoutMs === undefined ? undefined : setTimeout(() => found.resolve({ kind: 'timeout' }), timeoutMs);
    const recheck = setInterval(() => void check().catch(() => {}), recheckMs);
    try {
      if (!fresh) await check();
      return await found.promise;
    } finally {
      clearTimeout(timeout);
      clearInterval(recheck);
      signal?.removeEventListener('abort', abort);
    }
  }

  return { ended, hear };
}
