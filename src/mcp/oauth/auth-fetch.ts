/** fetch for what a stranger names: metadata and endpoints of authorization servers, within bounds of bytes and time.
 *  It must never follow a redirect by itself, nor reach an address nearer to this machine than the MCP server is. */
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { FetchLike } from '@modelcontextprotocol/client';
import { boundedBody } from '../../bounds/bounded-response.ts';
import {
  type AddressRule,
  literalAddress,
  type Nearness,
  nearnessOf,
  type Resolve,
  sendChecked,
  systemResolve,
} from '../../bounds/outgoing-request.ts';

/** A TypeError, as a fetch that failed: the SDK does not go on to another address after it. */
export class AddressRefused extends TypeError {
  override readonly name = 'AddressRefused';
}

export interface AuthFetchOptions {
  /** The MCP server. */
  readonly serverUrl: string;
  /** The authorization server that the operator has named; its origin is trusted as it is. */
  readonly issuer?: string | undefined;
  /** For all requests together. */
  readonly signal: AbortSignal;
  /** Default: as the system resolves it. */
  readonly resolve?: Resolve;
}

/** Metadata has a few KiB; a document of keys is not fetched. */
const MAX_BYTES = 256 * 1_024;
/** Discovery takes five, a login or a renewal two more, each with redirects within its origin. */
const MAX_REQUESTS = 24;

export function createAuthFetch(options: AuthFetchOptions): FetchLike {
  let requests = 0;
  return async (url, init = {}) => {
    requests += 1;
    if (requests > MAX_REQUESTS) throw new AddressRefused(`more than ${MAX_REQUESTS} requests for one login`);
    const address = new URL(url);
    const rule = await ruleFor(address, options);
    const signal = init.signal ? AbortSignal.any([init.signal, options.signal]) : options.signal;
    const { method, headers, body } = await partsOf(address, init);
    // The SDK follows redirects within the origin, and each step comes here again.
    const sent = sendChecked(address, { method, headers, body, signal, rule });
    return responseTo(address, await sent.catch((error: unknown) => failed(error, signal)));
  };
}

/** Rejects with `AddressRefused`, as fetch does when a name has no address, and with the reason of the signal. */
export async function requireReachable(address: URL, options: AuthFetchOptions): Promise<void> {
  const rule = await ruleFor(address, options);
  if (rule === null) return;
  const found = await addressesOf(address, options);
  if (!found.some(rule.isAllowed)) throw rule.refusal(address.hostname, found);
}

/** null: every address. */
async function ruleFor(address: URL, options: AuthFetchOptions): Promise<AddressRule | null> {
  const { serverUrl, issuer, resolve = systemResolve } = options;
  const isNamed = issuer !== undefined && new URL(issuer).origin === address.origin;
  const isHttps = address.protocol === 'https:';
  if (isHttps && isNamed) return null;
  const insecure = `${address.origin} is not https: no secret is sent there`;
  if (!isHttps && address.protocol !== 'http:') throw new AddressRefused(insecure);
  const nearest = isNamed ? 2 : await nearnessOfHost(new URL(serverUrl), options);
  const inside = `${address.origin} is an address inside of this network, and the MCP server is outside of it`;
  const isLocal = (each: string): boolean => nearnessOf(each) === 2;
  return {
    isAllowed: (each) => nearnessOf(each) <= nearest && (isHttps || isLocal(each)),
    // Without https a request goes to this machine only.
    refusal: (_hostname, found) => new AddressRefused(isHttps || found.some(isLocal) ? inside : insecure),
    resolve: async (name) => within(options, resolve(name)),
  };
}

/** The farthest of its addresses: a name that has also a near one does not open this network. */
async function nearnessOfHost(url: URL, options: AuthFetchOptions): Promise<Nearness> {
  const all = (await addressesOf(url, options)).map(nearnessOf);
  return Math.min(...all) as Nearness;
}

async function addressesOf(url: URL, options: AuthFetchOptions): Promise<readonly string[]> {
  const { resolve = systemResolve, signal } = options;
  const literal = literalAddress(url.hostname);
  if (literal !== null) return [literal];
  signal.throwIfAborted();
  return within(options, resolve(url.hostname)).catch((error: unknown) => failed(error, signal));
}

/** A lookup cannot be ended: nothing waits for it any longer. */
async function within<T>({ signal }: AuthFetchOptions, work: Promise<T>): Promise<T> {
  signal.throwIfAborted();
  const ended = Promise.withResolvers<never>();
  const end = (): void => ended.reject(signal.reason);
  signal.addEventListener('abort', end, { once: true });
  try {
    return await Promise.race([work, ended.promise]);
  } finally {
    signal.removeEventListener('abort', end);
  }
}

/** Throws what fetch throws. */
function failed(cause: unknown, signal: AbortSignal): never {
  signal.throwIfAborted();
  throw cause instanceof AddressRefused ? cause : new TypeError('fetch failed', { cause });
}

async function partsOf(address: URL, init: RequestInit) {
  const { method, headers, body } = new Request(address, { ...init, signal: null });
  return {
    method,
    headers: { ...Object.fromEntries(headers), 'accept-encoding': 'identity' },
    body: body === null ? null : await new Response(body).text(),
  };
}

/** Answers that have no body, whatever follows them. */
const EMPTY: ReadonlySet<number> = new Set([101, 204, 205, 304]);

async function responseTo(address: URL, answer: IncomingMessage): Promise<Response> {
  const { statusCode = 0, statusMessage = '', headersDistinct } = answer;
  const read = await boundedBody(Readable.toWeb(answer) as ReadableStream<Uint8Array>, MAX_BYTES);
  if (!read.ok) throw new AddressRefused(`${address.host} answered with more than ${MAX_BYTES} bytes`);
  if (statusCode < 200) throw new TypeError('fetch failed');
  const headers = Object.entries(headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  );
  const body = EMPTY.has(statusCode) ? null : read.bytes;
  const response = new Response(body, { status: statusCode, statusText: statusMessage, headers });
  return Object.defineProperty(response, 'url', { value: address.href });
}
