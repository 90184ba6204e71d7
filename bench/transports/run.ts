/** The product: a run, of three steps that do nothing or of an agent, started by a client and followed to its end.
 *  It must use nothing but what a program outside may import. */
import { createHttpClient } from '../../src/client/http-client.ts';
import type { DirectiveClient } from '../../src/contract/directive/directive-client.ts';
import { createDirectClient } from '../../src/service/direct-client.ts';
import { firstTexts } from '../latency.ts';
import type { Target, Transport } from '../transport.ts';

/** Names of agents in the configurations that the scenarios write: one with a model and tools, one of three no-ops. */
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
  const ended: string[] = [];
  const first = firstTexts();
  return {
    operation: async () => {
      const onText = first.begin();
      const { request_id } = await client.runs.start({ agent, query: 'go' });
      for await (const { type, data } of client.signals(request_id)) {
        if (type === 'ai.llm.delta') onText();
        if (type === 'ai.request.failed') throw new Error(JSON.stringify(data.error));
        if ('result' in data && isFailure(data.result)) throw new Error(JSON.stringify(data.result));
      }
      ended.push(request_id);
    },
    note: async () => {
      const recent = ended.splice(0).slice(-SAMPLED);
      const gaps = (await Promise.all(recent.map(async (id) => gapsOf(client, id)))).flat();
      const mean = gaps.reduce((sum, gap) => sum + gap, 0) / Math.max(1, gaps.length);
      const engine = `engine, from the end of a step to the acceptance of the next: ${mean.toFixed(2)} ms on average over ${gaps.length} steps`;
      return [first.note(), engine].filter((part) => part !== '').join('; ');
    },
    close: async () => client.close(),
  };
}

const isFailure = (result: unknown): boolean => (result as { ok?: boolean } | null)?.ok === false;

/** Milliseconds between the acceptance of each directive and the last end before it, by the clock of Redis. */
async function gapsOf(client: DirectiveClient, requestId: string): Promise<number[]> {
  const directives = (await client.request(requestId))?.directives ?? [];
  const ends = directives.map(({ ended_at }) => Date.parse(ended_at ?? ''));
  return directives.flatMap(({ accepted_at }) => {
    const acceptedAt = Date.parse(accepted_at);
    const before = ends.filter((endedAt) => endedAt <= acceptedAt);
    return before.length === 0 ? [] : [acceptedAt - Math.max(...before)];
  });
}
