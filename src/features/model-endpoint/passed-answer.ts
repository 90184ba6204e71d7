/** An answer on its way from the provider to the journal: its bytes as text, and what is read of them beside that.
 *  It must never report less than whole events, so that a reader that is cut can be told of an error after them. */
import { isUtf8 } from 'node:buffer';
import { setTimeout as delay } from 'node:timers/promises';
import type { ModelWire } from '../../contract/model/model-wire.ts';
import type { RawHead } from '../../contract/model/raw-answer.ts';
import type { AnswerPiece } from '../../models/answers/answer-collector.ts';
import {
  EMBEDDING_LIMITS,
  END_GRACE_MS,
  LANGUAGE_LIMITS,
  MAX_ERROR_BYTES,
  MAX_STREAM_BYTES,
} from '../../models/answers/answer-limits.ts';
import { RefusedAnswer } from '../../models/answers/refused-answer.ts';
import { boundedBody, type LargePlace } from '../../platform/bounds/bounded-response.ts';
import { createEventCutter } from '../../platform/bounds/event-cutter.ts';
import { jsonExcess } from '../../platform/bounds/json-shape.ts';
import type { AnswerReader } from './answer-reader.ts';

type Body = ReadableStream<Uint8Array<ArrayBuffer>>;

/** Response headers that callers get: their names, and the beginnings of names. */
const PASSED = new Set([
  'content-type',
  'openai-processing-ms',
  'openai-version',
  'request-id',
  'retry-after',
  'retry-after-ms',
  'x-request-id',
  'x-should-retry',
]);
const PASSED_BEGINNINGS = ['anthropic-ratelimit-', 'x-ratelimit-'];
const MOST_HEADERS = 32;
const LONGEST_HEADER = 1_024;

/** Status and headers of a response, as its caller gets them. */
export function headOf({ status, headers }: Response, hide: (text: string) => string): RawHead {
  const passed = [...headers]
    .filter(([name]) => PASSED.has(name) || PASSED_BEGINNINGS.some((beginning) => name.startsWith(beginning)))
    .slice(0, MOST_HEADERS)
    .map(([name, value]): [string, string] => [name, hide(value).slice(0, LONGEST_HEADER)]);
  return { status, headers: Object.fromEntries(passed) };
}

/** Whether the provider answers with a stream of events. */
export function isEventStream({ headers }: Response): boolean {
  return headers.get('content-type')?.toLowerCase().startsWith('text/event-stream') === true;
}

/** Far less JSON is read beside its way than is passed on: parsing vectors would hold up everything else. */
const MOST_READ_BYTES = 1_024 * 1_024;
const LAST_USAGE = /"usage"\s*:\s*(\{[^{}]{1,1000}\})/;

