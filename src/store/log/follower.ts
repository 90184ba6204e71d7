// Follows a request's signal log: what is written, then what comes, each sequence once and in order.
// Must never skip or repeat a sequence, whatever the channel loses.
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Signal } from '../../contract/signal/signal.ts';
import type { Announcement } from './announcement.ts';
import type { FollowOptions, LogPiece, SignalFollower, SignalLog } from './signal-log.ts';
import type { Subscriber } from './subscriber.ts';

/** Bound of one read of the log: a slow reader holds no more. */
const PIECE = { limit: 256, bytes: 262_144 };
/** Announcements held for a slow reader, and their characters; beyond this the log is read instead. */
const MAX_HELD = 256;
const MAX_HELD_CHARACTERS = 131_072;
/** A follower without announcements reads the log this often: announcements may be lost without a trace. */
export const RECHECK_MS = 5_000;

/** Announcements of one request, held until the reader takes them. */
class AnnouncementBuffer {
  #held: Announcement[] = [];
  #characters = 0;
  /** The log must be read: something was lost, dropped, or too large to announce. */
  gap = false;
  #wake: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #recheckMs: number;
  readonly #signal: AbortSignal | undefined;

  constructor(recheckMs: number, signal: AbortSignal | undefined) {
    this.#recheckMs = recheckMs;
    this.#signal = signal;
    signal?.addEventListener('abort', this.#stopWaiting);
  }

  #stopWaiting = (): void => this.#wake?.();

  #recheck = (): void => {
    if (this.#wake === undefined) return;
    this.gap = true;
    this.#wake();
  };

  receive = (announcement: Announcement | null): void => {
    if (announcement === null || this.#isFull(announcement)) {
      this.#held = [];
      this.#characters = 0;
      this.gap = true;
    } else if (!this.gap) {
      this.#held.push(announcement);
      this.#characters += announcement.characters;
    }
    this.#wake?.();
  };

  #isFull({ characters }: Announcement): boolean {
    return this.#held.length >= MAX_HELD || this.#characters + characters > MAX_HELD_CHARACTERS;
  }

  take(): Announcement | undefined {
    const held = this.#held.shift();
    this.#characters -= held?.characters ?? 0;
    return held;
  }

  get isEmpty(): boolean {
    return this.#held.length === 0;
  }

  /**
   * Waits for an announcement, a gap, the end of the signal or the time for another read; then a gap is assumed. One
   * timer and one listener serve all waits: a stream waits once for each part.
   */
  async wait(): Promise<void> {
    if (!this.isEmpty || this.gap || this.#signal?.aborted) return;
    this.#timer = this.#timer?.refresh() ?? setTimeout(this.#recheck, this.#recheckMs);
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    this.#wake = undefined;
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener('abort', this.#stopWaiting);
  }
}

/** Parts of logs that a process keeps for followers that come later. */
const MOST_KEPT = 64;

interface Pieces {
  /** Call the returned function when the follower ends: a log that has no follower is forgotten. */
  open(requestId: string): () => void;
  read(requestId: string, after: number): Promise<LogPiece>;
}

/** Later signals do not change a whole part of a log, so followers of a request that begin at different times share its reading. */
function sharedPieces(log: SignalLog): Pieces {
  const together = sharedReads<LogPiece>();
  const followed = new Map<string, { followers: number; kept: Map<number, LogPiece> }>();
  const kept: { requestId: string; after: number }[] = [];

  function keep(requestId: string, after: number, piece: LogPiece): void {
    const place = followed.get(requestId);
    if (place === undefined || place.kept.has(after)) return;
    place.kept.set(after, piece);
    kept.push({ requestId, after });
    const oldest = kept.length > MOST_KEPT ? kept.shift() : undefined;
    if (oldest !== undefined) followed.get(oldest.requestId)?.kept.delete(oldest.after);
  }

  return {
    open(requestId) {
      const place = followed.get(requestId) ?? { followers: 0, kept: new Map<number, LogPiece>() };
      place.followers += 1;
      followed.set(requestId, place);
      return () => {
        place.followers -= 1;
        if (place.followers === 0) followed.delete(requestId);
      };
    },
    async read(requestId, after) {
      const known = followed.get(requestId)?.kept.get(after);
      if (known !== undefined) return known;
      const piece = await together(`${requestId} ${after}`, async () => log.read(requestId, after, PIECE));
      if (piece.more) keep(requestId, after, piece);
      return piece;
    },
  };
}

/** Calls for the same key that come before the read has begun share it: a read that has begun may be too old for a later one. */
function sharedReads<T>(): (key: string, read: () => Promise<T>) => Promise<T> {
  const waiting = new Map<string, Promise<T>>();
  return async (key, read) => {
    const known = waiting.get(key);
    if (known !== undefined) return known;
    const begun = nextTurn().then(() => {
      waiting.delete(key);
      return read();
    });
    waiting.set(key, begun);
    return begun;
  };
}

interface RequestHead {
  readonly status: 'open' | 'closed';
  readonly sequence: number;
}

export interface FollowedJournal {
  readonly log: SignalLog;
  /** null: there is no such request. */
  head(requestId: string): Promise<RequestHead | null>;
}

export function createFollower(
  { log, head }: FollowedJournal,
  subscriber: Subscriber,
  recheckMs = RECHECK_MS,
): SignalFollower {
  const pieces = sharedPieces(log);
  const heads = sharedReads<RequestHead | null>();

  async function* follow(requestId: string, options: FollowOptions = {}): AsyncGenerator<Signal> {
    const { after = 0, signal } = options;
    if (options.follow === false) {
      yield* written(requestId, after, signal);
      return;
    }
    const buffer = new AnnouncementBuffer(recheckMs, signal);
    const leave = pieces.open(requestId);
    let unsubscribe = (): void => {};
    try {
      unsubscribe = await subscriber.listen(requestId, buffer.receive);
      yield* live(requestId, after, buffer, signal);
    } finally {
      leave();
      unsubscribe();
      buffer.close();
    }
  }

  async function* written(
    requestId: string,
    after: number,
    signal?: AbortSignal,
  ): AsyncGenerator<Signal, number> {
    let last = after;
    while (!signal?.aborted) {
      const { signals, more } = await pieces.read(requestId, last);
      for (const entry of signals) {
        yield entry;
        last = entry.sequence;
      }
      if (!more) break;
    }
    return last;
  }

  /** Reads the log whenever there may be a gap, and takes announcements while there is none. */
  async function* live(
    requestId: string,
    after: number,
    buffer: AnnouncementBuffer,
    signal?: AbortSignal,
  ): AsyncGenerator<Signal> {
    let last = after;
    buffer.gap = true;
    while (!signal?.aborted) {
      if (buffer.gap) {
        buffer.gap = false;
        last = yield* written(requestId, last, signal);
        if (await isOver(requestId, last)) return;
      }
      const held = buffer.take();
      if (!held) {
        await buffer.wait();
      } else if (held.sequence > last) {
        if (held.sequence === last + 1 && held.signal) {
          last = held.sequence;
          yield held.signal;
          if (held.closed && buffer.isEmpty && !buffer.gap) return;
        } else {
          buffer.gap = true;
        }
      }
    }
  }

  async function isOver(requestId: string, last: number): Promise<boolean> {
    const record = await heads(requestId, async () => head(requestId));
    return record === null || (record.status === 'closed' && record.sequence <= last);
  }

  return { follow };
}
