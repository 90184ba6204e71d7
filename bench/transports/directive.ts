/** The product: a no-op tool call through either transport of the directive client.
 *  It must use nothing but what a program outside may import. */
import { createHttpClient } from '../../src/client/http-client.ts';
import type { DirectiveClient } from '../../src/contract/directive-client.ts';
import { createDirectClient } from '../../src/service/direct-client.ts';
import type { Target, Transport } from '../transport.ts';

export async function openDirect({ redisPort }: Target): Promise<Transport> {
  return transportOf(await createDirectClient({ redisUrl: `redis://127.0.0.1:${redisPort}` }));
}

export function openHttp({ baseUrl }: Target): Promise<Transport> {
  return Promise.resolve(transportOf(createHttpClient({ baseUrl })));
}

function transportOf(client: DirectiveClient): Transport {
  return {
    operation: async () => {
      const ended = await client.execute({ type: 'tool_exec', tool_name: 'noop.noop' });
      if (ended.type !== 'ai.tool.result' || !ended.data.result.ok)
        throw new Error(JSON.stringify(ended.data));
    },
    close: async () => client.close(),
  };
}
