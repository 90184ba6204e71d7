/** The product: a no-op, a tool call or a directive type of its own, through either transport of the directive client.
 *  It must use nothing but what a program outside may import. */
import { createHttpClient } from '../../src/client/http-client.ts';
import type { SubmittedDirective } from '../../src/contract/directive/directive.ts';
import type { DirectiveClient } from '../../src/contract/directive/directive-client.ts';
import { createDirectClient } from '../../src/service/direct-client.ts';
import { noopLanes } from '../noop-lanes-module.ts';
import { NOOP, noop } from '../noop-module.ts';
import type { Target, Transport } from '../transport.ts';

const TOOL_CALL: SubmittedDirective = { type: 'tool_exec', tool_name: 'noop.noop' };
/** Of a type that the client's types do not know. */
const NO_OP = { type: NOOP } as unknown as SubmittedDirective;

export async function openNoop({ redisPort }: Target): Promise<Transport> {
  const redisUrl = `redis://127.0.0.1:${redisPort}`;
  return transportOf(await createDirectClient({ redisUrl, directives: [noop] }), () => NO_OP);
}

export function openNoopOverHttp({ baseUrl }: Target): Transport {
  return overApis(baseUrl, () => NO_OP);
}

/** One lane after the other. */
export async function openNoopLanes({ redisPort, redisUrl }: Target): Promise<Transport> {
  const url = redisUrl ?? `redis://127.0.0.1:${redisPort}`;
  const client = await createDirectClient({ redisUrl: url, directives: noopLanes });
  return transportOf(client, laneOf);
}

const laneOf = (index: number): SubmittedDirective =>
  ({ type: noopLanes[index % noopLanes.length]?.type }) as never;

export async function openDirect({ redisPort }: Target): Promise<Transport> {
  return transportOf(await createDirectClient({ redisUrl: `redis://127.0.0.1:${redisPort}` }));
}

export function openHttp({ baseUrl }: Target): Promise<Transport> {
  return Promise.resolve(overApis(baseUrl));
}

export function openHttpLanes({ baseUrl }: Target): Promise<Transport> {
  return Promise.resolve(overApis(baseUrl, laneOf));
}

/** Each call at the next API. */
function overApis(baseUrl: string, directiveOf?: (index: number) => SubmittedDirective): Transport {
  const apis = baseUrl.split(',').map((url) => transportOf(createHttpClient({ baseUrl: url }), directiveOf));
  return {
    operation: async (index) => apis[index % apis.length]?.operation(index),
    close: async () => void (await Promise.all(apis.map(async (each) => each.close()))),
  };
}

function transportOf(
  client: DirectiveClient,
  directiveOf: (index: number) => SubmittedDirective = () => TOOL_CALL,
): Transport {
  return {
    operation: async (index) => {
      const ended = await client.execute(directiveOf(index));
      if (!('result' in ended.data) || !ended.data.result.ok) throw new Error(JSON.stringify(ended.data));
    },
    close: async () => client.close(),
  };
}
