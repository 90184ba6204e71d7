// Knows of a call that was stopped whether its request had begun to leave this process, from what the HTTP client reports.
// Must never call a request unsent of which it has not seen that it was made.
import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';

interface Mark {
  isMade: boolean;
  isSent: boolean;
}

const making = new AsyncLocalStorage<Mark>();
/** Marks by the request of the HTTP client, and by the signal of the call. */
const ofRequest = new WeakMap<object, Mark>();
const ofCall = new WeakMap<AbortSignal, Mark>();

const requestIn = (message: unknown): object => Object((message as { request?: unknown }).request) as object;

function onCreate(message: unknown): void {
  const mark = making.getStore();
  if (mark === undefined) return;
  mark.isMade = true;
  ofRequest.set(requestIn(message), mark);
}

function onSend(message: unknown): void {
  const mark = ofRequest.get(requestIn(message));
  if (mark !== undefined) mark.isSent = true;
}

let isFollowing = false;

/** `send`: makes the one request of the call. */
export async function followed<T>(
  signal: AbortSignal | null | undefined,
  send: () => Promise<T>,
): Promise<T> {
  if (!signal) return send();
  if (!isFollowing) {
    isFollowing = true;
    subscribe('undici:request:create', onCreate);
    subscribe('undici:client:sendHeaders', onSend);
  }
  const mark = { isMade: false, isSent: false };
  ofCall.set(signal, mark);
  return making.run(mark, send);
}

/** Whether nothing of the call with this signal has left: it was still connecting. */
export function isUnsent(signal: AbortSignal): boolean {
  const mark = ofCall.get(signal);
  return mark !== undefined && mark.isMade && !mark.isSent;
}
