// The agents that a tenant adds: their operations, and the lookup by which runs begin with the newest version.
// Must never begin a run with a definition that the operator's bounds do not allow now.
import { readAgent, type ReadAgent, type RuntimeAgentRules } from '../../config/runtime-definitions.ts';
import { faultText, refusedAt } from '../../contract/json/field-error.ts';
import { readBody, readInput } from '../../contract/json/read-input.ts';
import { redact } from '../../contract/json/redaction.ts';
import type { AgentDefinition } from '../../contract/run/agent-definition.ts';
import {
  putAgentBodySchema,
  type RuntimeAgent,
  type RuntimeAgentClient,
} from '../../contract/run/runtime-agent.ts';
import { removeDefinitionQuerySchema } from '../../contract/runtime-definition.ts';
import type { AddedAgents } from '../../store/catalog/known-agents.ts';
import {
  changeOf,
  createDefinitionOperations,
  type DefinitionParts,
  refused,
  SEALED_ELSEWHERE,
} from './definition-operations.ts';
import type { Definition, DefinitionStore } from './definition-store.ts';

export interface AgentBounds {
  readonly rules: RuntimeAgentRules;
  /** Names of the strategies that engines have. */
  readonly strategies: ReadonlySet<string>;
}

export interface AgentServiceParts
  extends AgentBounds, Pick<DefinitionParts<RuntimeAgent>, 'store' | 'noted' | 'caller'> {
  /** Whether an agent of this name is configured, or published by an engine. */
  isOfFile(name: string): Promise<boolean>;
  /** Throws `DirectiveRefused` where the caller may not use everything that an agent may use. */
  requireUnrestricted(): void;
}

/** The operations of each tenant. */
export function createAgentService(parts: AgentServiceParts): (tenant: string) => RuntimeAgentClient {
  return (tenant) => {
    const operations = createDefinitionOperations<RuntimeAgent>(kindOf(parts), tenant);
    return {
      list: async () => ({ agents: await operations.list() }),
      get: operations.get,
      async put(name, body) {
        const { agent, version } = readBody(putAgentBodySchema, body);
        return operations.put(name, agent, version);
      },
      async remove(name, query) {
        const { version } = readInput(removeDefinitionQuerySchema, query ?? {}, 'invalid_query');
        return operations.remove(name, version);
      },
    };
  };
}

const OF_FILE = 'The configuration has an agent of this name.';

function kindOf(parts: AgentServiceParts): DefinitionParts<RuntimeAgent> {
  const { store, noted, caller, isOfFile } = parts;
  return {
    noun: 'agent',
    store,
    full: 'agents_full',
    audited: { put: 'put_agent', remove: 'remove_agent' },
    isSealed: true,
    async requireAllowed(_tenant, name, definition) {
      parts.requireUnrestricted();
      if (await isOfFile(name))
        throw refused('id_conflict', `"${name}" is an agent of the configuration, which keeps its name.`);
      const read = readIn(parts, name, definition);
      if (!read.ok)
        throw refusedAt(
          'invalid_body',
          read.errors.map(({ path, message }) => ({
            path: path === '' ? 'agent' : `agent.${path}`,
            message,
          })),
        );
    },
    async viewsOf(_tenant, found) {
      return Promise.all(
        found.map(async ({ name, stored }) => ({
          name,
          ...changeOf(stored),
          agent: redact((stored.definition ?? {}) as Parameters<typeof redact>[0]) as Definition,
          fault: (await isOfFile(name)) ? OF_FILE : faultOf(parts, name, stored.definition),
        })),
      );
    },
    noted,
    caller,
  };
}

function readIn({ rules, strategies }: AgentBounds, name: string, definition: Definition): ReadAgent {
  return readAgent(name, definition, rules, strategies);
}

function faultOf(bounds: AgentBounds, name: string, definition: Definition | null): string | null {
  if (definition === null) return SEALED_ELSEWHERE;
  const read = readIn(bounds, name, definition);
  return read.ok ? null : faultText(read.errors);
}

/** The agents with which runs of a tenant can begin, each read when it is asked for. */
export function createAddedAgents(
  store: Pick<DefinitionStore, 'read' | 'all'>,
  bounds: AgentBounds,
): AddedAgents {
  const usable = (name: string, definition: Definition | null): AgentDefinition | null => {
    const read = definition === null ? null : readIn(bounds, name, definition);
    return read?.ok === true ? read.agent : null;
  };
  return {
    async find(name, tenant) {
      const stored = await store.read(tenant, name);
      return stored === null ? null : usable(name, stored.definition);
    },
    async list(tenant) {
      const all = [...(await store.all(tenant))];
      return all.flatMap(([name, { definition, version }]) => {
        const agent = usable(name, definition);
        return agent === null ? [] : [{ ...agent, version }];
      });
    },
  };
}
