/** Cuts a stream of server-sent events into whole events of bounded length, each checked before it is passed on.
 *  It must never change a byte of an event by itself, nor hold more than one. */
import { createByteGatherer } from './byte-gatherer.ts';
import { type JsonLimits, isWithin, jsonExcess } from './json-shape.ts';
import { headOf, tailOf } from './text-ends.ts';

export interface EventLimits extends JsonLimits {
  /** Bytes of one event with all its lines. */
  readonly maxEventBytes: number;
}

/** A refused event: what was wrong with it, and its two ends, which identify the message. */
export interface RefusedEvent {
  readonly reason: string;
  readonly head: string;
  /** '' while the event has not ended. */
  readonly tail: string;
}

export interface EventCutterOptions {
  readonly limits: EventLimits;
  /** One or more whole events. */
  readonly onEvents: (bytes: Uint8Array<ArrayBuffer>) => void;
  /** Rewrites an event within the limits; returning the event itself leaves it unchanged. Default: unchanged. */
  readonly rewrite?: (event: Buffer<ArrayBuffer>) => Uint8Array<ArrayBuffer>;
  /** Called when an event crosses a limit, and again at its end if it went on after that. */
  readonly onRefused: (event: RefusedEvent) => void;
}

export interface EventCutter {
  /** How many events ended in the chunk. Throws at an event that goes on far beyond the limit. */
  push(chunk: Uint8Array): number;
  /** Bytes of the event that has not ended. */
  heldBytes(): number;
  /** The bytes after the last event, at the end of the stream. */
  rest(): Uint8Array<ArrayBuffer>;
}

const LINE_FEED = 10;
const CARRIAGE_RETURN = 13;
const KEPT_END_BYTES = 512;
/** The event parser keeps an object for each line of data, so lines are limited too. */
const MAX_LINES = 100_000;

export function createEventCutter({
  limits,
  onEvents,
  onRefused,
  rewrite = (event) => event,
}: EventCutterOptions): EventCutter {
  const held = createByteGatherer(limits.maxEventBytes);
  const ends = createEndFinder();
  let skipped: Skipped | null = null;
  const isHolding = (): boolean => held.length > 0 || skipped !== null;

  const refuse = (reason: string, event: Buffer): void =>
    onRefused({
      reason,
      head: headOf(event, KEPT_END_BYTES).toString('utf8'),
      tail: tailOf(event, KEPT_END_BYTES).toString('utf8'),
    });
  const hold = (piece: Buffer): void => {
    if (skipped !== null) return skip(skipped, piece, limits);
    if (held.add(piece) && ends.lines() <= MAX_LINES) return;
    const start = held.take();
    const head = headOf(piece, KEPT_END_BYTES, headOf(start, KEPT_END_BYTES));
    const tail = tailOf(piece, KEPT_END_BYTES, tailOf(start, KEPT_END_BYTES));
    const reason =
      ends.lines() > MAX_LINES
        ? `has more than ${MAX_LINES} lines`
        : `is larger than ${limits.maxEventBytes} bytes`;
    skipped = { reason, head, tail, bytes: 0 };
    onRefused({ reason, head: head.toString('utf8'), tail: '' });
  };
  /** The whole event; null if something is wrong with it. */
  const whole = (last: Buffer): Buffer<ArrayBuffer> | null => {
    if (isHolding() || last.length > limits.maxEventBytes) hold(last);
    if (skipped !== null) {
      const { reason, head, tail } = skipped;
      skipped = null;
      onRefused({ reason, head: head.toString('utf8'), tail: tail.toString('utf8') });
      return null;
    }
    const event = (held.length > 0 ? held.take() : last) as Buffer<ArrayBuffer>;
    const excess = dataExcess(event, limits);
    if (excess !== null) refuse(excess, event);
    return excess === null ? event : null;
  };

  return {
    push(chunk) {
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      let passed = 0;
      let start = 0;
      let events = 0;
      // Events that follow each other in one chunk are passed on together.
      const passUntil = (end: number): void => {
        if (end > passed) onEvents(bytes.subarray(passed, end) as Buffer<ArrayBuffer>);
      };
      for (let end = ends.next(bytes, 0); end !== -1; end = ends.next(bytes, end)) {
        const wasHeld = isHolding();
        const event = whole(bytes.subarray(start, end));
        const passing = event === null ? null : rewrite(event);
        if (wasHeld || event === null || passing !== event) {
          passUntil(start);
          passed = end;
          if (passing !== null) onEvents(passing);
        }
        start = end;
        events += 1;
      }
      passUntil(start);
      if (start < bytes.length) hold(bytes.subarray(start));
      return events;
    },
    heldBytes: () => held.length,
    rest: () => held.take() as Buffer<ArrayBuffer>,
  };
}

