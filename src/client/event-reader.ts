/** Reads the server-sent events of one connection; ends when nothing arrives within the limit.
 *  It must never reconnect: the follower decides that. */
import { createParser, type EventSourceMessage } from 'eventsource-parser';

/** Yields the events of `body` until it ends. Throws when the connection breaks or nothing arrives in time. */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  idleTimeoutMs: number,
): AsyncGenerator<EventSourceMessage, void, undefined> {
  const events: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (event) => void events.push(event) });
  const decoder = new TextDecoder();
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await withinLimit(reader.read(), idleTimeoutMs);
      if (done) return;
      parser.feed(decoder.decode(value, { stream: true }));
      yield* events.splice(0);
    }
  } finally {
    void reader.cancel().catch(() => {});
  }
}

/** Ends a connection that delivers nothing, not even the heartbeat: it is half-open. */
async function withinLimit<T>(read: Promise<T>, limitMs: number): Promise<T> {
  const { promise: timedOut, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`The connection was silent for ${limitMs} ms.`)), limitMs);
  try {
    return await Promise.race([read, timedOut]);
  } finally {
    clearTimeout(timer);
  }
}
