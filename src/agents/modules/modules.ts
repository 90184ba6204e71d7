// Loads users' agents, strategies, custom directive types and tools from modules named in the configuration.
// Must never accept an export of the wrong form: the error names the module and the fault.
import * as z from 'zod';
import type { Config } from '../../config/config.ts';
import { ConfigError } from '../../config/error.ts';
import { type AgentDefinition, agentDefinitionSchema } from '../../contract/run/agent-definition.ts';
import { partedContext } from '../../contract/directive/custom-directive.ts';
import { retryFields } from '../../contract/directive/retry-policy.ts';
import { knownRepeatPolicy } from '../../contract/directive/work-directive.ts';
import { ownReport, readExecution } from './custom-execution.ts';
import { CORRECT_MODULE, exportsOf, fault } from './module-exports.ts';
import { isTool, loadTools, type ToolModules } from './tool-modules.ts';
import {
  type CustomDirectiveType,
  typeNameFault,
  type CustomDirective,
  queuedTypes,
  type RemoteDirectiveType,
} from '../core/directive-exec.ts';
import type { AnyStrategy } from '../strategies/strategy.ts';
import type { QueuedDefinition } from '../../worker/executors/definition.ts';
import { schemaErrors } from '../../config/known-keys.ts';

export interface Modules {
  agents: readonly AgentDefinition[];
  strategies: readonly AnyStrategy[];
  directives: readonly CustomDirectiveType[];
  tools: ToolModules;
}

export const NO_MODULES: Modules = { agents: [], strategies: [], directives: [], tools: new Map() };

type Named = Pick<
  Config,
  'agents' | 'strategies' | 'directives' | 'remote_directives' | 'mcpServers' | 'directory'
>;

/** How to recognise a sort of export, and what is wrong with one; null = nothing. */
interface Sort {
  claims(value: object): boolean;
  fault(value: object): string | null;
}

/** A module may export several sorts: each section takes its own. */
const STRATEGY: Sort = { claims: (value) => 'init' in value || 'reduce' in value, fault: strategyFault };
const DIRECTIVE_TYPE: Sort = {
  claims: (value) => 'type' in value || 'mode' in value,
  fault: directiveTypeFault,
};
const isAgent = (value: object): boolean =>
  !STRATEGY.claims(value) && !DIRECTIVE_TYPE.claims(value) && !isTool(value);

/** Throws `ConfigError` for a module that cannot be loaded, or exports nothing of the wanted sort. */
export async function loadModules(config: Named): Promise<Modules> {
  return {
    agents: await loadAgents(config),
    strategies: (await loadEach(config, 'strategies', STRATEGY)) as AnyStrategy[],
    directives: [
      ...((await loadEach(config, 'directives', DIRECTIVE_TYPE)) as CustomDirectiveType[]),
      ...configuredTypes(config),
    ],
    tools: await loadTools(config),
  };
}

/** The fields of a remote type are checked by the program that executes it. */
function configuredTypes({ remote_directives }: Named): RemoteDirectiveType[] {
  return Object.entries(remote_directives).map(([type, { effect, lease_ms: leaseMs }]) => {
    const wrong = typeNameFault(type);
    if (wrong !== null) throw new ConfigError('remote_directives', [{ path: type, message: wrong }]);
    return { mode: 'queued', type, schema: z.looseObject(retryFields), effect, leaseMs };
  });
}

async function loadAgents({ agents, directory }: Named): Promise<AgentDefinition[]> {
  const loaded: AgentDefinition[] = [];
  if (Array.isArray(agents)) {
    for (const [index, path] of agents.entries())
      for (const value of await exportsOf(directory, path, `agents[${index}]`, isAgent))
        loaded.push(agentOf(value, path, `agents[${index}]`));
  } else {
    for (const [name, agent] of Object.entries(agents)) loaded.push(await loadAgent(directory, name, agent));
  }
  requireUnique(loaded.map(({ name }) => name));
  return loaded;
}

async function loadAgent(directory: string, name: string, agent: string | object): Promise<AgentDefinition> {
  const place = `agents.${name}`;
  if (typeof agent !== 'string') return { ...(agent as Omit<AgentDefinition, 'name'>), name };
  const found = (await exportsOf(directory, agent, place, isAgent)).map((value) =>
    agentOf(value, agent, place),
  );
  const chosen = found.find((candidate) => candidate.name === name);
  if (chosen) return chosen;
  throw fault(agent, place, `exports no agent named "${name}"`);
}

function agentOf(value: object, path: string, place: string): AgentDefinition {
  const parsed = agentDefinitionSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new ConfigError(
    path,
    schemaErrors(parsed.error, agentDefinitionSchema, value, place),
    CORRECT_MODULE,
  );
}

function requireUnique(names: readonly string[]): void {
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw new ConfigError('agents', [{ path: twice, message: 'is defined twice' }]);
}

async function loadEach(config: Named, section: 'strategies' | 'directives', sort: Sort): Promise<object[]> {
  const loaded: object[] = [];
  for (const [index, path] of config[section].entries()) {
    const place = `${section}[${index}]`;
    for (const value of await exportsOf(config.directory, path, place, (each) => sort.claims(each))) {
      const wrong = sort.fault(value);
      if (wrong !== null) throw fault(path, place, wrong);
      loaded.push(value);
    }
  }
  return loaded;
}

function strategyFault(value: object): string | null {
  const { name, init, reduce } = value as Partial<AnyStrategy>;
  if (typeof name !== 'string' || name === '') return 'exports a strategy without a name';
  const missing = Object.entries({ init, reduce }).find(([, part]) => typeof part !== 'function');
  return missing ? `exports a strategy "${name}" without a function "${missing[0]}"` : null;
}

function directiveTypeFault(value: object): string | null {
  const customType = value as {
    type?: unknown;
    mode?: unknown;
    schema?: unknown;
    exec?: unknown;
    execute?: unknown;
  };
  if (typeof customType.type !== 'string' || customType.type === '')
    return 'exports a directive type without a name';
  const wrongName = typeNameFault(customType.type);
  if (wrongName !== null) return `exports a directive type with an invalid name: ${wrongName}`;
  const named = `exports a directive type "${customType.type}"`;
  if (customType.mode !== 'immediate' && customType.mode !== 'queued')
    return `${named} whose mode is neither "immediate" nor "queued"`;
  if (typeof (customType.schema as { safeParse?: unknown } | undefined)?.safeParse !== 'function')
    return `${named} without a zod schema`;
  const does = customType.mode === 'immediate' ? 'exec' : 'execute';
  return typeof customType[does] === 'function' ? null : `${named} without a function "${does}"`;
}

/** The types that workers execute themselves, as their registry holds them. */
export function queuedDefinitions({ directives }: Modules): QueuedDefinition[] {
  const executed = queuedTypes(directives).filter((customType) => 'execute' in customType);
  return executed.map((customType) => ({
    mode: 'queued',
    type: customType.type as QueuedDefinition['type'],
    schema: customType.schema,
    repeatPolicy: async () => knownRepeatPolicy(customType.effect),
    started: () => null,
    execute: async (stored, context) => {
      const { directive, toolContext } = partedContext(stored as unknown as CustomDirective);
      const report = ownReport(customType.type, context.report);
      return readExecution(await customType.execute(directive, { ...context, report, toolContext }));
    },
  }));
}
