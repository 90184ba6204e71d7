// The catalog of agents in Redis: what the engines of an installation can run, seen from every process.
// Must never be taken for the agent of a run: that is kept with the run.
import type { AgentDefinition } from '../contract/agent-definition.ts';
import type { RedisConnection } from '../redis.ts';
import type { KeySpace } from './keys.ts';

export type AgentCatalog = ReturnType<typeof createAgentCatalog>;

export function createAgentCatalog(connection: RedisConnection, keys: KeySpace) {
  return {
    async publish(agents: readonly AgentDefinition[]): Promise<void> {
      if (agents.length === 0) return;
      const fields = agents.flatMap((agent) => [agent.name, JSON.stringify(agent)]);
      await connection.hset(keys.agents, ...fields);
    },
    async read(): Promise<ReadonlyMap<string, AgentDefinition>> {
      const entries = Object.entries(await connection.hgetall(keys.agents));
      return new Map(entries.map(([name, json]) => [name, JSON.parse(json) as AgentDefinition]));
    },
  };
}
