/** Joins the tokens of a server to the SDK's HTTP transports.
 *  It must never give the SDK an OAuth provider: that would log in, refresh and erase by itself, in every process. */
import {
  type AuthProvider,
  extractWWWAuthenticateParams,
  type FetchLike,
} from '@modelcontextprotocol/client';
import type { TokenSource } from './token-source.ts';

export interface Bearer {
  readonly fetch: FetchLike;
  readonly authProvider?: AuthProvider;
}

/** null: requests carry no token. */
export function bearerOf(tokens: TokenSource | null, fetch: FetchLike): Bearer {
  if (tokens === null) return { fetch };
  const used = new WeakMap<Response, string | undefined>();
  return {
    fetch: async (url, init) => {
      const response = await fetch(url, init);
      used.set(response, new Headers(init?.headers).get('authorization')?.replace(/^Bearer /i, ''));
      return response;
    },
    authProvider: {
      token: () => tokens.token(),
      // The token may have changed since the request was sent: only the one that was used counts as refused.
      onUnauthorized: ({ response }) =>
        tokens.refused(used.get(response), extractWWWAuthenticateParams(response)),
    },
  };
}
