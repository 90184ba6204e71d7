// Examines the keys of the configuration: those of model providers, and the one that seals logins at MCP servers.
// Must never load a client of either: every role examines them at its start.
import type { Config } from '../../config/config.ts';
import type { ProviderConfig } from '../../config/models.ts';
import { BUILT_IN_PROVIDERS, modelLane, parseModelName } from '../../contract/model/model-name.ts';
import { serversWithLogin } from '../../service/roles/logins.ts';
import { capitalized, fault, fine, type Finding } from './finding.ts';

/** A fault when servers need a login and nothing can seal it. */
export function tokenKeyFindings(config: Pick<Config, 'mcpServers' | 'tokenKeys'>): Finding[] {
  const [first, ...others] = serversWithLogin(config);
  if (first === undefined || config.tokenKeys.length > 0) return [];
  const servers =
    others.length === 0 ? `the login at ${first}` : `the logins at ${[first, ...others].join(', ')}`;
  return [fault('token key', `ADJUTANT_TOKEN_KEY is not set, which seals ${servers}`, SET_TOKEN_KEY)];
}

const SET_TOKEN_KEY =
  'Set it to the same value for every process, as `openssl rand -base64 32` prints it, or take `auth` out.';

/** One finding for each provider, and for each alias without an available provider. No provider is called. */
export function examineModels({ providers, models }: Pick<Config, 'providers' | 'models'>): Finding[] {
  const found = [...providers].map(([name, provider]) => providerFinding(name, provider));
  const dead = [...models].filter(([, chain]) => !chain.some((model) => providers.has(providerOf(model))));
  const faults = dead.map(([alias, chain]) =>
    fault(
      `alias ${alias}`,
      `no provider of ${chain.join(', ')} is available`,
      `${waysTo(chain.map(providerOf))}.`,
    ),
  );
  if (found.length > 0) return [...found, ...faults];
  return [fine('models', `no provider. ${waysTo([...BUILT_IN_PROVIDERS.keys()])} to use models`), ...faults];
}

/** The providers that cannot be called because their key is missing. */
export function missingKeyFindings({ providers }: Pick<Config, 'providers'>): Finding[] {
  return [...providers].map(([name, provider]) => providerFinding(name, provider)).filter(({ ok }) => !ok);
}

function providerFinding(name: string, provider: ProviderConfig): Finding {
  const { type, key } = provider;
  const subject = `model provider ${name}`;
  const lane = modelLane(name);
  if (type === 'scripted')
    return fine(subject, `scripted: repeats a file of turns, without a model; lane ${lane}`);
  if (key.variables.length === 0 && type === 'vertex')
    return fine(subject, `${type}, with the credentials of Google Cloud in the environment; lane ${lane}`);
  if (key.variables.length === 0) return fine(subject, `${type}, without a key; lane ${lane}`);
  const variables = key.variables.join(' or ');
  return key.read() === null
    ? fault(subject, `${type}: ${variables} is not set`, `Set ${variables}, or take providers.${name} out.`)
    : fine(subject, `${type}, key in ${variables}; lane ${lane}`);
}

function providerOf(model: string): string {
  return parseModelName(model)?.provider ?? '';
}

function waysTo(providers: readonly string[]): string {
  const ways = [...new Set(providers)].map((name) => {
    const variables = BUILT_IN_PROVIDERS.get(name);
    return variables ? `set ${variables.join(' or ')}` : `configure providers.${name}`;
  });
  return capitalized(ways.join(', or '));
}
