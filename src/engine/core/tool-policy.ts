// Which tools a run may use, and which of their calls may start by themselves.
// Must never let a call of a denied tool through because another pattern, as long as its own, allows it.
import type { ApprovalMode } from '../../contract/agent-definition.ts';
import type { ListedTool } from '../../contract/tool-listing.ts';
import { mayLoosen } from '../overrides.ts';
import { toolMatches } from '../../contract/tool-pattern.ts';
import type { RunSetup } from '../transition.ts';
import type { Run } from './run-state.ts';

export type ToolApproval = ApprovalMode | 'unknown';

export function approvalFor(run: Run, toolName: string): ToolApproval {
  const tool = run.setup.tools.find((listed) => listed.name === toolName);
  if (!tool) return 'unknown';
  const agents = configured(run.agent.policies.approvals, toolName) ?? annotated(tool);
  const own = mayLoosen(run.agent) ? null : configured(run.spec.overrides.approvals ?? {}, toolName);
  return own === null ? agents : stricter(own, agents);
}

/** The longest pattern that matches; of two as long, the stricter. */
function configured(
  approvals: Readonly<Record<string, ApprovalMode>>,
  toolName: string,
): ApprovalMode | null {
  let best: { pattern: string; mode: ApprovalMode } | null = null;
  for (const [pattern, mode] of Object.entries(approvals)) {
    if (!toolMatches(pattern, toolName)) continue;
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

/** What the agent's definition allows and no tool there is answers to. `*` alone names nothing in particular. */
export function unmatchedPatterns({ agent, tools }: RunSetup): string[] {
  return agent.tools.filter(
    (pattern) => !/^\*+$/.test(pattern) && !tools.some(({ name }) => toolMatches(pattern, name)),
  );
}

export type Narrowed = { ok: true; tools: readonly ListedTool[] } | { ok: false; unmatched: string[] };

/** The tools that the run's own `allowed_tools` leave; each of its names and patterns has to match one. */
export function narrowTools(tools: readonly ListedTool[], allowed: readonly string[] | undefined): Narrowed {
  if (allowed === undefined) return { ok: true, tools };
  const unmatched = allowed.filter((pattern) => !tools.some(({ name }) => toolMatches(pattern, name)));
  if (unmatched.length > 0) return { ok: false, unmatched };
  return {
    ok: true,
    tools: tools.filter(({ name }) => allowed.some((pattern) => toolMatches(pattern, name))),
  };
}
