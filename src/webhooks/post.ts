// Posts one event to a receiver, and returns its status: nothing else of its answer is believed.
// Must never follow a redirect, reach a private address unasked, nor wait or read longer than its bounds.
import {
  type ClientRequest,
  type IncomingMessage,
  request as httpRequest,
  type RequestOptions,
} from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { LookupFunction } from 'node:net';
import { isPublicAddress, literalAddress, PrivateAddress, publicLookup } from './public-address.ts';

export interface Delivery {
  url: string;
  headers: Readonly<Record<string, string>>;
  body: string;
  /** From the first byte out to the headers of the answer, milliseconds. */
  timeoutMs: number;
  /** Whether the receiver may have an address that is not on the public internet. */
  privateAddresses: boolean;
  signal: AbortSignal;
  /** Default: the system's, without private addresses. */
  lookup?: LookupFunction;
}

export interface Reply {
  status: number;
  /** As the receiver wrote it; null: not at all. */
  retryAfter: string | null;
}

const MOST_HEADER_BYTES = 16_384;
/** Of an answer's body: read, so that the receiver ends in order, and thrown away. */
const MOST_BODY_BYTES = 65_536;
const LONGEST_BODY_MS = 2_000;

/** Rejects when there is no answer in time; with `PrivateAddress` where the receiver may not be reached. */
export async function post(delivery: Delivery): Promise<Reply> {
  const url = new URL(delivery.url);
  const literal = literalAddress(url.hostname);
  if (!delivery.privateAddresses && literal !== null && !isPublicAddress(literal))
    throw new PrivateAddress(`${literal} is not a public address`);
  const answer = await answerOf(url, delivery);
  discard(answer);
  const { statusCode: status = 0, headers } = answer;
  return { status, retryAfter: headers['retry-after'] ?? null };
}

function answerOf(
  url: URL,
  { headers, body, timeoutMs, signal, ...how }: Delivery,
): Promise<IncomingMessage> {
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const { lookup = how.privateAddresses ? undefined : publicLookup() } = how;
  const options: RequestOptions = {
    method: 'POST',
    headers: { ...headers, 'content-length': Buffer.byteLength(body) },
    // A connection for itself: its address was looked up for this delivery.
    agent: false,
    maxHeaderSize: MOST_HEADER_BYTES,
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    ...(lookup === undefined ? {} : { lookup }),
  };
  return new Promise((resolve, reject) => {
    const sent: ClientRequest = send(url, options, resolve);
    sent.on('error', reject);
    // Without a listener Node leaves an answer of 101 without an end; nobody speaks another protocol here.
    sent.on('upgrade', (answer, socket) => {
      socket.destroy();
      resolve(answer);
    });
    // Whatever closes it, whoever waits here is answered.
    sent.on('close', () =>
      reject(Object.assign(new Error('closed without an answer'), { code: 'ECONNRESET' })),
    );
    sent.end(body);
  });
}

/** The answer is known; what else comes may take neither room nor time. */
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
