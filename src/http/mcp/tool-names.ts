/** The names under which hosts see the tools: `server__tool`, of characters and a length that every host accepts.
 *  It must never give two tools one name, nor depend on the order in which they are listed. */
import { hash } from 'node:crypto';

/** Hosts allow 64 characters and put a prefix such as `mcp__adjutant__` before them. */
const MAX_CHARACTERS = 48;
const DIGEST_CHARACTERS = 6;

export interface NamedTool {
  /** null: it is an agent. */
  readonly server: string | null;
  readonly tool: string;
}

/** Portable name → tool. What is too long, or shared by several tools, ends with a digest of its whole name. */
export function portableNames<Tool extends NamedTool>(tools: readonly Tool[]): Map<string, Tool> {
  const sharers = Map.groupBy(tools, plainName);
  const names = new Map<string, Tool>();
  const others: Tool[] = [];
  for (const [name, tools] of sharers) {
    const [only, ...rest] = tools;
    if (only !== undefined && rest.length === 0 && name.length <= MAX_CHARACTERS) names.set(name, only);
    else others.push(...tools);
  }
  for (const tool of others.toSorted(byWholeName)) names.set(digestName(tool, names), tool);
  return names;
}

function plainName({ server, tool }: NamedTool): string {
  const name = server === null ? `ask_${tool}` : `${server}__${tool}`;
  return name.replaceAll(/[^A-Za-z0-9_-]/gu, '_');
}

/** The digest is longer while the name is taken. */
function digestName(tool: NamedTool, taken: ReadonlyMap<string, unknown>): string {
  const digest = hash('sha256', wholeName(tool), 'hex');
  const plain = plainName(tool);
  for (let length = DIGEST_CHARACTERS; ; length += 1) {
    const name = `${plain.slice(0, MAX_CHARACTERS - length - 1)}_${digest.slice(0, length)}`;
    if (!taken.has(name)) return name;
  }
}

function byWholeName(left: NamedTool, right: NamedTool): number {
  return wholeName(left) < wholeName(right) ? -1 : 1;
}

/** As `tool_exec` takes it: `server.tool`. No server has the name of an agent: it holds a colon. */
export function wholeName({ server, tool }: NamedTool): string {
  return server === null ? `ask:${tool}` : `${server}.${tool}`;
}
