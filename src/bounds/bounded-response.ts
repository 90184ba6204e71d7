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

/** Rejects when the connection breaks. */
export async function boundedBody(
  body: ReadableStream<Uint8Array> | null,
  maxBytes: number,
): Promise<BoundedBody> {
  const held = createByteGatherer(maxBytes);
  if (body === null) return { ok: true, bytes: held.take() };
  const reader = body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return { ok: true, bytes: held.take() };
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
  /** How long to pause after so many events, milliseconds. Default: no pause. */
  readonly restMs?: (events: number) => number;
}

/** The same events without those that cross a limit. */
export function boundedEvents(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  { limits, rewrite, onRefused, restMs = () => 0 }: EventStreamOptions,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  let pass: (bytes: Uint8Array<ArrayBuffer>) => void = () => {};
  const cutter = createEventCutter({
    limits,
    onRefused,
    onEvents: (bytes) => pass(bytes),
    ...(rewrite === undefined ? {} : { rewrite }),
  });
  return body.pipeThrough(
    new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
      transform(chunk, controller) {
        pass = (bytes) => controller.enqueue(bytes);
        const ms = restMs(cutter.push(chunk));
        return ms > 0 ? delay(ms) : undefined;
      },
      flush(controller) {
        const rest = cutter.rest();
        if (rest.length > 0) controller.enqueue(rest);
      },
    }),
  );
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
