// The log of signals of each request: what appends to it, reads it and follows it. Redis Streams stand behind this interface;
// another store has to keep it, and scripts/include-log.lua, which appends together with a change of the state.
// Must never show a signal under two sequences, nor let a reader miss one.
import type { Signal, SignalDraft } from '../contract/signal.ts';
import type { RedisConnection } from '../redis/connection.ts';
import type { ClaimRef } from './journal.ts';
import type { KeySpace } from './keys.ts';
import type { RunScript } from './scripts.ts';

export interface PieceSize {
  /** The most signals. */
  limit: number;
  /** The most bytes of JSON. */
  bytes: number;
}

export interface LogPiece {
  signals: Signal[];
  /** The log holds more after the last of them. */
  more: boolean;
}

export interface SignalLog {
  /**
   * Signals of a running attempt, under the fence of its claim. One append at a time for each claim: a repeat of the last
   * one, and of no earlier one, is recognised.
   */
  append(ref: ClaimRef, signals: readonly SignalDraft[]): Promise<'appended' | 'stale' | 'no_room'>;
  /** Signals with a sequence above `after`, in order; at least one where there is one. */
  read(requestId: string, after: number, size: PieceSize): Promise<LogPiece>;
  /** null: no signal has this sequence. */
  at(requestId: string, sequence: number): Promise<Signal | null>;
}

export interface FollowOptions {
  /** Only signals after this sequence. Default: 0. */
  after?: number;
  signal?: AbortSignal;
  /** false: end at the last signal written so far. */
  follow?: boolean;
}

export interface SignalFollower {
  /** The signals of a request from `after` on, until it is closed. Unknown requests end at once. */
  follow(requestId: string, options?: FollowOptions): AsyncGenerator<Signal>;
}

export interface SignalLogOptions {
  connection: RedisConnection;
  keys: KeySpace;
  run: RunScript;
  /** The most that a request holds. */
  requestBytes: number;
}

export function createSignalLog({ connection, keys, run, requestBytes }: SignalLogOptions): SignalLog {
  return {
    async append(ref, signals) {
      const texts = signals.map((signal) => JSON.stringify(signal));
      const args = [ref.id, ref.fence, signals.at(-1)?.id ?? '', requestBytes, ...texts];
      const [kind] = await run('append', keys.request(ref.requestId), args);
      return kind as 'appended' | 'stale' | 'no_room';
    },
    async read(requestId, after, { limit, bytes }) {
      const [more, ...signals] = await run('log-read', keys.request(requestId), [after, limit, bytes]);
      return { signals: signals.map((json) => JSON.parse(String(json)) as Signal), more: more === 1 };
    },
    async at(requestId, sequence) {
      const id = `${sequence}-0`;
      const [entry] = await connection.xrange(keys.log(requestId), id, id);
      return entry ? (JSON.parse(entry[1][1] ?? 'null') as Signal) : null;
    },
  };
}
