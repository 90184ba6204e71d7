// Finds faults before anything is started: keys, scripts of models, agents that use what is not installed.
// Must never connect to anything, nor report as a fault what another process of the installation may provide.
import { createServer } from 'node:net';
import { once } from 'node:events';
import { advice, fault, type Finding } from './finding.ts';
import { ConfigError } from '../../config/error.ts';
import type { Config } from '../../config/config.ts';
import type { AgentDefinition } from '../../contract/run/agent-definition.ts';
import { DEFAULT_ALIASES, parseModelName } from '../../contract/model/model-name.ts';
import { missingKeyFindings, tokenKeyFindings } from './keys.ts';
import { createCore } from '../../agents/core/core.ts';
import { didYouMean } from '../../config/known-keys.ts';
import { closeNames } from '../../platform/bounds/close-names.ts';
import { modelProviders } from '../../service/roles/model-providers.ts';
import { toolMatches } from '../../contract/tool/tool-pattern.ts';
import { laneNames, type LaneChoice, WHOLE_KINDS } from '../../service/roles/lane-choice.ts';
import type { Modules } from '../../agents/modules/modules.ts';
import type { Roles } from '../../service/roles/roles.ts';

/** Findings about lane patterns of a worker that match no lane. Beside others that match, a whole kind without a lane is no mistake. */
export function examineLanes(choice: LaneChoice, patterns: readonly string[]): Finding[] {
  const lanes = laneNames(choice);
  const kinds = [...new Set(lanes.map((lane) => `${lane.split('.')[0]}.*`))];
  const unmatched = patterns.filter((pattern) => !lanes.some((lane) => toolMatches(pattern, lane)));
  const slips =
    unmatched.length === patterns.length
      ? unmatched
      : unmatched.filter((pattern) => !WHOLE_KINDS.includes(pattern));
  return slips.map((pattern) =>
    fault(
      'lanes',
      `"${pattern}" matches no lane; ${knownNames(pattern, [...kinds, ...lanes])}`,
      CORRECT_LANES,
    ),
  );
}

const CORRECT_LANES = "Correct --lanes, as in --lanes 'tool.*', or configure what the lane is for.";

/** The strategy that exists without any module. */
const OWN_STRATEGY = 'react';

/** Faults, which stop the start, and advice. */
export function examineStart(config: Config, modules: Modules, roles: Roles): Finding[] {
  const missing = roles.worker ? [...missingKeyFindings(config), ...tokenKeyFindings(config)] : [];
  return [
    ...missing,
    ...(roles.worker && missing.length === 0 ? scriptFindings(config) : []),
    ...(roles.engine ? examineAgents(config, modules, { alone: roles.worker !== true }) : []),
    ...(roles.worker ? examineBudgets(config) : []),
  ];
}

/** A cent, in millionths of a dollar: a limit below it was probably meant in dollars. */
const A_CENT = 10_000;

export function examineBudgets({ budgets }: Pick<Config, 'budgets'>): Finding[] {
  return [...budgets.rules].flatMap(([name, { money_per_day: money = A_CENT }]) =>
    money >= A_CENT ? [] : [smallBudget(name, money)],
  );
}

function smallBudget(name: string, money: number): Finding {
  const says = `money_per_day ${money} is ${(money / 1_000_000).toFixed(6)} USD a day`;
  const fix = `It counts millionths of a US dollar: for ${money} USD a day write ${money * 1_000_000}.`;
  return advice(`budget ${name}`, says, fix);
}

/** Files of turns that a scripted provider cannot read. */
function scriptFindings(config: Config): Finding[] {
  try {
    modelProviders(config);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    return [fault('models', error.message, error.fix)];
  }
}

/** `alone`: this process has no worker; other processes do, and may know aliases that are not configured here. */
export function examineAgents(
  config: Pick<Config, 'mcpServers' | 'models'>,
  { agents, strategies, directives }: Modules,
  { alone }: { alone: boolean },
): Finding[] {
  const twice = namedTwice(() => void createCore({ strategies, directives }));
  const installed = [OWN_STRATEGY, ...strategies.map(({ name }) => name)];
  const aliases = [...new Set([...DEFAULT_ALIASES.keys(), ...config.models.keys()])];
  const servers = [...config.mcpServers.keys()];
  return [
    ...twice,
    ...agents.flatMap((agent) => strategyFinding(agent, installed)),
    ...agents.flatMap((agent) => modelFinding(agent, aliases, alone)),
    ...agents.flatMap((agent) => patternFindings(agent, servers)),
  ];
}

