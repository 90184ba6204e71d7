/** Reads an HTTP response within limits, counted after decompression; the declared length is not trusted.
 *  It must never hold more than the limit, nor leave a connection open that keeps sending. */
import { setTimeout as delay } from 'node:timers/promises';
import { createByteGatherer } from './byte-gatherer.ts';
import {
  createEventCutter,
  type EventCutterOptions,
  type EventLimits,
  type RefusedEvent,
} from './event-cutter.ts';

export type BoundedBody =
  | { readonly ok: true; readonly bytes: Buffer<ArrayBuffer> }
  /** `bytes`: the beginning, up to the limit. */
  | { readonly ok: false; readonly bytes: Buffer<ArrayBuffer> };

/** Place that a large body needs, so that few of them are in memory at once. */
export interface LargePlace {
  /** Bytes that need no place. */
  readonly from: number;
  /** Resolves when there is one; what rejects ends the reading. Nothing more is read meanwhile. */
  take(): Promise<void>;
}

/** Rejects when the connection breaks. `place`: default: none is needed. */
export async function boundedBody(
  body: ReadableStream<Uint8Array> | null,
  maxBytes: number,
  place?: LargePlace,
): Promise<BoundedBody> {
  const held = createByteGatherer(maxBytes);
  let needsPlace = place !== undefined;
  if (body === null) return { ok: true, bytes: held.take() };
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { ok: true, bytes: held.take() };
    if (needsPlace && place !== undefined && held.length + value.length > place.from) {
      needsPlace = false;
      await place.take();
    }
    if (held.add(value)) continue;
    held.add(value.subarray(0, maxBytes - held.length));
    void reader.cancel().catch(() => {});
    return { ok: false, bytes: held.take() };
  }
}

export interface EventStreamOptions {
  readonly limits: EventLimits;
  readonly rewrite?: EventCutterOptions['rewrite'];
  /** May end the stream by throwing. */
  readonly onRefused: (event: RefusedEvent) => void;
  /** Called for each chunk; ends the stream by throwing. Default: no-op. */
  readonly onChunk?: (chunk: Uint8Array) => void;
  /** How long to pause after so many events, milliseconds. Default: no pause. */
  readonly restMs?: (events: number) => number;
  /** The bytes to pass on in place of those after the last whole event, at the end of the body. Default: they themselves. */
  readonly last?: (rest: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer>;
  /** Milliseconds after which the stream ends if nothing more comes; null: with the body. Default: always with the body. */
  readonly endsInMs?: () => number | null;
}

/** The same events without those that cross a limit. One stream over the body's reader: each `pipeThrough` would be two more. */
export function boundedEvents(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  {
    limits,
    rewrite,
    onRefused,
    onChunk,
    restMs = () => 0,
    last = (rest) => rest,
    endsInMs = () => null,
  }: EventStreamOptions,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const whole: Uint8Array<ArrayBuffer>[] = [];
  const cutter = createEventCutter({
    limits,
    onRefused,
    onEvents: (bytes) => (bytes.length > 0 ? whole.push(bytes) : 0),
    ...(rewrite === undefined ? {} : { rewrite }),
  });
  const reader = body.getReader();

  /** Reads until an event is whole. What breaks a limit ends the connection, after the events before it. */
  async function pull(controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>): Promise<void> {
    try {
      while (whole.length === 0) {
        const read = await readWithin(reader, endsInMs());
        if (read === null) void drained(reader);
        if (read === null || read.done) return end(controller);
        const { value } = read;
        onChunk?.(value);
        const ms = restMs(cutter.push(value));
        if (ms > 0) await delay(ms);
      }
    } catch (error) {
      void reader.cancel(error).catch(() => {});
      throw error;
    } finally {
      for (const bytes of whole.splice(0)) controller.enqueue(bytes);
    }
  }

  function end(controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>): void {
    const rest = last(cutter.rest());
    if (rest.length > 0) controller.enqueue(rest);
    controller.close();
  }

  const cancel = async (reason: unknown): Promise<void> => reader.cancel(reason);
  return new ReadableStream({ pull, cancel }, { highWaterMark: 0 });
}

type Reader = ReadableStreamDefaultReader<Uint8Array<ArrayBuffer>>;

/** null: nothing came within `ms`. A limit of null is none. */
async function readWithin(
  reader: Reader,
  ms: number | null,
): Promise<Awaited<ReturnType<Reader['read']>> | null> {
  if (ms === 0) return null;
  const read = reader.read();
  if (ms === null) return read;
  const over = new AbortController();
  const late = delay(ms, null, { signal: over.signal, ref: false }).catch(() => null);
  try {
    return await Promise.race([read, late]);
  } finally {
    over.abort();
    read.catch(() => {});
  }
}

/** Most time and bytes until a body ends of which nothing more is read. */
const DRAIN_MS = 1_000;
const DRAIN_BYTES = 64 * 1024;

/** Reads a body to its end, so that its connection can be used again; a body that does not end is cancelled. */
async function drained(reader: Reader): Promise<void> {
  const late = setTimeout(() => void reader.cancel().catch(() => {}), DRAIN_MS).unref();
  try {
    for (let bytes = 0; bytes <= DRAIN_BYTES;) {
      const { done, value } = await reader.read();
      if (done) return;
      bytes += value.length;
    }
    await reader.cancel();
  } catch {
    // The connection broke after the last event.
  } finally {
    clearTimeout(late);
  }
}

/** A response like the given one with another body. */
export function withBody(response: Response, body: ConstructorParameters<typeof Response>[0]): Response {
  const { status, statusText, headers } = response;
  const copy = new Response(hasNoBody(status) ? null : body, { status, statusText, headers });
  Object.defineProperty(copy, 'url', { value: response.url });
  return copy;
}

function hasNoBody(status: number): boolean {
  return status === 204 || status === 205 || status === 304;
}
