// The catalog of agents in Redis: what the engines of an installation can run, seen from every process.
// Must never be taken for the agent of a run: that is kept with the run.
import type { AgentDefinition } from '../contract/agent-definition.ts';
import type { RedisConnection } from '../redis.ts';
import type { KeySpace } from './keys.ts';
import { createPresence, isPresence } from './presence.ts';

export type AgentCatalog = ReturnType<typeof createAgentCatalog>;

export function createAgentCatalog(
  connection: RedisConnection,
  keys: KeySpace,
  now: () => number = Date.now,
) {
  const presence = createPresence(connection, keys.agents, now);

  /** `engine`: whose agents they are, until it leaves. */
  async function publish(agents: readonly AgentDefinition[], engine?: string): Promise<void> {
    const fields = agents.flatMap((agent) => [agent.name, JSON.stringify(agent)]);
    if (fields.length > 0) await connection.hset(keys.agents, ...fields);
    if (engine !== undefined)
      await presence.say(
        engine,
        agents.map(({ name }) => name),
      );
  }

  /** Without those that only engines had that have left. */
  async function read(): Promise<ReadonlyMap<string, AgentDefinition>> {
    const fields = await connection.hgetall(keys.agents);
    const isServed = presence.servedBy(fields);
    const served = Object.entries(fields).filter(([name]) => !isPresence(name) && isServed(name));
    return new Map(served.map(([name, json]) => [name, JSON.parse(json) as AgentDefinition]));
  }

  return { publish, leave: presence.leave, read };
}
