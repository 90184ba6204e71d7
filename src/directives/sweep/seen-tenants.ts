// Whether more than one tenant uses the installation, as far as this process knows: by the keys that it reads, and the work that it prepares.
// Must never forget a tenant: what waits for its turn and what does not would lie in one lane.
import { DEFAULT_TENANT } from '../../contract/access/tenant.ts';

export interface SeenTenants {
  /** True from the first sight of a tenant other than `default`. */
  areSeveral(): boolean;
  see(tenant: string): void;
}

export function createSeenTenants(): SeenTenants {
  let seenOther = false;
  return {
    areSeveral: () => seenOther,
    see(tenant) {
      seenOther ||= tenant !== DEFAULT_TENANT;
    },
  };
}
