/** fetch for what a stranger names: metadata and endpoints of authorization servers, within bounds of bytes and time.
 *  It must never follow a redirect by itself, nor reach an address nearer to this machine than the MCP server is. */
import { lookup } from 'node:dns/promises';
import type { FetchLike } from '@modelcontextprotocol/client';
import { boundedBody, withBody } from '../../bounds/bounded-response.ts';
import { isObject } from '../../contract/json-object.ts';
import { literalAddress, type Rank, rankOf } from './address-rank.ts';

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
  /** Every address of a name. Default: as the system resolves it. */
  readonly resolve?: (hostname: string) => Promise<readonly string[]>;
}

/** Metadata has a few KiB; a document of keys is not fetched. */
const MAX_BYTES = 256 * 1_024;
/** Discovery takes five, a login or a renewal two more, each with redirects within its origin. */
const MAX_REQUESTS = 24;

export function createAuthFetch(options: AuthFetchOptions): FetchLike {
  let requests = 0;
  return async (url, init) => {
    requests += 1;
    if (requests > MAX_REQUESTS) throw new AddressRefused(`more than ${MAX_REQUESTS} requests for one login`);
    const address = new URL(url);
    await requireReachable(address, options);
    const signal = init?.signal ? AbortSignal.any([init.signal, options.signal]) : options.signal;
    const answer = async (body = init?.body): Promise<Response> => {
      // `manual`: the SDK follows within the origin, and each step comes here again.
      const sent = { ...init, ...(body === undefined ? {} : { body }), redirect: 'manual', signal } as const;
      const response = await fetch(address, sent);
      const { ok, bytes } = await boundedBody(response.body, MAX_BYTES);
      if (!ok) throw new AddressRefused(`${address.host} answered with more than ${MAX_BYTES} bytes`);
      return withBody(response, readable(bytes));
    };
    const first = await answer();
    const plainer = first.status === 400 ? registrationWithoutScope(init?.body) : null;
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
export async function requireReachable(
  address: URL,
  { serverUrl, issuer, resolve = resolved, signal }: AuthFetchOptions,
): Promise<void> {
  const bounded = (hostname: string) => resolvedWithin(hostname, resolve, signal);
  const isNamed = issuer !== undefined && new URL(issuer).origin === address.origin;
  if (address.protocol === 'https:' && isNamed) return;
  const rank = await rankOfHost(address, bounded);
  const isLocal = address.protocol === 'http:' && rank === 2;
  if (address.protocol !== 'https:' && !isLocal)
    throw new AddressRefused(`${address.origin} is not https: no secret is sent there`);
  if (isNamed || rank <= (await rankOfHost(new URL(serverUrl), bounded))) return;
  throw new AddressRefused(
    `${address.origin} is an address inside of this network, and the MCP server is outside of it`,
  );
}

async function rankOfHost(
  { hostname }: URL,
  resolve: (hostname: string) => Promise<readonly string[]>,
): Promise<Rank> {
  const literal = literalAddress(hostname);
  return rankOf(literal === null ? await resolve(hostname) : [literal]);
}

/** A lookup cannot be ended: nobody waits for it any longer. */
async function resolvedWithin(
  hostname: string,
  resolve: (hostname: string) => Promise<readonly string[]>,
  signal: AbortSignal,
): Promise<readonly string[]> {
  signal.throwIfAborted();
  const ended = Promise.withResolvers<never>();
  const end = (): void => ended.reject(signal.reason);
  signal.addEventListener('abort', end, { once: true });
  try {
    return await Promise.race([resolve(hostname), ended.promise]);
  } catch (cause) {
    signal.throwIfAborted();
    throw new TypeError('fetch failed', { cause });
  } finally {
    signal.removeEventListener('abort', end);
  }
}

/** Behind a proxy the names of the outside may be unknown here: the proxy resolves them, and none of them is near. */
async function resolved(hostname: string): Promise<string[]> {
  try {
    return (await lookup(hostname, { all: true })).map(({ address }) => address);
  } catch (error) {
    if (usesProxy()) return [];
    throw error;
  }
}

/** Where undici keeps what `fetch` connects with. */
const DISPATCHER = Symbol.for('undici.globalDispatcher.1');

function usesProxy(): boolean {
  const dispatcher: unknown = Reflect.get(globalThis, DISPATCHER);
  return typeof dispatcher === 'object' && dispatcher?.constructor.name === 'EnvHttpProxyAgent';
}
