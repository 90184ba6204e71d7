// Which tool calls may start by themselves.
// Must never let a call of a denied tool through because another pattern matches too.
import type { ApprovalMode } from '../../contract/agent-definition.ts';
import type { ListedTool } from '../../contract/tool-listing.ts';
import type { Run } from './run-state.ts';

export type ToolLeave = ApprovalMode | 'unknown';

export function leaveFor(run: Run, toolName: string): ToolLeave {
  const tool = run.setup.tools.find((listed) => listed.name === toolName);
  return tool ? (configured(run.agent.policies.approvals, toolName) ?? annotated(tool)) : 'unknown';
}

/** The longest pattern that matches; of two as long, the stricter. */
function configured(
  approvals: Readonly<Record<string, ApprovalMode>>,
  toolName: string,
): ApprovalMode | null {
  let best: { pattern: string; mode: ApprovalMode } | null = null;
  for (const [pattern, mode] of Object.entries(approvals)) {
    if (!matchesPattern(pattern, toolName)) continue;
    if (!best || pattern.length > best.pattern.length) best = { pattern, mode };
    else if (pattern.length === best.pattern.length) best = { pattern, mode: stricter(mode, best.mode) };
  }
  return best?.mode ?? null;
}

/**
 * Only a tool that says it destroys asks for leave by itself. The protocol's default for a missing hint is "destructive",
 * but few servers annotate at all: taking it at its word would hold back nearly every call of every agent, and people
 * who are asked about everything approve everything. An operator who wants that writes `{"*": "ask"}`.
 */
function annotated(tool: ListedTool): ApprovalMode {
  const { destructiveHint, readOnlyHint } = tool.annotations ?? {};
  return destructiveHint === true && readOnlyHint !== true ? 'ask' : 'auto';
}

function stricter(left: ApprovalMode, right: ApprovalMode): ApprovalMode {
  const order: ApprovalMode[] = ['auto', 'ask', 'deny'];
  return order.indexOf(left) > order.indexOf(right) ? left : right;
}

/** `*` stands for any characters, also none; every other character for itself. In time linear in both, per star. */
export function matchesPattern(pattern: string, name: string): boolean {
  const [head = '', ...rest] = pattern.split('*');
  if (rest.length === 0) return pattern === name;
  const tail = rest.pop() ?? '';
  if (!name.startsWith(head) || !name.endsWith(tail) || name.length < head.length + tail.length) return false;
  let at = head.length;
  for (const piece of rest) {
    const found = name.indexOf(piece, at);
    if (found === -1) return false;
    at = found + piece.length;
  }
  return at <= name.length - tail.length;
}
