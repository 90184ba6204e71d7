// How a worker starts the built-in control server: what its tools may name comes with the start.
// Must never depend on which lanes a worker serves: every worker lists the same tools.
import { fileURLToPath } from 'node:url';
import type { Config } from '../../config/config.ts';
import type { ListedAgent } from '../../contract/run/agent-listing.ts';
import { DEFAULT_ALIASES } from '../../contract/model/model-name.ts';

/** Arguments with which servers are started. */
export interface Installation extends Pick<Config, 'directory' | 'models' | 'serverVariables'> {
  agents: readonly Pick<ListedAgent, 'name' | 'description'>[];
}

const PROGRAM = fileURLToPath(
  new URL(`../../servers/control/main.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`, import.meta.url),
);

/** No conversation goes on with these. */
const OTHER_USES: ReadonlySet<string> = new Set(['image', 'embedding']);

const LONGEST_DESCRIPTION = 300;
/** Linux takes no longer argument than 128 KiB. */
const MOST_BYTES = 100_000;

export function controlProcess({ directory, models, agents }: Omit<Installation, 'serverVariables'>) {
  const args = [PROGRAM, knownNames({ models, agents })];
  return { kind: 'stdio', command: process.execPath, args, env: {}, cwd: directory } as const;
}

/** Omits lists that are too long: the tools then accept every name. */
function knownNames({ models, agents }: Pick<Installation, 'models' | 'agents'>): string {
  const declared = models.size > 0 ? models : DEFAULT_ALIASES;
  const tiers = [...declared.keys()].filter((name) => !OTHER_USES.has(name)).map((name) => ({ name }));
  const described = agents.map(({ name, description }) => ({
    name,
    description: description.slice(0, LONGEST_DESCRIPTION),
  }));
  const named = agents.map(({ name }) => ({ name }));
  const variants = [{ tiers, agents: described }, { tiers, agents: named }, {}];
  const texts = variants.map((variant) => JSON.stringify(variant));
  return texts.find((text) => Buffer.byteLength(text) <= MOST_BYTES) ?? '{}';
}
