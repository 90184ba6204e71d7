/** fetch for what a stranger names: metadata and endpoints of authorization servers, within bounds of bytes and time.
 *  It must never follow a redirect by itself, nor reach an address nearer to this machine than the MCP server is. */
import { lookup } from 'node:dns/promises';
import type { FetchLike } from '@modelcontextprotocol/client';
import { boundedBody, withBody } from '../../bounds/bounded-response.ts';
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
    // `manual`: the SDK follows within the origin, and each step comes here again.
    const response = await fetch(address, { ...init, redirect: 'manual', signal });
    const { ok, bytes } = await boundedBody(response.body, MAX_BYTES);
    if (!ok) throw new AddressRefused(`${address.host} answered with more than ${MAX_BYTES} bytes`);
    return withBody(response, bytes);
  };
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

async function resolved(hostname: string): Promise<string[]> {
  return (await lookup(hostname, { all: true })).map(({ address }) => address);
}
