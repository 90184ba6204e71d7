// Takes a chunk of an answer that holds nothing but pieces of its text where it comes from the socket: on its way through `fetch` each
// passes two streams and a dozen promises, which cost more than all that is done with it.
// Must never take one while an earlier one is still on that way, nor one that crosses a limit.
import { jsonExcess } from '../bounds/json-shape.ts';
import { type AnswerLimits, MAX_STREAM_BYTES } from './answer-limits.ts';
import type { DirectPieces } from './direct-stream.ts';

/** What the HTTP client of Node calls with each chunk; false: it stops reading until it is asked to go on. */
interface ResponseHandler {
  onHeaders?: (
    this: ResponseHandler,
    status: number,
    headers: readonly Buffer[],
    ...rest: unknown[]
  ) => boolean;
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
  let mayLead = false;

  function take(chunk: Buffer): boolean {
    const isNext = isBetween && bytes.passed === bytes.came;
    if (!isNext || bytes.came + bytes.taken + chunk.length > mostBytes) return false;
    if (jsonExcess(chunk, limits) !== null || !pieces.takeAll(chunk)) return false;
    bytes.taken += chunk.length;
    return true;
  }

  function lead(chunk: Buffer): void {
    const isWithin = chunk.length <= mostBytes && jsonExcess(chunk, limits) === null;
    mayLead = isWithin && pieces.lead(chunk, isBetween && bytes.passed === bytes.came);
  }

  function offered(chunk: Buffer): boolean {
    if (take(chunk)) return true;
    if (mayLead) lead(chunk);
    bytes.passed += chunk.length;
    return false;
  }

  return {
    init: tapped(offered, (status, headers) => {
      mayLead = status === 200 && isPlainStream(headers);
    }),
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

/** Names and values in turns: events, as they are. */
function isPlainStream(headers: readonly Buffer[]): boolean {
  let isEvents = false;
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = String(headers[at]).toLowerCase();
    if (name === 'content-encoding') return false;
    if (name === 'content-type') isEvents = /^text\/event-stream(?:;|$)/i.test(String(headers[at + 1]));
  }
  return isEvents;
}

type Take = (chunk: Buffer) => boolean;
type OnHeaders = (status: number, headers: readonly Buffer[]) => void;

/** `take`: true where the chunk is not for `fetch`. */
function tapped(take: Take, onHeaders: OnHeaders): RequestInit {
  const dispatcher = (globalThis as Record<symbol, unknown>)[GLOBAL_DISPATCHER] as Dispatcher | undefined;
  if (typeof dispatcher?.dispatch !== 'function') return {};
  const tap: Dispatcher = {
    dispatch: (options, handler) => dispatcher.dispatch(options, withTap(handler, take, onHeaders)),
  };
  return { dispatcher: tap } as unknown as RequestInit;
}

function withTap(handler: ResponseHandler, take: Take, begun: OnHeaders): ResponseHandler {
  const { onData, onHeaders } = handler;
  if (onData === undefined || onHeaders === undefined) return handler;
  const tap = Object.create(handler) as ResponseHandler;
  tap.onHeaders = function note(status, headers, ...rest) {
    begun(status, headers);
    return onHeaders.call(this, status, headers, ...rest);
  };
  tap.onData = function hand(chunk) {
    return take(chunk) || onData.call(this, chunk);
  };
  return tap;
}
