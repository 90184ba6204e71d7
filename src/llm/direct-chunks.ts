// Takes a chunk of an answer that holds nothing but pieces of its text where it comes from the socket: on its way through `fetch` each
// passes two streams and a dozen promises, which cost more than all that is done with it.
// Must never take one while an earlier one is still on that way, nor one that crosses a limit.
import { jsonExcess } from '../bounds/json-shape.ts';
import { type AnswerLimits, MAX_STREAM_BYTES } from './answer-limits.ts';
import type { DirectPieces } from './direct-stream.ts';

/** What the HTTP client of Node calls with each chunk; false: it stops reading until it is asked to go on. */
interface ResponseHandler {
  onData?: (this: ResponseHandler, chunk: Buffer) => boolean;
}

interface Dispatcher {
  dispatch(options: unknown, handler: ResponseHandler): boolean;
}

/** Where this Node keeps the dispatcher of its `fetch`. Another Node may keep it elsewhere: then nothing is taken. */
const GLOBAL_DISPATCHER = Symbol.for('undici.globalDispatcher.1');

export interface DirectChunks {
  /** For the `fetch` of the call. */
  readonly init: RequestInit;
  /** A chunk has come through `fetch`, which counts it. Returns the bytes of the answer so far. */
  came(bytes: number): number;
  /** What came is read; `isWhole`: it ended with a whole event. */
  read(isWhole: boolean): void;
}

/** `mostBytes`: of the whole answer. */
export function createDirectChunks(
  pieces: DirectPieces,
  limits: AnswerLimits,
  mostBytes = MAX_STREAM_BYTES,
): DirectChunks {
  const bytes = { passed: 0, came: 0, taken: 0 };
  let isBetween = false;

  function take(chunk: Buffer): boolean {
    const isNext = isBetween && bytes.passed === bytes.came;
    if (!isNext || bytes.came + bytes.taken + chunk.length > mostBytes) return false;
    if (jsonExcess(chunk, limits) !== null || !pieces.takeAll(chunk)) return false;
    bytes.taken += chunk.length;
    return true;
  }

  function offered(chunk: Buffer): boolean {
    if (take(chunk)) return true;
    bytes.passed += chunk.length;
    return false;
  }

  return {
    init: tapped(offered),
    came(length) {
      bytes.came += length;
      isBetween = false;
      return bytes.came + bytes.taken;
    },
    read(isWhole) {
      isBetween = isWhole;
    },
  };
}

/** `take`: true where the chunk is not for `fetch`. */
function tapped(take: (chunk: Buffer) => boolean): RequestInit {
  const dispatcher = (globalThis as Record<symbol, unknown>)[GLOBAL_DISPATCHER] as Dispatcher | undefined;
  if (typeof dispatcher?.dispatch !== 'function') return {};
  const tap: Dispatcher = {
    dispatch: (options, handler) => dispatcher.dispatch(options, withTap(handler, take)),
  };
  return { dispatcher: tap } as unknown as RequestInit;
}

function withTap(handler: ResponseHandler, take: (chunk: Buffer) => boolean): ResponseHandler {
  const { onData } = handler;
  if (onData === undefined) return handler;
  const tap = Object.create(handler) as ResponseHandler;
  tap.onData = function hand(chunk) {
    return take(chunk) || onData.call(this, chunk);
  };
  return tap;
}
