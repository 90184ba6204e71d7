/** How near to this machine an address is, so that a server on the internet cannot send this process to the inside.
 *  It must never resolve a name. */
import { BlockList, isIP } from 'node:net';

/** 0: anywhere · 1: a private network · 2: this machine, its link, or what is no address of a host. */
export type Rank = 0 | 1 | 2;

const PRIVATE = blockList([
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['fc00::', 7],
]);

const NEAR = blockList([
  ['0.0.0.0', 8],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['192.0.0.0', 24],
  ['198.18.0.0', 15],
  ['224.0.0.0', 3],
  ['::', 127],
  ['fe80::', 10],
  ['ff00::', 8],
  ['64:ff9b::', 96],
]);

/** Of the nearest. */
export function rankOf(addresses: readonly string[]): Rank {
  if (addresses.some((address) => isIn(NEAR, address))) return 2;
  return addresses.some((address) => isIn(PRIVATE, address)) ? 1 : 0;
}

/** Of a URL, as in `[::1]`; null: it has to be resolved. */
export function literalAddress(hostname: string): string | null {
  const address = hostname.replace(/^\[(.*)\]$/, '$1');
  if (isIP(address) !== 0) return address;
  return /(^|\.)localhost\.?$/i.test(hostname) ? '127.0.0.1' : null;
}

function isIn(list: BlockList, address: string): boolean {
  return list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

function blockList(nets: readonly (readonly [string, number])[]): BlockList {
  const list = new BlockList();
  for (const [net, prefix] of nets) list.addSubnet(net, prefix, isIP(net) === 6 ? 'ipv6' : 'ipv4');
  return list;
}
