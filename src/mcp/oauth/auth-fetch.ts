/** fetch for what a stranger names: metadata and endpoints of authorization servers, within bounds of bytes and time.
 *  It must never follow a redirect by itself, nor reach an address nearer to this machine than the MCP server is. */
import { subscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { FetchLike } from '@modelcontextprotocol/client';
import { boundedBody, withBody } from '../../platform/bounds/bounded-response.ts';
import {
  type AddressRule,
  literalAddress,
  type Nearness,
  nearnessOf,
  type Resolve,
  sendChecked,
  systemResolve,
} from '../../platform/bounds/outgoing-request.ts';
import { isObject } from '../../contract/json/json-object.ts';

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
    const parts = await partsOf(address, init);
    // The SDK follows redirects within the origin, and each step comes here again.
    const answer = async (body: string | null): Promise<Response> => {
      if (usesProxy()) return throughProxy(address, { ...parts, body, signal }, options);
      const sent = sendChecked(address, { ...parts, body, signal, rule });
      const received = await sent.catch((error: unknown) => failed(error, signal));
      noteConnected(address.hostname, received.socket.remoteAddress);
      return responseTo(address, received);
    };
    const first = await answer(parts.body);
    const plainer = first.status === 400 ? registrationWithoutScope(parts.body) : null;
    return plainer === null ? first : answer(plainer);
  };
}

/** Some servers refuse a registration for a scope that they do not know, and need none there; null: it is no such registration. */
function registrationWithoutScope(body: unknown): string | null {
  const registration = typeof body === 'string' ? jsonIn(body) : null;
  if (!isObject(registration) || !('redirect_uris' in registration && 'scope' in registration)) return null;
  const { scope: _, ...others } = registration;
  return JSON.stringify(others);
}

/**
 * The answer as the protocol wants it, where it differs only in form: a member that is null is absent, and so is an address that is
 * empty; an authorization server is the same with and without a slash at its end (RFC 8414, 3.1), which the SDK accepts of the one
 * form only; what metadata and tokens need and every server here has is filled in where it is missing.
 */
function readable(bytes: Buffer<ArrayBuffer>): Buffer<ArrayBuffer> {
  const answer = jsonIn(bytes.toString('utf8'));
  if (!isObject(answer)) return bytes;
  const present = Object.entries(answer).filter(
    ([key, value]) => value !== null && !(value === '' && ADDRESS.test(key)),
  );
  // `fromEntries` makes a key `__proto__` a member like any other.
  const read: Record<string, unknown> = Object.fromEntries(present);
  const servers = read['authorization_servers'];
  if (typeof servers === 'string' || Array.isArray(servers))
    read['authorization_servers'] = [servers]
      .flat()
      .map((server: unknown) =>
        typeof server === 'string' && URL.canParse(server) ? withSlash(server) : server,
      );
  if ('authorization_endpoint' in read) fillIn(read, METADATA);
  if ('access_token' in read) fillIn(read, { token_type: 'Bearer' });
  const { scope, expires_in: life } = read;
  if (Array.isArray(scope)) read['scope'] = scope.join(' ');
  if (life === '' || Number.isNaN(Number(life))) delete read['expires_in'];
  return Buffer.from(JSON.stringify(read));
}

/** Members that the schemas of the SDK require, and that a login with a code does not read. */
const METADATA = {
  response_types_supported: ['code'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: [],
};

function fillIn(read: Record<string, unknown>, missing: Readonly<Record<string, unknown>>): void {
  for (const [key, value] of Object.entries(missing)) read[key] ??= value;
}

const ADDRESS = /_(?:uri|url|endpoint|documentation)$/;

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

/** An address whose path ends with a slash: the SDK accepts an issuer, and a resource, in both forms only where it expects this one. */
export function withSlash(address: string): string {
  const url = new URL(address);
  if (url.pathname.endsWith('/')) return address.endsWith('/') || url.search !== '' ? address : url.href;
  url.pathname += '/';
  return url.href;
}

/** Rejects with `AddressRefused`, as fetch does when a name has no address, and with the reason of the signal. */
export async function requireReachable(address: URL, options: AuthFetchOptions): Promise<void> {
  const rule = await ruleFor(address, options);
  if (rule === null) return;
  const found = await addressesOf(address, options);
  // Only behind a proxy.
  if (found.length === 0) return;
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

/**
 * The farthest of its addresses, and of those that it was connected at: a name that has also a near one, that has a near one
 * only when it is looked up here, or one that only a proxy knows, does not open this network.
 */
async function nearnessOfHost(url: URL, options: AuthFetchOptions): Promise<Nearness> {
  const all = (await addressesOf(url, options)).map(nearnessOf);
  return all.length === 0 ? 0 : (Math.min(...all, connectedAt.get(url.hostname) ?? 2) as Nearness);
}

/** Host → its farthest address of all connections of this process. */
const connectedAt = new Map<string, Nearness>();
/** A process connects to the hosts of its configuration, and to those that their metadata names. */
const MOST_CONNECTED = 10_000;

function noteConnected(hostname: string, address: string | undefined): void {
  if (address === undefined) return;
  const nearest = Math.min(nearnessOf(address), connectedAt.get(hostname) ?? 2) as Nearness;
  const [oldest] = connectedAt.keys();
  if (connectedAt.size >= MOST_CONNECTED && !connectedAt.has(hostname)) connectedAt.delete(oldest ?? '');
  connectedAt.set(hostname, nearest);
}

/** The connections of `fetch`, which the MCP client uses: its sockets are not shown otherwise. */
subscribe('undici:client:connected', (message) => {
  const { connectParams, socket } = message as {
    readonly connectParams: { readonly hostname: string };
    readonly socket: { readonly remoteAddress?: string };
  };
  noteConnected(connectParams.hostname, socket.remoteAddress);
});

async function addressesOf(url: URL, options: AuthFetchOptions): Promise<readonly string[]> {
  const { resolve = usesProxy() ? resolveBehindProxy : systemResolve, signal } = options;
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

/** Behind a proxy the names of the outside may be unknown here: the proxy resolves them, and none of them is near. */
const resolveBehindProxy: Resolve = async (name) => systemResolve(name).catch(() => []);

/** Where undici keeps what `fetch` connects with. */
const DISPATCHER = Symbol.for('undici.globalDispatcher.1');

function usesProxy(): boolean {
  const dispatcher: unknown = Reflect.get(globalThis, DISPATCHER);
  return typeof dispatcher === 'object' && dispatcher?.constructor.name === 'EnvHttpProxyAgent';
}

/** The proxy connects, so the address is checked before, as far as it is known here. */
async function throughProxy(
  address: URL,
  sent: Pick<RequestInit, 'method' | 'headers' | 'body' | 'signal'>,
  options: AuthFetchOptions,
): Promise<Response> {
  await requireReachable(address, options);
  const response = await fetch(address, { ...sent, redirect: 'manual' });
  const { ok, bytes } = await boundedBody(response.body, MAX_BYTES);
  if (!ok) throw new AddressRefused(`${address.host} answered with more than ${MAX_BYTES} bytes`);
  return withBody(response, readable(bytes));
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
  const body = EMPTY.has(statusCode) ? null : readable(read.bytes);
  const response = new Response(body, { status: statusCode, statusText: statusMessage, headers });
  return Object.defineProperty(response, 'url', { value: address.href });
}
