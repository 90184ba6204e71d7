// Names of tools with their servers, and patterns over them: `*` matches any characters, also none. No other character is special.

import { ownId } from '../access/tenant.ts';

/** Beginning of the name of each lane of an MCP server. */
export const TOOL_LANE = 'tool.';

/** Name of a submitted tool with the server that its lane belongs to: `server.tool`. Without a lane of tools, as it was submitted. */
export function toolNameIn(lane: string | null, toolName: string): string {
  if (lane === null || !lane.startsWith(TOOL_LANE)) return toolName;
  const address = `${ownId(lane.slice(TOOL_LANE.length))}.`;
  return toolName.startsWith(address) ? toolName : `${address}${toolName}`;
}

/** Whether the name of a tool matches a pattern. */
export function toolMatches(pattern: string, name: string): boolean {
  const [first = '', ...others] = pattern.split('*');
  const last = others.pop();
  if (last === undefined) return name === pattern;
  if (!name.startsWith(first)) return false;
  let at = first.length;
  for (const part of others) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return name.length - last.length >= at && name.endsWith(last);
}