/** An event that is not kept, while it goes on. */
interface Skipped {
  readonly reason: string;
  head: Buffer;
  tail: Buffer;
  bytes: number;
}

/** An event is skipped up to this many times the limit; a longer one counts as endless. */
const MAX_SKIPPED_EVENTS = 4;

function skip(skipped: Skipped, piece: Buffer, { maxEventBytes }: EventLimits): void {
  skipped.bytes += piece.length;
  skipped.head = headOf(piece, KEPT_END_BYTES, skipped.head);
  skipped.tail = tailOf(piece, KEPT_END_BYTES, skipped.tail);
  if (skipped.bytes > MAX_SKIPPED_EVENTS * maxEventBytes)
    throw new Error(`an event is larger than ${maxEventBytes} bytes and does not end`);
}

interface EndFinder {
  /** The end of the next event at or after `from`, its empty line included; -1: it does not end in this chunk. */
  next(bytes: Buffer, from: number): number;
  /** Lines of the event so far. */
  lines(): number;
}

/** An event ends with an empty line; a line ends with LF, CR or both. */
function createEndFinder(): EndFinder {
  let isLineEmpty = true;
  let wasReturn = false;
  let lines = 0;
  let nextReturn = -1;
  return {
    lines: () => lines,
    next(bytes, from) {
      if (from === 0) nextReturn = bytes.indexOf(CARRIAGE_RETURN);
      for (let at = from; at < bytes.length;) {
        if (wasReturn) {
          wasReturn = false;
          if (bytes[at] === LINE_FEED) {
            at += 1;
            continue;
          }
        }
        if (nextReturn !== -1 && nextReturn < at) nextReturn = bytes.indexOf(CARRIAGE_RETURN, at);
        const feed = bytes.indexOf(LINE_FEED, at);
        const end = feed === -1 || (nextReturn !== -1 && nextReturn < feed) ? nextReturn : feed;
        if (end === -1) {
          isLineEmpty = false;
          return -1;
        }
        const wasEmpty = isLineEmpty && end === at;
        wasReturn = bytes[end] === CARRIAGE_RETURN;
        isLineEmpty = true;
        lines += 1;
        at = end + 1;
        if (!wasEmpty) continue;
        lines = 0;
        if (!wasReturn || bytes[at] !== LINE_FEED) return at;
        wasReturn = false;
        return at + 1;
      }
      return -1;
    },
  };
}

const BYTE_ORDER_MARK = '\u{feff}';
const DATA_FIELD = /^data(?:: ?|$)/;

/** Excess of the JSON that the event carries. Its lines of data are one text. */
function dataExcess(event: Buffer, limits: JsonLimits): string | null {
  if (isWithin(event.length, limits)) return null;
  const start = event.length > 0 && event.toString('utf8', 0, 3) === BYTE_ORDER_MARK ? 3 : 0;
  const values = linesOf(event.subarray(start)).flatMap((line) => {
    const field = DATA_FIELD.exec(line.toString('latin1', 0, 6))?.[0];
    return field === undefined ? [] : [line.subarray(field.length)];
  });
  const [only] = values;
  return jsonExcess(values.length === 1 && only !== undefined ? only : Buffer.concat(values), limits);
}

function linesOf(event: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  const hasReturns = event.includes(CARRIAGE_RETURN);
  for (let start = 0; start < event.length;) {
    const end = hasReturns ? nearestEnd(event, start) : event.indexOf(LINE_FEED, start);
    lines.push(event.subarray(start, end === -1 ? event.length : end));
    start = end === -1 ? event.length : end + 1;
  }
  return lines;
}

function nearestEnd(event: Buffer, start: number): number {
  let at = start;
  while (at < event.length && event[at] !== LINE_FEED && event[at] !== CARRIAGE_RETURN) at += 1;
  return at;
}
