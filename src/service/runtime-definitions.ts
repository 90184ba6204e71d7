// Joins the agents and policies that tenants add with the API, the engine and the worker of a process. Nothing of it exists
// where its section is not enabled.
import type { Modules } from '../agents/modules/modules.ts';
import { react } from '../agents/strategies/react.ts';
import type { Config } from '../config/config.ts';
import { policySettings } from '../config/policy.ts';
import type { AddedClients } from '../directives/queue-client.ts';
import { compileRules, type Rules } from '../features/policy/rules.ts';
import {
  createDefinitionStore,
  type DefinitionStore,
  type DefinitionStoreOptions,
} from '../features/runtime-definitions/definition-store.ts';
import {
  type AgentBounds,
  createAddedAgents,
  createAgentService,
} from '../features/runtime-definitions/tenant-agents.ts';
import {
  createPolicyService,
  createRulesOfTenants,
} from '../features/runtime-definitions/tenant-policies.ts';
import type { Audit } from '../http/access/audit.ts';
import { currentCaller, requireUnrestricted } from '../http/access/caller.ts';
import { createSeal } from '../mcp/oauth/seal.ts';
import type { RedisConnection } from '../platform/redis/connection.ts';
import type { AddedAgents } from '../store/catalog/known-agents.ts';
import { keySpace, type RuntimeKind } from '../store/keys.ts';
import type { Store } from './store.ts';

/** `confirm`: only writes need it. */
export function definitionStoreOn(
  kind: RuntimeKind,
  connection: RedisConnection,
  config: Config,
  confirm: DefinitionStoreOptions['confirm'] = async () => null,
): DefinitionStore {
  const [first, ...others] = config.tokenKeys;
  const section = config[`runtime_${kind}`];
  return createDefinitionStore({
    kind,
    connection,
    keys: keySpace(config.prefix),
    seal: first === undefined ? null : createSeal([first, ...others]),
    most: { ofTenant: section.most_per_tenant, all: section.most },
    confirm,
  });
}

function agentBounds(
  { runtime_agents: rules }: Config,
  { strategies }: Pick<Modules, 'strategies'>,
): AgentBounds {
  return { rules, strategies: new Set([react.name, ...strategies.map(({ name }) => name)]) };
}

/** The agents with which runs can begin beside those of the configuration; null: tenants may add none. */
export function addedAgentsOn(
  connection: RedisConnection,
  config: Config,
  modules: Pick<Modules, 'strategies'>,
): AddedAgents | null {
  if (!config.runtime_agents.enabled) return null;
  return createAddedAgents(definitionStoreOn('agents', connection, config), agentBounds(config, modules));
}

/** Rules about the calls of a tenant; null: there are none, and tenants may add none. */
export function rulesOfCalls(
  connection: RedisConnection,
  config: Config,
): ((tenant: string) => Rules | Promise<Rules>) | null {
  const operators = policySettings(config.policy);
  if (config.runtime_policies.enabled) {
    const none = { rules: [], counters: [], default: 'allow' } as const;
    return createRulesOfTenants(definitionStoreOn('policies', connection, config), operators ?? none);
  }
  if (operators === null) return null;
  const rules = compileRules(operators);
  return () => rules;
}

type Changing = Pick<Parameters<typeof createPolicyService>[0], 'store' | 'noted' | 'caller'>;

/** How definitions of a kind are changed: noted in the audit, in the name of the caller. */
export function changing(
  kind: RuntimeKind,
  { connection, queue }: Store,
  config: Config,
  audit: Audit,
): Changing {
  return {
    store: definitionStoreOn(kind, connection, config, queue.confirm),
    caller: () => currentCaller()?.name ?? null,
    noted: (action, name, work) => audit.around(currentCaller(), action, { target: name }, work),
  };
}

/** The operations of tenants on the agents and policies that they add. */
export function addedClientsOf(
  store: Store,
  { config, modules }: { readonly config: Config; readonly modules: Modules },
  audit: Audit,
): Omit<AddedClients, 'servers'> {
  const { runtime_agents: agents, runtime_policies: policies } = config;
  const { isOfFile } = store.catalog.agents;
  const bounds = agentBounds(config, modules);
  return {
    ...(agents.enabled && {
      runtimeAgents: createAgentService({
        ...changing('agents', store, config, audit),
        ...bounds,
        isOfFile,
        requireUnrestricted,
      }),
    }),
    ...(policies.enabled && { policies: createPolicyService(changing('policies', store, config, audit)) }),
  };
}
