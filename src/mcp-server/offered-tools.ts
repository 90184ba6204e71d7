/** The tools that a client of the MCP server may see, and which of them a name means.
 *  It must never split a name, nor tell a tool that is not offered from one that does not exist. */
import type { Tool } from '@modelcontextprotocol/server';
import type { ListedTool, ToolListing } from '../contract/tool-listing.ts';
import { portableNames, wholeName } from './tool-names.ts';

/** Which tools: those of all servers under portable names, or those of one under their own. */
export type Scope = { readonly kind: 'all' } | { readonly kind: 'server'; readonly server: string };

export interface OfferedTools {
  readonly descriptors: readonly Tool[];
  /** undefined: there is no such tool, or it is not offered. */
  find(name: string): ListedTool | undefined;
}

export function offeredTools({ tools }: ToolListing, scope: Scope): OfferedTools {
  const visible = tools.filter((tool) => isVisible(tool, scope));
  const named =
    scope.kind === 'all' ? portableNames(visible) : new Map(visible.map((tool) => [tool.tool, tool]));
  const whole = new Map(visible.map((tool) => [wholeName(tool), tool]));
  return {
    descriptors: [...named].map(([name, tool]) => descriptor(name, tool)),
    find: (name) => named.get(name) ?? whole.get(name),
  };
}

function isVisible(tool: ListedTool, scope: Scope): boolean {
  return tool.exposed !== false && (scope.kind === 'all' || tool.server === scope.server);
}

function descriptor(name: string, tool: ListedTool): Tool {
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
