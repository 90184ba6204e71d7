// Tool calls of a model whose arguments cannot be used: whatever a user's strategy does with them, the tool is not called.
// Must never let such a call start with the {} that is in the place of its arguments.
import type { ErrorEnvelope } from '../../contract/error-envelope.ts';
import { isObject } from '../../contract/json-object.ts';
import type { ToolCall } from '../../contract/message.ts';
import { type ToolCallDirective, unusableArguments } from '../strategies/strategy.ts';
import type { Run } from './run-state.ts';

/** Calls that a run remembers: as many as one answer can have. */
const MOST_KEPT = 256;

/** Notes the calls of an answer; an id that a newer answer uses again belongs to that answer. */
export function noteUnusable(run: Run, result: unknown): void {
  if (isBuiltIn(run)) return;
  const before = run.state.unusable ?? [];
  const calls = callsIn(result);
  const unusable = calls.filter((call) => call.arguments_error !== undefined);
  if (unusable.length === 0 && before.length === 0) return;
  const ids = new Set(calls.map(({ id }) => id));
  run.state.unusable = [...before.filter(({ id }) => !ids.has(id)), ...unusable].slice(-MOST_KEPT);
}

/**
 * The error that answers a call of a user's strategy; null: it may start. A strategy may give the call the model's id, at
 * any time, or, in the step that reads the answer, an id of its own.
 */
export function takeUnusable(
  run: Run,
  { id, tool_name, arguments: given }: ToolCallDirective,
): ErrorEnvelope | null {
  const { unusable } = run.state;
  if (unusable === undefined) return null;
  const named = unusable.find((call) => call.id === id);
  const found = named ?? (isEmpty(given) ? onlyUnusable(run, tool_name) : undefined);
  if (found === undefined) return null;
  if (named) run.state.unusable = unusable.filter((call) => call !== named);
  return unusableArguments(found);
}

/** A call of the tool in the answer that is being read, if the model has made none without arguments. */
function onlyUnusable({ signal }: Run, name: string): ToolCall | undefined {
  if (signal?.type !== 'ai.llm.response') return undefined;
  const calls = callsIn(signal.data.result).filter((call) => call.name === name && isEmpty(call.arguments));
  return calls.every((call) => call.arguments_error !== undefined) ? calls[0] : undefined;
}

/** The built-in strategies answer such calls themselves. */
function isBuiltIn({ parts, agent }: Run): boolean {
  const strategy = parts.strategies.get(agent.strategy);
  return strategy !== undefined && parts.trusted.has(strategy);
}

function isEmpty(given: unknown): boolean {
  return !isObject(given) || Object.keys(given).length === 0;
}

/** A log may hold answers of other forms. */
function callsIn(result: unknown): ToolCall[] {
  const payload = isObject(result) ? result['payload'] : null;
  const calls = isObject(payload) ? payload['tool_calls'] : null;
  return Array.isArray(calls)
    ? (calls as unknown[]).filter(isObject).map((call) => call as unknown as ToolCall)
    : [];
}
