/** The tools that a client of the MCP server may see, and the tool of each name. Never splits a name, nor distinguishes
 *  a hidden tool from an unknown one. */
import type { Tool } from '@modelcontextprotocol/server';
import type { ListedAgent } from '../../contract/run/agent-listing.ts';
import type { ListedServer, ListedTool } from '../../contract/tool/tool-listing.ts';
import type { OfferingServer } from './server-lists.ts';
import { portableNames, wholeName } from './tool-names.ts';

/** Which tools: those of all servers under portable names, or those of one under their own. */
export type Scope = { readonly kind: 'all' } | { readonly kind: 'server'; readonly server: string };

export interface OfferedAgent {
  readonly server: null;
  /** The name of the agent. */
  readonly tool: string;
  readonly description: string;
}

/** The tool or agent behind a name. */
export type Offer = ListedTool | OfferedAgent;

export interface OfferedTools {
  readonly descriptors: readonly Tool[];
  /** The tool or agent behind each name. */
  readonly offers: ReadonlyMap<string, Offer>;
  /** The servers with more capabilities than tools. */
  readonly offering: readonly OfferingServer[];
  /** The instructions for a client about them. */
  readonly instructions: string;
  /** The entry; undefined: an unknown or hidden tool. */
  find(name: string): Offer | undefined;
}

export interface Listed {
  readonly tools: readonly ListedTool[];
  /** Default: none says anything. */
  readonly servers?: readonly Instructing[];
  readonly agents: readonly ListedAgent[];
}

export function offeredTools({ tools, servers = [], agents }: Listed, scope: Scope): OfferedTools {
  const visible: Offer[] = tools.filter((tool) => isVisible(tool, scope));
  if (scope.kind === 'all') visible.push(...agents.map(offeredAgent));
  const inScope = servers.filter(({ name }) => scope.kind === 'all' || name === scope.server);
  const offering = inScope.flatMap(({ name, offers }) => (offers === undefined ? [] : [{ name, offers }]));
  const shown = new Set([...visible.map(({ server }) => server), ...offering.map(({ name }) => name)]);
  const named =
    scope.kind === 'all' ? portableNames(visible) : new Map(visible.map((offer) => [offer.tool, offer]));
  const whole = new Map(visible.map((offer) => [wholeName(offer), offer]));
  return {
    descriptors: [...named].map(([name, offer]) => descriptor(name, offer)),
    offers: named,
    offering,
    instructions: instructionsFor(servers.filter(({ name }) => shown.has(name))),
    find: (name) => named.get(name) ?? whole.get(name),
  };
}

function isVisible(tool: ListedTool, scope: Scope): boolean {
  return tool.exposed !== false && (scope.kind === 'all' || tool.server === scope.server);
}

function offeredAgent({ name, description }: ListedAgent): OfferedAgent {
  return { server: null, tool: name, description };
}

export function descriptor(name: string, offer: Offer): Tool {
  return offer.server === null ? agentDescriptor(name, offer) : toolDescriptor(name, offer);
}

const QUERY_SCHEMA = {
  type: 'object',
  properties: { query: { type: 'string', minLength: 1, description: 'Task or question for the agent.' } },
  required: ['query'],
  additionalProperties: false,
};

function agentDescriptor(name: string, { tool, description }: OfferedAgent): Tool {
  const asked = `Asks the agent "${tool}", and returns its answer.`;
  return { name, description: `${asked} ${description}`.trim(), inputSchema: QUERY_SCHEMA } as Tool;
}

function toolDescriptor(name: string, tool: ListedTool): Tool {
  const { title, description, input_schema, output_schema, annotations } = tool;
  return {
    name,
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description }),
    // A client refuses a whole list for one schema without this.
    inputSchema: { ...input_schema, type: 'object' },
    ...(output_schema === undefined ? {} : { outputSchema: output_schema }),
    ...(annotations === undefined ? {} : { annotations }),
  } as Tool;
}

type Instructing = Pick<ListedServer, 'name' | 'instructions' | 'offers'>;

const OWN =
  'Each call is a durable directive: it is executed although the connection, this server or a worker dies. ' +
  'Tools that must not be repeated run at most once; an error of the type outcome_unknown says that it is not known ' +
  'whether one ran: check before you call it again.';

const MAX_BYTES = 2_048;

/** The bytes are shared evenly; the unused share of one server goes to the next ones. */
export function instructionsFor(servers: readonly Instructing[]): string {
  const speaking = servers.filter(({ instructions = '' }) => instructions !== '');
  const parts = [OWN];
  let left = MAX_BYTES - Buffer.byteLength(OWN);
  for (const [index, { name, instructions = '' }] of speaking.entries()) {
    const part = cut(
      `${name}: ${instructions}`,
      Math.floor(left / (speaking.length - index)) - SEPARATOR.length,
    );
    parts.push(part);
    left -= Buffer.byteLength(part) + SEPARATOR.length;
  }
  return parts.filter((part) => part !== '').join(SEPARATOR);
}

const SEPARATOR = '\n\n';
const CUT = ' …';
/** A shorter part has no meaning. */
const LEAST_BYTES = 40;

function cut(text: string, bytes: number): string {
  if (Buffer.byteLength(text) <= bytes) return text;
  if (bytes < LEAST_BYTES) return '';
  const kept = Buffer.from(text).subarray(0, bytes - Buffer.byteLength(CUT));
  // A character that was cut in two is left out.
  return `${new TextDecoder('utf-8', { ignoreBOM: true }).decode(kept, { stream: true })}${CUT}`;
}
