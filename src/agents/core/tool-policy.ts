// Which tools a run may use, and which calls need approval.
// Must never allow a call of a denied tool because of another pattern of the same length.
import { contentDigest } from '../../store/request/content-digest.ts';
import type { ApprovalMode } from '../../contract/run/agent-definition.ts';
import type { Result } from '../../contract/result.ts';
import type { ListedTool } from '../../contract/tool/tool-listing.ts';
import { mayLoosen } from '../overrides.ts';
import { toolMatches } from '../../contract/tool/tool-pattern.ts';
import type { ToolCallDirective } from '../strategies/strategy.ts';
import type { RecordedCall, RunSetup } from '../turn/transition.ts';
import type { Run } from './run-state.ts';

export type ToolApproval = ApprovalMode | 'unknown';

export function approvalFor(run: Run, toolName: string): ToolApproval {
  const tool = run.setup.tools.find((listed) => listed.name === toolName);
  if (!tool) return 'unknown';
  const agents = configured(run.agent.policies.approvals, toolName) ?? annotated(tool);
  const own = mayLoosen(run.agent) ? null : configured(run.spec.overrides.approvals ?? {}, toolName);
  return own === null ? agents : stricter(own, agents);
}

/** `act`: as in any run; `ask`: a person decides; `missing`: no tool is called, and no equal call is recorded. */
export type ForkedCall = 'act' | 'ask' | 'missing' | KnownCall;

/** A recorded call with its result. */
export type KnownCall = RecordedCall & { readonly result: Result };

/**
 * Whether a call of a fork acts. A repeat of what reads or is idempotent does no harm, and has an idempotency key of its own: it is another
 * call, maybe with other arguments. A `once` tool must not act a second time unseen.
 */
export function forkedCall(run: Run, call: ToolCallDirective): ForkedCall {
  const tools = run.spec.origin?.tools;
  if (tools === undefined) return 'act';
  const { effect: listed = 'once' } = run.setup.tools.find(({ name }) => name === call.tool_name) ?? {};
  const isOnce = (call.effect ?? listed) === 'once';
  if (!isOnce && !tools.dry) return 'act';
  const digest = contentDigest(call.arguments ?? {});
  const equal = tools.record.filter((made) => made.tool_name === call.tool_name && made.digest === digest);
  const before = run.state.recorded?.[`${call.tool_name} ${digest}`] ?? 0;
  // Of equal calls each gets its own result, and those that come after the last one that of the last one.
  const known = equal.filter(isKnown);
  const made = known[Math.min(before, known.length - 1)];
  if (made !== undefined) return made;
  if (tools.dry) return 'missing';
  return tools.act && equal.length === 0 ? 'act' : 'ask';
}

function isKnown(call: RecordedCall): call is KnownCall {
  return call.result !== null;
}

/** Counts the answer, so that the next equal call gets the next one. */
export function noteRecorded(run: Run, { tool_name, digest }: RecordedCall): void {
  const key = `${tool_name} ${digest}`;
  const { recorded = {} } = run.state;
  run.state.recorded = { ...recorded, [key]: (recorded[key] ?? 0) + 1 };
}

/** The longest pattern that matches; of two equally long ones, the stricter. */
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
 * The default: only a tool annotated as destructive needs approval. The protocol reads a missing hint as "destructive",
 * but few servers annotate at all: following it would hold back nearly every call of every agent, and people who are
 * asked about everything approve everything. An operator who wants that writes `{"*": "ask"}`.
 */
function annotated(tool: ListedTool): ApprovalMode {
  const { destructiveHint, readOnlyHint } = tool.annotations ?? {};
  return destructiveHint === true && readOnlyHint !== true ? 'ask' : 'auto';
}

function stricter(left: ApprovalMode, right: ApprovalMode): ApprovalMode {
  const order: ApprovalMode[] = ['auto', 'ask', 'deny'];
  return order.indexOf(left) > order.indexOf(right) ? left : right;
}

/** The agent's tool patterns that match no tool. `*` alone is never reported. */
export function unmatchedPatterns({ agent, tools }: RunSetup): string[] {
  return agent.tools.filter(
    (pattern) => !/^\*+$/.test(pattern) && !tools.some(({ name }) => toolMatches(pattern, name)),
  );
}

export type Narrowed = { ok: true; tools: readonly ListedTool[] } | { ok: false; unmatched: string[] };

/** The tools that the run's `allowed_tools` leave; each of its names and patterns must match a tool. */
export function narrowTools(tools: readonly ListedTool[], allowed: readonly string[] | undefined): Narrowed {
  if (allowed === undefined) return { ok: true, tools };
  const unmatched = allowed.filter((pattern) => !tools.some(({ name }) => toolMatches(pattern, name)));
  if (unmatched.length > 0) return { ok: false, unmatched };
  return {
    ok: true,
    tools: tools.filter(({ name }) => allowed.some((pattern) => toolMatches(pattern, name))),
  };
}
