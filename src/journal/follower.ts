// Follows a request's signal log: what is written, then what comes, each sequence once and in order.
// Must never skip or repeat a sequence, whatever the channel loses.
import type { Signal } from '../contract/signal.ts';
import type { Journal } from './journal.ts';
import type { Announcement } from './announcement.ts';
import type { FollowOptions, SignalFollower } from './signal-log.ts';
import type { Subscriber } from './subscriber.ts';

/** What is read of the log at once: a slow reader holds no more. */
const PIECE = { limit: 256, bytes: 262_144 };
/** Announcements held for a slow reader, and their characters; beyond this the log is read instead. */
const MAX_HELD = 256;
const MAX_HELD_CHARACTERS = 131_072;
/** A follower that hears nothing looks into the log this often: announcements may be lost without a trace. */
export const RECHECK_MS = 5_000;

/** Announcements of one request, held until the reader takes them. */
class AnnouncementBuffer {
  #held: Announcement[] = [];
  #characters = 0;
  /** The log must be read: something was lost, dropped, or too large to announce. */
  gap = false;
  #wake: (() => void) | undefined;
  readonly #recheckMs: number;

  constructor(recheckMs: number) {
    this.#recheckMs = recheckMs;
  }

  receive = (announcement: Announcement | null): void => {
    if (announcement === null || this.#isFull(announcement)) {
      this.#held = [];
      this.#characters = 0;
      this.gap = true;
    } else if (!this.gap) {
      this.#held.push(announcement);
      this.#characters += announcement.json.length;
    }
    this.#wake?.();
  };

  #isFull({ json }: Announcement): boolean {
    return this.#held.length >= MAX_HELD || this.#characters + json.length > MAX_HELD_CHARACTERS;
  }

  take(): Announcement | undefined {
    const announcement = this.#held.shift();
    this.#characters -= announcement?.json.length ?? 0;
    return announcement;
  }

  get isEmpty(): boolean {
    return this.#held.length === 0;
  }

  /** Waits for an announcement, a gap, the end of `signal` or the time for another look; then a gap is assumed. */
  async wait(signal?: AbortSignal): Promise<void> {
    if (!this.isEmpty || this.gap || signal?.aborted) return;
    await new Promise<void>((resolve) => {
      const finish = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', finish);
        this.#wake = undefined;
        resolve();
      };
      const timer = setTimeout(() => {
        this.gap = true;
        finish();
      }, this.#recheckMs);
      signal?.addEventListener('abort', finish, { once: true });
      this.#wake = finish;
    });
  }
}

export function createFollower(
  { log, head }: Pick<Journal, 'log' | 'head'>,
  subscriber: Subscriber,
  recheckMs = RECHECK_MS,
): SignalFollower {
  async function* follow(requestId: string, options: FollowOptions = {}): AsyncGenerator<Signal> {
    const { after = 0, signal } = options;
    if (options.follow === false) {
      yield* written(requestId, after, signal);
      return;
    }
    const buffer = new AnnouncementBuffer(recheckMs);
    const unsubscribe = await subscriber.listen(requestId, buffer.receive);
    try {
      yield* live(requestId, after, buffer, signal);
    } finally {
      unsubscribe();
    }
  }

  async function* written(
    requestId: string,
    after: number,
    signal?: AbortSignal,
  ): AsyncGenerator<Signal, number> {
    let last = after;
    while (!signal?.aborted) {
      const { signals, more } = await log.read(requestId, last, PIECE);
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
      const announcement = buffer.take();
      if (!announcement) {
        await buffer.wait(signal);
      } else if (announcement.sequence > last) {
        if (announcement.sequence === last + 1 && announcement.json !== '') {
          last = announcement.sequence;
          yield JSON.parse(announcement.json) as Signal;
          if (announcement.closed && buffer.isEmpty && !buffer.gap) return;
        } else {
          buffer.gap = true;
        }
      }
    }
  }

  async function isOver(requestId: string, last: number): Promise<boolean> {
    const record = await head(requestId);
    return record === null || (record.status === 'closed' && record.sequence <= last);
  }

  return { follow };
}
