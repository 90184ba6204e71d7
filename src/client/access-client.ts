/** The API keys of a service over HTTP.
 *  Never keeps a key that it has received. */
import type { AccessClient } from '../contract/access/access.ts';
import { callsOf } from './calls.ts';
import { createExchanger } from './exchange.ts';
import type { HttpClientOptions } from './http-client.ts';

/** `apiKey` needs the scope `admin`, unless the service asks for no keys yet. */
export function createAccessClient(
  options: Pick<HttpClientOptions, 'baseUrl' | 'apiKey' | 'fetch'>,
): AccessClient {
  return callsOf(createExchanger(options.baseUrl, options.fetch, options.apiKey), 'keys');
}