function namedTwice(build: () => void): Finding[] {
  try {
    build();
    return [];
  } catch (error) {
    const fix = 'Give one of them another name, or remove its module from the configuration.';
    return [fault('modules', (error as Error).message, fix)];
  }
}

function strategyFinding({ name, strategy }: AgentDefinition, installed: readonly string[]): Finding[] {
  if (installed.includes(strategy)) return [];
  const says = `no strategy "${strategy}" is installed here; ${knownNames(strategy, installed)}`;
  return [
    fault(
      `agent ${name}`,
      says,
      `Correct agents.${name}.strategy, or add the module that defines it to strategies.`,
    ),
  ];
}

function modelFinding(agent: AgentDefinition, aliases: readonly string[], alone: boolean): Finding[] {
  const field = agent.model === undefined ? 'model_alias' : 'model';
  const asked = agent.model ?? agent.model_alias;
  if (aliases.includes(asked) || (field === 'model' && parseModelName(asked) !== null)) return [];
  const what = field === 'model' ? 'is neither provider:model nor an alias' : 'is not a model alias';
  const says = `"${asked}" ${what}; ${knownNames(asked, aliases)}`;
  const fix = `Correct agents.${agent.name}.${field}, or define the alias in models.`;
  return [(alone ? advice : fault)(`agent ${agent.name}`, says, fix)];
}

/** Patterns that match no tool of the configured servers. */
function patternFindings(agent: AgentDefinition, servers: readonly string[]): Finding[] {
  const places = [
    ...agent.tools.map((pattern) => ['tools', pattern] as const),
    ...Object.keys(agent.policies.approvals).map((pattern) => ['policies.approvals', pattern] as const),
  ];
  return places
    .filter(([, pattern]) => !mayMatch(pattern, servers))
    .map(([place, pattern]) => {
      const says = `the pattern "${pattern}" matches no tool of a server that is configured here; ${knownNames(
        pattern.split('.')[0] ?? '',
        servers,
      )}`;
      return advice(
        `agent ${agent.name}`,
        says,
        `Correct agents.${agent.name}.${place}, unless another worker serves it.`,
      );
    });
}

/** The text before the first `*` decides: it must be the beginning of a server's tool name, or begin with one. */
function mayMatch(pattern: string, servers: readonly string[]): boolean {
  const star = pattern.indexOf('*');
  const head = star < 0 ? pattern : pattern.slice(0, star);
  if (star >= 0 && servers.some((server) => `${server}.`.startsWith(head))) return true;
  return head === '' || servers.some((server) => head.startsWith(`${server}.`));
}

function knownNames(asked: string, known: readonly string[]): string {
  const close = closeNames(asked, known);
  if (close.length > 0) return didYouMean(close);
  return known.length === 0 ? 'there is none' : `there are ${known.slice(0, 20).join(', ')}`;
}

/**
 * Whether the API can listen; checked before a worker starts what would have to be stopped again. `before`: what a person
 * types before an option.
 */
export async function examinePort(
  { host, port }: Pick<Config, 'host' | 'port'>,
  before: string,
): Promise<Finding[]> {
  const server = createServer();
  try {
    server.listen(port, host);
    await once(server, 'listening');
    server.close();
    await once(server, 'close');
    return [];
  } catch (error) {
    return [portFault(error as NodeJS.ErrnoException, { host, port }, before)];
  }
}

function portFault(
  { code, message }: NodeJS.ErrnoException,
  { host, port }: Pick<Config, 'host' | 'port'>,
  before: string,
): Finding {
  const where = `${host}:${port}`;
  if (code === 'EADDRINUSE') {
    const fix = `Stop what uses the port, or name another with \`${before}--port N\` or ADJUTANT_PORT.`;
    return fault('api', `cannot listen on ${where}: the port is in use`, fix);
  }
  if (code === 'EACCES') {
    const fix = `Name a port above 1023 with \`${before}--port N\` or ADJUTANT_PORT.`;
    return fault('api', `cannot listen on ${where}: this user may not use the port`, fix);
  }
  const fix = `Name an address of this machine with \`${before}--host ADDRESS\` or ADJUTANT_HOST, as in 127.0.0.1 or 0.0.0.0.`;
  return fault('api', `cannot listen on ${where}: ${message}`, fix);
}
