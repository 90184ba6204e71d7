// Requests to addresses of foreign origin: the addresses that they may reach, checked where the socket resolves them.
// Never checked before that: a name may have another address the next time.
import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import {
  type ClientRequest,
  type IncomingMessage,
  request as httpRequest,
  type RequestOptions,
} from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { Holds } from './while-it-holds.ts';

/** A host that has only addresses inside, where only those outside are allowed. */
export class PrivateAddress extends Error {
  override name = 'PrivateAddress';
}

/** 0: the public internet · 1: a private network · 2: this machine, its link, or no address of one host. */
export type Nearness = 0 | 1 | 2;

/** The library takes these for public: IPv4-compatible IPv6, and the host of a virtual machine of Azure. */
const ALSO_NEAR = ['::/96', '168.63.129.16/32'].map((range) => ipaddr.parseCIDR(range));
const PRIVATE_RANGES: ReadonlySet<string> = new Set(['private', 'carrierGradeNat', 'uniqueLocal']);

/** IPv4 in IPv6 counts as what it is inside; translated (NAT64, 6to4, Teredo) and reserved ranges are near. */
export function nearnessOf(address: string): Nearness {
  // The library reads `::10.0.0.1`, which is IPv4-compatible, as IPv4 in IPv6.
  if (!ipaddr.isValid(address) || (address.startsWith('::') && isIP(address.slice(2)) === 4)) return 2;
  const known = ipaddr.process(address);
  if (ALSO_NEAR.some(([range, bits]) => range.kind() === known.kind() && known.match(range, bits))) return 2;
  const range = known.range();
  return range === 'unicast' ? 0 : PRIVATE_RANGES.has(range) ? 1 : 2;
}

export function isPublicAddress(address: string): boolean {
  return nearnessOf(address) === 0;
}

/** The address in the host of a URL, or of a name that means this machine; null: it has to be looked up. */
export function literalAddress(hostname: string): string | null {
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  if (isIP(bare) !== 0) return bare;
  return /(^|\.)localhost\.?$/i.test(hostname) ? '127.0.0.1' : null;
}

/** Every address of a name. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

export const systemResolve: Resolve = async (hostname) =>
  (await lookup(hostname, { all: true })).map(({ address }) => address);

/** Which addresses a request may reach. */
export interface AddressRule {
  readonly isAllowed: (address: string) => boolean;
  /** The error where a host has no such address among those that were found. */
  readonly refusal: (hostname: string, found: readonly string[]) => Error;
  /** Default: as the system resolves it. */
  readonly resolve?: Resolve;
}

export const PUBLIC_ONLY: AddressRule = {
  isAllowed: isPublicAddress,
  refusal: (hostname) => new PrivateAddress(`${hostname} has no public address`),
};

/** For the `lookup` of a socket, which connects to one of the returned addresses without another lookup. */
export function checkedLookup({ isAllowed, refusal, resolve = systemResolve }: AddressRule): LookupFunction {
  return (hostname, options, callback) => {
    const answer = (found: readonly string[]): void => {
      const allowed = found
        .filter(isAllowed)
        .map((address): LookupAddress => ({ address, family: isIP(address) }));
      const [first] = allowed;
      if (first === undefined) return callback(refusal(hostname, found), '', 0);
      if (options.all === true) return callback(null, allowed);
      callback(null, first.address, first.family);
    };
    const fail = (error: NodeJS.ErrnoException): void => callback(error, '', 0);
    resolve(hostname).then(answer, fail);
  };
}

export interface OutgoingRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly signal: AbortSignal;
  /** null: every address. */
  readonly rule: AddressRule | null;
  /** Asked once the connection exists; false: nothing is written, and the request fails. Default: it is written in any case. */
  readonly holds?: Holds | null;
}

const MOST_HEADER_BYTES = 16_384;

/** The answer, whose body is not read; a redirect is one. Rejects with the refusal of the rule, or as the connection fails. */
export async function sendChecked(
  url: URL,
  { method, headers, body, signal, rule, holds = null }: OutgoingRequest,
): Promise<IncomingMessage> {
  // A socket does not look up an address.
  const literal = literalAddress(url.hostname);
  if (rule !== null && literal !== null && !rule.isAllowed(literal))
    throw rule.refusal(url.hostname, [literal]);
  const length = body === null ? {} : { 'content-length': Buffer.byteLength(body) };
  const options: RequestOptions = {
    method,
    headers: { ...headers, ...length },
    // A connection for itself: its address was looked up for this request.
    agent: false,
    maxHeaderSize: MOST_HEADER_BYTES,
    signal,
    ...(rule === null ? {} : { lookup: checkedLookup(rule) }),
  };
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const sent: ClientRequest = send(url, options, resolve);
    sent.on('error', reject);
    // Without a listener Node leaves an answer of 101 without an end; nothing here continues in another protocol.
    sent.on('upgrade', (answer, socket) => {
      socket.destroy();
      resolve(answer);
    });
    sent.on('close', () =>
      reject(Object.assign(new Error('closed without an answer'), { code: 'ECONNRESET' })),
    );
    const write = (): unknown =>
      holds?.() === false
        ? sent.destroy(new Error('what it needs is not held any more'))
        : sent.end(body ?? undefined);
    if (holds === null) write();
    else
      sent.once('socket', (socket) =>
        socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', write),
      );
  });
}
