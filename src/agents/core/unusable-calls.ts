// Tool calls of a model with unusable arguments: a user's strategy cannot start such a call with the {} that replaces
// its arguments.
import type { ErrorEnvelope } from '../../contract/error-envelope.ts';
import { isObject } from '../../contract/json/json-object.ts';
import type { ToolCall } from '../../contract/model/message.ts';
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
  const bare = new Set(calls.filter(isBare).map(({ name }) => name));
  const past = before.filter(({ id }) => !ids.has(id)).map((call) => ({ ...call, is_past: true as const }));
  const noted = unusable.map((call) => (bare.has(call.name) ? { ...call, is_past: true as const } : call));
  run.state.unusable = [...past, ...noted].slice(-MOST_KEPT);
}

/** A usable call without arguments. */
function isBare({ arguments: given, arguments_error: fault }: ToolCall): boolean {
  return fault === undefined && isEmpty(given);
}

/**
 * The error that answers a call of a user's strategy; null: it may start. A strategy may give the call the model's id, at
 * any time, or, until the next answer of a model, an id of its own, as often as it tries.
 */
export function takeUnusable(
  run: Run,
  { id, tool_name: name, arguments: given }: ToolCallDirective,
): ErrorEnvelope | null {
  const { unusable } = run.state;
  if (unusable === undefined) return null;
  const named = unusable.find((call) => call.id === id);
  if (named) {
    // Its id is used; a repeat would have another one.
    run.state.unusable = unusable.map((call) => (call === named ? { ...call, id: '' } : call));
    return unusableArguments(named);
  }
  if (!isEmpty(given)) return null;
  const meant = unusable.find((call) => call.name === name && call.is_past !== true);
  return meant === undefined ? null : unusableArguments(meant);
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
