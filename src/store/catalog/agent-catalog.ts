// The catalog of agents in Redis: what the engines of an installation can run, visible to every process.
// Must never be used as the agent of a run: the run keeps its own copy.
import type { AgentDefinition } from '../../contract/run/agent-definition.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import type { KeySpace } from '../keys.ts';
import { type Clock, createPresence, isPresence, publishFields } from './presence.ts';
import { redisClock } from '../../platform/redis/clock.ts';

export type AgentCatalog = ReturnType<typeof createAgentCatalog>;

export function createAgentCatalog(
  connection: RedisConnection,
  keys: KeySpace,
  now: Clock = redisClock(connection),
) {
  const presence = createPresence(connection, keys.agents, now, (name, _json, served) => !served.has(name));

  /** `engine`: serves these agents until it deregisters. */
  async function publish(agents: readonly AgentDefinition[], engine?: string): Promise<void> {
    const names = agents.map(({ name }) => name);
    // Presence first: other engines drop an entry that no engine serves.
    if (engine !== undefined) await presence.register(engine, names);
    const fields = agents.flatMap((agent) => [agent.name, JSON.stringify(agent)]);
    await publishFields(connection, keys.agents, fields);
    await connection.publish(keys.catalogChanges, '');
  }

  /** Without agents that only deregistered engines had. */
  async function read(): Promise<ReadonlyMap<string, AgentDefinition>> {
    const [fields, at] = await Promise.all([connection.hgetall(keys.agents), now()]);
    const isServed = presence.servedBy(fields, at);
    const served = Object.entries(fields).filter(([name]) => !isPresence(name) && isServed(name));
    return new Map(served.map(([name, json]) => [name, JSON.parse(json) as AgentDefinition]));
  }

  return { publish, deregister: presence.deregister, read };
}
