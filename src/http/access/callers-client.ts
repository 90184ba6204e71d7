// The client of an API that several tenants use: each call goes to the client of the present caller's tenant. Never
// chooses the tenant later than the call: a later read may have no caller.
import type { DirectiveClient } from '../../contract/directive/directive-client.ts';
import { DEFAULT_TENANT } from '../../contract/access/tenant.ts';
import { currentCaller } from './caller.ts';

export type ClientOf = (tenant: string) => DirectiveClient;

export function currentTenant(): string {
  return currentCaller()?.tenant ?? DEFAULT_TENANT;
}

/** A caller without a key has the default tenant. Closing the client closes those of all tenants. */
export function createCallersClient(clientOf: ClientOf): DirectiveClient {
  const operators = clientOf(DEFAULT_TENANT);
  return { ...forwarding(operators, () => clientOf(currentTenant())), close: () => operators.close() };
}

/** The same methods, each called on the target of that moment. */
function forwarding<Client extends object>(like: Client, target: () => Client): Client {
  const members = Object.entries(like).map(([name, member]: [string, unknown]) => {
    const owner = target as () => Record<string, never>;
    if (typeof member !== 'function')
      return [name, forwarding(member as object, () => owner()[name] as never)];
    return [name, (...given: unknown[]): unknown => (owner() as Record<string, Method>)[name]?.(...given)];
  });
  return Object.fromEntries(members) as Client;
}

type Method = (...given: unknown[]) => unknown;
