/** Reads the server-sent events of one connection; silence longer than the limit ends it.
 *  It must never reconnect: that is the follower's decision. */
import { createParser, type EventSourceMessage } from 'eventsource-parser';

/** Yields the events of `body` until it ends. Throws when the connection breaks or stays silent too long. */
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
      const { done, value } = await withinSilence(reader.read(), idleTimeoutMs);
      if (done) return;
      parser.feed(decoder.decode(value, { stream: true }));
      yield* events.splice(0);
    }
  } finally {
    void reader.cancel().catch(() => {});
  }
}

/** A half-open connection delivers nothing, not even the heartbeat: give it up instead of waiting for ever. */
async function withinSilence<T>(read: Promise<T>, limitMs: number): Promise<T> {
  const { promise: silence, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`The connection was silent for ${limitMs} ms.`)), limitMs);
  try {
    return await Promise.race([read, silence]);
  } finally {
    clearTimeout(timer);
  }
}
