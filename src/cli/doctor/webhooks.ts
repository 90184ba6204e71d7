// Examines whether the receivers of webhooks have addresses that a delivery may reach.
// Must never send anything to one, nor show a path, a header or a secret.
import type { Config } from '../../config/config.ts';
import {
  isPublicAddress,
  literalAddress,
  type Resolve,
  systemResolve,
} from '../../platform/bounds/outgoing-request.ts';
import { fault, fine, type Finding } from './finding.ts';

/** Nothing where there are no endpoints. */
export async function examineWebhooks({ webhooks }: Pick<Config, 'webhooks'>): Promise<Finding[]> {
  return Promise.all(
    [...webhooks.endpoints].map(async ([name, { url, private_addresses: mayBePrivate }]) => {
      const { origin, hostname } = new URL(url);
      const wrong = await receiverFault(hostname, mayBePrivate);
      if (wrong === null) return fine(`webhook ${name}`, `${origin} has an address that deliveries reach`);
      const fix =
        wrong === 'private'
          ? `Set webhooks.endpoints.${name}.private_addresses to true if it is meant to be inside, or correct its url.`
          : `Correct webhooks.endpoints.${name}.url, or the name server of this machine.`;
      const says = wrong === 'private' ? 'has no public address' : `has no address (${wrong})`;
      return fault(`webhook ${name}`, `${origin} ${says}`, fix);
    }),
  );
}

/** Why deliveries do not reach a host: `private`, or the code of a failed lookup; null: they may. */
export async function receiverFault(
  hostname: string,
  mayBePrivate: boolean,
  resolve: Resolve = systemResolve,
): Promise<string | null> {
  const literal = literalAddress(hostname);
  try {
    const found = literal === null ? await resolve(hostname) : [literal];
    return mayBePrivate || found.some(isPublicAddress) ? null : 'private';
  } catch (error) {
    const { code } = Object(error) as { code?: unknown };
    return typeof code === 'string' ? code : 'lookup failed';
  }
}
