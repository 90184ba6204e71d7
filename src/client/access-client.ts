/** The API keys of a service over HTTP.
 *  Never keeps a key that it has received. */
import type { AccessClient } from '../contract/access.ts';
import { callsOf } from './calls.ts';
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
  return callsOf(createExchanger(options.baseUrl, options.fetch, options.apiKey), 'keys');
}
