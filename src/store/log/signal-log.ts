// The log of signals of each request: what appends to it, reads it and follows it. Another store has to keep this interface,
// and that of include-log.lua, which appends together with a change of the state.
// Must never show a signal under two sequences, nor let a reader miss one.
import type { Signal, SignalDraft } from '../../contract/signal/signal.ts';
import { type AppendVerdict, createAppendCalls } from './append-calls.ts';
import type { KeySpace } from '../keys.ts';
import type { RunScript } from '../scripts.ts';
import { readSignal, writeSignal } from './stored-signal.ts';
import type { ClaimRef } from '../refs.ts';

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
   * Signals of a running attempt, under the fence of its claim. One append at a time for each claim: a repeat of the
   * last one, and of no earlier one, is recognised. Where many append at once, it waits for others for some
   * milliseconds, unless it must be written `soon`. Default: false.
   */
  append(ref: ClaimRef, signals: readonly SignalDraft[], soon?: boolean): Promise<AppendVerdict>;
  /** Earlier appends no longer wait for others. */
  hurry(): void;
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
  keys: KeySpace;
  run: RunScript;
  /** All keys are on one Redis. */
  together: boolean;
  /** The most that a request holds. */
  mostBytes: (requestId: string) => number;
}

export function createSignalLog({ keys, run, together, mostBytes }: SignalLogOptions): SignalLog {
  const calls = createAppendCalls({ run, together });

  async function read(requestId: string, after: number, { limit, bytes }: PieceSize): Promise<LogPiece> {
    const [more, ...texts] = await run('log-read', keys.request(requestId), [after, limit, bytes]);
    return { signals: texts.map((text) => readSignal(requestId, String(text))), more: more === 1 };
  }

  return {
    append({ requestId, id, fence }, signals, soon = false) {
      const [state, , log] = keys.request(requestId);
      const texts = signals.map((signal) => writeSignal(requestId, signal));
      const head = [id, fence, signals.at(-1)?.id ?? '', mostBytes(requestId)];
      return calls.append({ keys: [state, log], head, texts }, soon);
    },
    hurry: calls.hurry,
    read,
    async at(requestId, sequence) {
      const { signals } = await read(requestId, sequence - 1, { limit: 1, bytes: 0 });
      return signals.find((signal) => signal.sequence === sequence) ?? null;
    },
  };
}