/** The body of a whole answer. Throws `RefusedAnswer` for one that is too large or no text. */
export async function readWhole(
  body: Body,
  wire: ModelWire,
  reader: AnswerReader,
  place: LargePlace,
): Promise<string> {
  const limits = wire === 'openai_embeddings' || wire === 'google_embed' ? EMBEDDING_LIMITS : LANGUAGE_LIMITS;
  const { ok, bytes } = await boundedBody(body, limits.maxBodyBytes, place);
  if (!ok) throw tooLarge(`is larger than ${limits.maxBodyBytes} bytes`);
  const text = textOf(bytes);
  if (bytes.length > MOST_READ_BYTES && limits === EMBEDDING_LIMITS) {
    const usage = LAST_USAGE.exec(text)?.[1];
    reader.take({ data: [], ...(usage === undefined ? {} : { usage: parsed(usage) }) });
  } else if (jsonExcess(bytes, limits) === null) reader.take(parsed(text));
  return text;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** The answer is kept as text, which has no place for other bytes. */
function textOf(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw new RefusedAnswer('too_large', 'the answer of the provider is not UTF-8');
  return bytes.toString('utf8');
}

function tooLarge(excess: string): RefusedAnswer {
  return new RefusedAnswer('too_large', `the answer of the provider ${excess}`);
}

export interface StreamTaker {
  /** Whole events, and the chunks that they add to the answer. The next ones are read once it has resolved; false: none are needed. */
  take(text: string, pieces: readonly AnswerPiece[]): Promise<boolean>;
  /** From now on each chunk must follow within the idle limit; not while what came is taken. */
  readonly limits: { expectNext(): void; pause(): void };
  readonly signal: AbortSignal;
  /** Place for a large event, which is given back once that is taken. */
  readonly place: LargePlace & { leave(): void };
}

/**
 * Reads a stream to its end. Returns what was not taken: the events from its end marker, or from an error, on; and a last one that is not
 * whole. Throws `RefusedAnswer` for a stream or an event that is too large.
 */
export async function readStream(
  body: Body,
  reader: AnswerReader,
  { take, limits, signal, place }: StreamTaker,
): Promise<string> {
  let passing = '';
  let rest = '';
  let pieces: AnswerPiece[] = [];
  let bytes = 0;
  /** The event that ends the answer; what follows it is not passed on, either. */
  let last: Buffer | null = null;
  let isOver = false;
  const cutter = createEventCutter({
    limits: LANGUAGE_LIMITS,
    onRefused: ({ reason }) => {
      throw tooLarge(`has an event that ${reason}`);
    },
    onEvents: (events) => {
      const text = textOf(Buffer.from(events.buffer, events.byteOffset, events.byteLength));
      isOver ||= events === last;
      if (isOver) rest += text;
      else passing += text;
    },
    // A copy comes by itself, and not in one text with the events before it.
    rewrite: (event) => {
      pieces.push(...readEvent(event, reader));
      if (last !== null || !(reader.isEnded() || reader.error() !== null)) return event;
      return (last = Buffer.from(event));
    },
  });
  const source = body.getReader();
  signal.addEventListener('abort', () => void source.cancel().catch(() => {}), { once: true });
  for (;;) {
    const read = await (reader.isEnded() ? withinGrace(source.read()) : source.read());
    limits.pause();
    signal.throwIfAborted();
    if (read === null) void source.cancel().catch(() => {});
    if (read === null || read.done) break;
    bytes += read.value.length;
    if (bytes > MAX_STREAM_BYTES) throw tooLarge(`is larger than ${MAX_STREAM_BYTES} bytes`);
    cutter.push(read.value);
    // An error is the end, whatever follows it.
    if (reader.error() !== null && rest.length > MAX_ERROR_BYTES) break;
    if ((passing !== '' || pieces.length > 0) && !(await take(passing, pieces))) {
      void source.cancel().catch(() => {});
      return '';
    }
    [passing, pieces] = ['', []];
    if (cutter.heldBytes() > place.from) await place.take();
    else place.leave();
    limits.expectNext();
  }
  return rest + textOf(Buffer.from(cutter.rest()));
}

/** null: the provider leaves the connection open after the end of its answer. */
async function withinGrace<T>(read: Promise<T>): Promise<T | null> {
  const over = new AbortController();
  try {
    return await Promise.race([read, delay(END_GRACE_MS, null, { signal: over.signal, ref: false })]);
  } finally {
    over.abort();
    read.catch(() => {});
  }
}

function readEvent(event: Buffer, reader: AnswerReader): AnswerPiece[] {
  const data = dataOf(event.toString('utf8'));
  if (data === null) return [];
  if (data === '[DONE]') reader.end();
  return data === '[DONE]' ? [] : reader.take(parsed(data));
}

/** The lines of data as one text; null: it has none. */
function dataOf(event: string): string | null {
  const lines = event.split(/\r\n|\n|\r/).flatMap((line) => {
    const [, value] = /^\u{feff}?data(?:: ?(.*))?$/su.exec(line) ?? [];
    return value === undefined ? [] : [value];
  });
  return lines.length === 0 ? null : lines.join('\n').trim();
}
