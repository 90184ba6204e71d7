/** The API keys of a service over HTTP.
 *  It must never keep a key that it has received. */
import type { AccessKey, CreatedKey, AccessClient, KeyListing } from '../contract/access.ts';
import type { AuditPage } from '../contract/audit.ts';
import { createExchanger } from './exchange.ts';
import type { HttpClientOptions } from './http-client.ts';

/** `apiKey` needs the scope `admin`, unless nobody is asked for a key yet. */
export function createAccessClient(
  options: Pick<HttpClientOptions, 'baseUrl' | 'apiKey' | 'fetch'>,
): AccessClient {
  const exchanger = createExchanger(options.baseUrl, options.fetch, options.apiKey);
  return {
    create: async (body) => exchanger.json<CreatedKey>({ method: 'POST', path: '/v1/keys', body }),
    list: async () => exchanger.json<KeyListing>({ path: '/v1/keys' }),
    audit: async (query = {}) => {
      const search = new URLSearchParams();
      for (const [name, value] of Object.entries(query))
        if (value !== undefined) search.set(name, String(value));
      return exchanger.json<AuditPage>({ path: `/v1/audit?${search.toString()}` });
    },
    revoke: async (id, { force = false } = {}) => {
      const path = `/v1/keys/${encodeURIComponent(id)}${force ? '?force=true' : ''}`;
      return exchanger.json<AccessKey>({ method: 'DELETE', path });
    },
  };
}
