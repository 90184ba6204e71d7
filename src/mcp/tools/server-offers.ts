/** Capabilities of a server besides tools, as it declares them.
 *  Visibility is decided by the operator, elsewhere. */
import type { Client } from '@modelcontextprotocol/client';

export interface DeclaredOffers {
  readonly resources: boolean;
  readonly prompts: boolean;
  readonly completions: boolean;
  /** Another text after each announced change; '' before the first one. */
  readonly revision: string;
}

export const NO_OFFERS: DeclaredOffers = {
  resources: false,
  prompts: false,
  completions: false,
  revision: '',
};

export function declaredOffers(
  client: Pick<Client, 'getServerCapabilities'>,
  revision: string,
): DeclaredOffers {
  const { resources, prompts, completions } = client.getServerCapabilities() ?? {};
  return {
    resources: resources !== undefined,
    prompts: prompts !== undefined,
    completions: completions !== undefined,
    revision,
  };
}
