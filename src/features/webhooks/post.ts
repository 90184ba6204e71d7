// Posts one event to a receiver, and returns its status: nothing else of its answer is believed.
// Must never follow a redirect, reach a private address unasked, nor wait or read longer than its bounds.
import type { IncomingMessage } from 'node:http';
import { PUBLIC_ONLY, type Resolve, sendChecked } from '../../platform/bounds/outgoing-request.ts';

export interface Delivery {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
  /** From the first byte out to the headers of the answer, milliseconds. */
  timeoutMs: number;
  /** Whether the receiver may have an address that is not on the public internet. */
  privateAddresses: boolean;
  signal: AbortSignal;
  /** Default: as the system resolves it. */
  resolve?: Resolve;
}

export interface Reply {
  status: number;
  /** As the receiver wrote it; null: not at all. */
  retryAfter: string | null;
}

/** Most bytes of an answer's body, read so that the receiver ends in order, and discarded. */
const MOST_BODY_BYTES = 65_536;
const LONGEST_BODY_MS = 2_000;

/** Rejects when there is no answer in time; with `PrivateAddress` where the receiver may not be reached. */
export async function post(delivery: Delivery): Promise<Reply> {
  const { url, headers, body, timeoutMs, privateAddresses, resolve } = delivery;
  const signal = AbortSignal.any([delivery.signal, AbortSignal.timeout(timeoutMs)]);
  const rule = privateAddresses ? null : { ...PUBLIC_ONLY, ...(resolve && { resolve }) };
  const answer = await sendChecked(new URL(url), { method: 'POST', headers, body, signal, rule });
  discard(answer);
  const { statusCode: status = 0, headers: answered } = answer;
  return { status, retryAfter: answered['retry-after'] ?? null };
}

/** The answer is known; the rest may take neither memory nor time. */
function discard(answer: IncomingMessage): void {
  let bytes = 0;
  const timer = setTimeout(() => answer.destroy(), LONGEST_BODY_MS).unref();
  answer.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > MOST_BODY_BYTES) answer.destroy();
  });
  answer.on('error', () => {});
  answer.on('close', () => clearTimeout(timer));
}
