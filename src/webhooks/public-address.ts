// Whether an address belongs to the public internet, and a lookup that gives only such addresses to a socket.
// Must never be asked before the lookup instead of in it: a name may have another address the next time.
import { lookup as systemLookup, type LookupAddress, type LookupOptions } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';

/** A receiver that is inside, where only those outside are allowed. */
export class PrivateAddress extends Error {
  override name = 'PrivateAddress';
}

/** Which the library takes for public: IPv4-compatible IPv6, and what a virtual machine of Azure asks its host at. */
const ALSO_INSIDE = ['::/96', '168.63.129.16/32'].map((range) => ipaddr.parseCIDR(range));

/** IPv4 in IPv6 counts as what it is inside; loopback, link-local, private, CGNAT, translated and reserved ranges are not public. */
export function isPublicAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const known = ipaddr.process(address);
  const isInside = ALSO_INSIDE.some(
    ([range, bits]) => range.kind() === known.kind() && known.match(range, bits),
  );
  return known.range() === 'unicast' && !isInside;
}

/** The literal address in the host of a URL; null: it is a name. */
export function literalAddress(hostname: string): string | null {
  const bare = hostname.startsWith('[') ? hostname.slice(1, -1) : hostname;
  return isIP(bare) === 0 ? null : bare;
}

type Resolve = (
  hostname: string,
  options: LookupOptions & { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void;

/** For the `lookup` of a socket: an error where no address of the name is public. */
export function publicLookup(resolve: Resolve = systemLookup): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, '', 0);
      const open = addresses.filter(({ address }) => isPublicAddress(address));
      const [first] = open;
      if (first === undefined)
        return callback(new PrivateAddress(`${hostname} has no public address`), '', 0);
      if (options.all === true) return callback(null, open);
      callback(null, first.address, first.family);
    });
  };
}

/** Why deliveries do not reach a host: `private`, or the code of a failed lookup; null: they may. */
export async function receiverFault(
  hostname: string,
  mayBePrivate: boolean,
  resolve: (name: string) => Promise<readonly LookupAddress[]> = async (name) => lookup(name, { all: true }),
): Promise<string | null> {
  const literal = literalAddress(hostname);
  try {
    const found = literal === null ? await resolve(hostname) : [{ address: literal }];
    return mayBePrivate || found.some(({ address }) => isPublicAddress(address)) ? null : 'private';
  } catch (error) {
    const { code } = Object(error) as { code?: unknown };
    return typeof code === 'string' ? code : 'lookup failed';
  }
}
