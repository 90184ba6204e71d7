/** The product: a run of three steps that do nothing, started by a direct client and followed to its end.
 *  It must use nothing but what a program outside may import. */
import { createHttpClient } from '../../src/client/http-client.ts';
import type { DirectiveClient } from '../../src/contract/directive/directive-client.ts';
import { createDirectClient } from '../../src/service/direct-client.ts';
import type { Target, Transport } from '../transport.ts';

/** Of the configurations that the scenarios write: model, tool, model; and three no-ops. */
export const RUN_AGENT = 'noop';
export const STEPS_AGENT = 'steps';

/** Runs of which the engine's share is worked out after a load. */
const SAMPLED = 200;

export async function openRun(
  { redisPort, redisUrl = `redis://127.0.0.1:${redisPort}` }: Target,
  agent: string,
): Promise<Transport> {
  return transportOf(await createDirectClient({ redisUrl }), agent);
}

/** The same over HTTP. */
export function openRunOverHttp({ baseUrl }: Target, agent: string): Transport {
  return transportOf(createHttpClient({ baseUrl }), agent);
}

function transportOf(client: DirectiveClient, agent: string): Transport {
  const recent: string[] = [];
  return {
    operation: async () => {
      const { request_id } = await client.runs.start({ agent, query: 'go' });
      for await (const signal of client.signals(request_id)) {
        if (signal.type === 'ai.request.failed') throw new Error(JSON.stringify(signal.data.error));
      }
      recent.push(request_id);
      if (recent.length > SAMPLED) recent.shift();
    },
    note: async () => {
      const gaps = (await Promise.all(recent.map(async (id) => gapsOf(client, id)))).flat();
      const mean = gaps.reduce((sum, gap) => sum + gap, 0) / Math.max(1, gaps.length);
      return `engine, from the end of a step to the acceptance of the next: ${mean.toFixed(2)} ms on average over ${gaps.length} steps`;
    },
    close: async () => client.close(),
  };
}

/** Milliseconds between the end of each directive and the acceptance of the next, by the clock of Redis. */
async function gapsOf(client: DirectiveClient, requestId: string): Promise<number[]> {
  const directives = (await client.request(requestId))?.directives ?? [];
  return directives.slice(1).flatMap(({ accepted_at }, index) => {
    const before = directives[index]?.ended_at ?? null;
    return before === null ? [] : [Date.parse(accepted_at) - Date.parse(before)];
  });
}
