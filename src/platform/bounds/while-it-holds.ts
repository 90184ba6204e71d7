// A request that is sent only while something holds, as it is when its content is written: until then it waits for a connection, and its
// process may be frozen.
// Must never guard more than one request of a call: what follows the first belongs to a call that has begun.
import { AsyncLocalStorage } from 'node:async_hooks';

/** Asked right before the content is written; false: it is not written, and the request fails. */
export type Holds = () => boolean;

interface Guard {
  readonly holds: Holds;
  isUsed: boolean;
}

const guards = new AsyncLocalStorage<Guard>();

/** Sends something, whose first request over HTTP is sent only while `holds` says so. undefined: in any case. */
export function whileItHolds<T>(holds: Holds | undefined, send: () => T): T {
  return holds === undefined ? send() : guards.run({ holds, isUsed: false }, send);
}

/** The question to ask right before the first request of this call is written, where it is not sent by `fetch`; null: there is none. */
export function lastQuestion(): Holds | null {
  const guard = guards.getStore();
  if (guard === undefined || guard.isUsed) return null;
  guard.isUsed = true;
  return guard.holds;
}

/** Body for `fetch`: a text that is produced once a connection exists, with its known length. */
export function heldBack(init: RequestInit | undefined): RequestInit | undefined {
  const guard = guards.getStore();
  if (guard === undefined || guard.isUsed || typeof init?.body !== 'string') return init;
  guard.isUsed = true;
  const bytes = new TextEncoder().encode(init.body);
  const headers = new Headers(init.headers);
  headers.set('content-length', String(bytes.length));
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (!guard.holds()) return controller.error(new Error('what it needs is not held any more'));
        controller.enqueue(bytes);
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  return { ...init, headers, body, duplex: 'half' } as RequestInit;
}
