/** Follows a request's signals across connections: reconnects after every cut, from the last sequence it has.
 *  It must never skip or repeat a sequence. */
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import { signalsPath } from '../contract/api-path.ts';
import { DirectiveRefused, ServiceUnavailable } from '../contract/problem.ts';
import type { Signal } from '../contract/signal/signal.ts';
import type { Exchanger } from './exchange.ts';
import { createReconnection } from './reconnection.ts';

export interface FollowOptions {
  readonly after: number;
  /** Ends the iteration, without an error. */
  readonly signal: AbortSignal | undefined;
  /** Longer than the service's heartbeat. */
  readonly idleTimeoutMs: number;
  readonly random: () => number;
  /** Called with each failed attempt to reach the service again, and null after a success. */
  readonly onReach?: ((failure: ServiceUnavailable | null) => void) | undefined;
}

/** The follower's position in the log. */
interface Cursor {
  last: number;
  /** Whether the service has answered yet. Before that, a failure goes to the caller. */
  reached: boolean;
  ended: boolean;
}

/** Throws `DirectiveRefused` when the service refuses, `ServiceUnavailable` when it was never reached. */
export async function* followSignals(
  exchanger: Exchanger,
  requestId: string,
  options: FollowOptions,
): AsyncGenerator<Signal, void, undefined> {
  const cursor: Cursor = { last: options.after, reached: false, ended: false };
  const reconnection = createReconnection(options.random);
  while (!cursor.ended && !isAborted(options)) {
    const before = cursor.last;
    let failure: unknown = null;
    try {
      yield* readConnection(exchanger, requestId, cursor, options);
    } catch (error) {
      if (isAborted(options)) return;
      if (error instanceof DirectiveRefused || !cursor.reached) throw error;
      failure = error;
      if (error instanceof ServiceUnavailable) options.onReach?.(error);
    }
    if (cursor.last > before) reconnection.succeeded();
    if (!cursor.ended) await reconnection.wait(failure, options.signal);
  }
}

function isAborted({ signal }: FollowOptions): boolean {
  return signal?.aborted === true;
}

async function* readConnection(
  exchanger: Exchanger,
  requestId: string,
  cursor: Cursor,
  { signal, idleTimeoutMs, onReach }: FollowOptions,
): AsyncGenerator<Signal, void, undefined> {
  const headers = { accept: 'text/event-stream', 'last-event-id': String(cursor.last) };
  const response = await exchanger.open({ path: signalsPath(requestId), headers, signal });
  cursor.reached = true;
  onReach?.(null);
  if (response.status === 204 || response.body === null) {
    cursor.ended = true;
    return;
  }
  for await (const event of readEvents(response.body, idleTimeoutMs)) {
    if (event.event === 'adjutant.end') {
      const { last_sequence: last } = JSON.parse(event.data) as { last_sequence: number };
      cursor.ended = cursor.last >= last;
      return;
    }
    const read = JSON.parse(event.data) as Signal;
    if (read.sequence <= cursor.last) continue;
    // A signal is missing: close the connection and read again from the last one.
    if (read.sequence > cursor.last + 1) return;
    cursor.last = read.sequence;
    yield read;
  }
}

/** Yields the events of `body` until it ends. Throws when the connection breaks or nothing arrives in time. */
async function* readEvents(
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
