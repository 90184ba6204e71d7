/** The API keys of a service over HTTP.
 *  It must never keep a key that it has received. */
import type { AccessKey, CreatedKey, AccessClient, KeyListing } from '../contract/access.ts';
import type { AuditPage } from '../contract/audit.ts';
import { createExchanger } from './exchange.ts';
import type { HttpClientOptions } from './http-client.ts';

/**
 * Creates a client that manages API keys over HTTP.
 * @param options `baseUrl` of the service, `apiKey` with the scope `admin` (not required before the first key exists),
 * and `fetch` (default: the global one).
 * @returns The client.
 * @throws `DirectiveRefused` with `unauthorized` or `forbidden` where the key lacks the scope; `ServiceUnavailable`
 * where the service does not answer.
 * @example
 * ```ts
 * import { createAccessClient } from 'adjutant/client';
 * const access = createAccessClient({ baseUrl: 'http://127.0.0.1:7420', apiKey: 'adj_…' });
 * const { key } = await access.create({ name: 'ci', scopes: ['submit', 'read'] });
 * ```
 */
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
