// The clear parts of an encrypted run: names, ids, times, counts, and its outcome. Never shows a text of a caller, a
// model or a tool.
import { ENCRYPTED, encryptedNote } from '../../contract/encrypted/encrypted.ts';
import { ERROR_TYPES } from '../../contract/error-envelope.ts';
import { FINISH_REASONS } from '../../contract/model/finish-reason.ts';
import { isObject } from '../../contract/json/json-object.ts';
import { SIGNAL_SOURCES } from '../../contract/signal/signal.ts';
import { type BudgetLimit, stateOf, type RunState } from '../core/run-state.ts';
import type { EmittedSignal, JsonObject, RunDocument } from '../turn/transition.ts';

/** The words of the service itself for how a run ends; those of a strategy may say anything. */
const REASONS: ReadonlySet<string> = new Set([
  ...ERROR_TYPES,
  ...FINISH_REASONS,
  'busy',
  'completed_by_tool',
  'deadline',
  'final_answer',
  'id_conflict',
  'max_cost',
  'max_iterations',
  'max_tokens',
  'max_tool_calls',
  'parent_exit',
  'unknown_agent',
  'unknown_allowed_tools',
]);

export function shownReason(reason: unknown, keyId: string): string {
  // @guard encrypted-run-reason
  return typeof reason === 'string' && REASONS.has(reason) ? reason : encryptedNote(keyId);
}

/** The members of an error that decide what others do about it. */
function shownError(error: unknown, keyId: string): object | null {
  if (error === null || error === undefined) return null;
  const { type, retryable } = isObject(error) ? error : {};
  const known = typeof type === 'string' && REASONS.has(type) ? type : 'execution_error';
  return { type: known, message: encryptedNote(keyId), details: {}, retryable: retryable === true };
}

/** In place of a tool, where a limit asks to be raised. */
const BUDGETS: ReadonlySet<string> = new Set<`budget.${BudgetLimit}`>([
  'budget.max_cost',
  'budget.max_iterations',
  'budget.max_tokens',
  'budget.max_tool_calls',
]);

/** A tool that is not among those of the run is named as a model likes. */
export function shownTool(name: string, { setup }: Pick<RunDocument, 'setup'>): string {
  const isOwn = setup.tools.some((tool) => tool.name === name) || BUDGETS.has(name);
  // @guard encrypted-run-tool
  return isOwn ? name : 'unknown';
}

/** The id of the key, for readers without the key. */
function headOf(keyId: string): object {
  return { [ENCRYPTED]: { key_id: keyId } };
}

/** The state as its readers see it, all of which work with it as with that of a run in clear. `held`: the arguments of calls that wait, by call. */
export function shownState(
  document: RunDocument,
  keyId: string,
  { seen, held }: { seen: object; held: ReadonlyMap<string, object> },
): JsonObject {
  const state = stateOf(document);
  const { usage, cost, counters, started_at, deadline_at, ended, unread_inputs } = state;
  const shown: Partial<Record<keyof RunState, unknown>> = {
    open: Object.fromEntries(
      Object.entries(state.open).map(([id, { type, name }]) => [
        id,
        name === undefined ? { type } : { type, name: shownTool(name, document) },
      ]),
    ),
    waiting: state.waiting.map((request) => shownRequest(request, document)),
    held: Object.fromEntries(
      Object.entries(state.held).map(([id, { call, deadline_at: until }]) => [
        id,
        { call: { ...shownRequest(call, document), arguments: held.get(id) }, deadline_at: until },
      ]),
    ),
    question: state.question,
    timers: state.timers.map(({ id, due_at }) => ({ id, due_at })),
    children: state.children.map(({ agent, ...child }) => ({
      ...child,
      // Until it runs, it is a name that a tool has thought of.
      agent: child.status === 'running' ? agent : 'unknown',
    })),
    usage,
    cost,
    counters,
    started_at,
    deadline_at,
    ended,
    unread_inputs,
    result: state.result === null ? null : headOf(keyId),
    ...(state.details === undefined ? {} : { details: headOf(keyId) }),
    error: shownError(state.error, keyId),
    termination_reason:
      state.termination_reason === null ? null : shownReason(state.termination_reason, keyId),
    messages: [{ role: 'user', content: encryptedNote(keyId), ...seen }],
  };
  return shown;
}

function shownRequest(request: RunState['waiting'][number], document: RunDocument): object {
  const { type, id } = request;
  return 'tool_name' in request
    ? { type, id, tool_name: shownTool(request.tool_name, document) }
    : { type, id };
}

const NAMES: ReadonlySet<string> = new Set(['request_id', 'run_id', 'iteration', 'strategy']);

/** The members of metadata that name the run. */
function namesIn(metadata: unknown): JsonObject {
  return Object.fromEntries(
    Object.entries(Object(metadata) as JsonObject).filter(([name]) => NAMES.has(name)),
  );
}

/** Members of the signals of the service that say nothing of the content. */
const OPEN: Readonly<Record<string, readonly string[]>> = {
  'ai.request.started': ['request_id', 'run_id'],
  'ai.request.completed': ['request_id', 'run_id', 'unread_inputs'],
  'ai.request.failed': ['request_id', 'run_id', 'unread_inputs'],
  'ai.request.error': ['request_id'],
  'ai.tool.approval_requested': ['call_id', 'deadline_at'],
  'agent.scheduled': ['timer_id'],
  'agent.child.started': ['tag', 'child_request_id', 'agent'],
  'agent.child.exit': ['tag', 'child_request_id', 'status'],
  'agent.parent.exit': ['parent_request_id'],
  'agent.tier_changed': ['call_id', 'tier', 'previous'],
  'agent.phase_changed': ['call_id'],
  'directive.ignored': ['call_id'],
  'directive.rejected': ['call_id', 'index'],
};

/** The data of a signal without what is encrypted beside it; of a type of a module nothing. */
export function shownData({ type, data }: EmittedSignal, document: RunDocument, keyId: string): JsonObject {
  if (!Object.hasOwn(SIGNAL_SOURCES, type)) return {};
  const open = Object.hasOwn(OPEN, type) ? (OPEN[type] ?? []) : [];
  const shown = Object.entries(data).map(([name, value]): [string, unknown] => {
    if (open.includes(name)) return [name, value];
    if (name === 'termination_reason' || name === 'reason') return [name, shownReason(value, keyId)];
    if (name === 'error') return [name, shownError(value, keyId)];
    if (name === 'tool_name') return [name, shownTool(String(value), document)];
    if (name === 'metadata') return [name, namesIn(value)];
    if (name === 'arguments' || name === 'details') return [name, headOf(keyId)];
    return [name, value === null || value === undefined ? null : encryptedNote(keyId)];
  });
  return Object.fromEntries(shown);
}
