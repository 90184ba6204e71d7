// Folds the deltas of model calls into the output of each call so far: one text per call, of one attempt.
// Must never join the output of two attempts: a later attempt supersedes everything from an earlier one.
import type { ModelTurn } from './model-turn.ts';
import type { Signal } from '../signal/signal.ts';

type Delta = Extract<Signal, { type: 'ai.llm.delta' }>;
type Response = Extract<Signal, { type: 'ai.llm.response' }>;

/** Tool call of a model as far as its deltas have arrived. */
export interface FoldedToolCall {
  /** Its place in the turn, from 0. */
  readonly index: number;
  readonly id: string;
  readonly name: string;
  /** JSON text, as far as the model has written it. */
  readonly arguments: string;
}

/** Output of a model call so far; complete once `response` is set. */
export interface FoldedCall {
  readonly call_id: string;
  /** The attempt that wrote the output; 0 = nothing yet. */
  readonly attempt: number;
  readonly content: string;
  readonly thinking: string;
  /** In the order of their index. */
  readonly tool_calls: readonly FoldedToolCall[];
  /** How often output was superseded: by a retry, a redelivery, or another model. */
  readonly restarts: number;
  /** Sequence of the last folded signal; a signal that is not after it is a repeat. */
  readonly sequence: number;
  /** null: the call is under way. */
  readonly response: Response | null;
}

/** Outputs of model calls by the ids of their directives. */
export type FoldedCalls = ReadonlyMap<string, FoldedCall>;

/** Change of a model's text by one signal, for programs that print output as it arrives. */
export type TextEvent =
  | { readonly kind: 'content' | 'thinking'; readonly call_id: string; readonly text: string }
  | { readonly kind: 'tool_call'; readonly call_id: string; readonly piece: FoldedToolCall }
  /** All earlier output is void: `attempt` starts from nothing. */
  | {
      readonly kind: 'restart';
      readonly call_id: string;
      readonly attempt: number;
      readonly void: FoldedCall;
    }
  | { readonly kind: 'end'; readonly call_id: string; readonly response: Response };

/** Fold without any call: the start value of `foldDelta`. */
export const NO_CALLS: FoldedCalls = new Map();

/** The calls after `signal`; the same object for a signal that adds nothing. */
export function foldDelta(calls: FoldedCalls, signal: Signal): FoldedCalls {
  return readDelta(calls, signal).calls;
}

/**
 * Reads the text of model calls from one signal, for programs with a loop of their own.
 * @param calls Calls after the signals before; `new Map()` before the first one.
 * @param signal Next signal of the request; a repeat adds nothing.
 * @returns The calls after the signal, and the events that it added, as `followText` yields them.
 * @example
 * ```ts
 * import { createHttpClient, type FoldedCalls, readDelta } from 'adjutant/client';
 * const client = createHttpClient({ baseUrl: 'http://127.0.0.1:7420' });
 * let calls: FoldedCalls = new Map();
 * for await (const signal of client.signals('request-1')) {
 *   const read = readDelta(calls, signal);
 *   calls = read.calls;
 *   console.log(signal.type, read.events);
 * }
 * ```
 */
export function readDelta(
  calls: FoldedCalls,
  signal: Signal,
): { readonly calls: FoldedCalls; readonly events: readonly TextEvent[] } {
  if (signal.type !== 'ai.llm.delta' && signal.type !== 'ai.llm.response') return { calls, events: [] };
  const before = calls.get(signal.data.call_id) ?? emptyCall(signal.data.call_id);
  if (before.response !== null || signal.sequence <= before.sequence) return { calls, events: [] };
  const { call, events } =
    signal.type === 'ai.llm.delta' ? afterDelta(before, signal) : closed(before, signal);
  if (call === before) return { calls, events };
  const after = { ...call, sequence: signal.sequence };
  return { calls: new Map(calls).set(after.call_id, after), events };
}

interface Step {
  readonly call: FoldedCall;
  readonly events: readonly TextEvent[];
}

function emptyCall(callId: string): FoldedCall {
  const nothing = { attempt: 0, content: '', thinking: '', tool_calls: [] };
  return { call_id: callId, ...nothing, restarts: 0, sequence: 0, response: null };
}

function afterDelta(before: FoldedCall, signal: Delta): Step {
  const attempt = signal.attempt ?? 1;
  // From an abandoned attempt: its last deltas may be written after the next attempt has begun.
  if (attempt < before.attempt) return { call: before, events: [] };
  const begun = attempt > before.attempt ? restarted(before, attempt) : { call: before, events: [] };
  const added = withPiece(begun.call, signal.data);
  return { call: added.call, events: [...begun.events, ...added.events] };
}

function restarted(before: FoldedCall, attempt: number): Step {
  if (isEmpty(before)) return { call: { ...before, attempt }, events: [] };
  const { call_id: callId, sequence } = before;
  const call = { ...emptyCall(callId), attempt, sequence, restarts: before.restarts + 1 };
  return { call, events: [{ kind: 'restart', call_id: callId, attempt, void: before }] };
}

function isEmpty({ content, thinking, tool_calls: toolCalls }: FoldedCall): boolean {
  return content === '' && thinking === '' && toolCalls.length === 0;
}

function withPiece(call: FoldedCall, { chunk_type: kind, delta }: Delta['data']): Step {
  if (kind === 'tool_call') return withToolCall(call, delta);
  if (typeof delta !== 'string' || delta === '') return { call, events: [] };
  return {
    call: { ...call, [kind]: call[kind] + delta },
    events: [{ kind, call_id: call.call_id, text: delta }],
  };
}

function withToolCall(call: FoldedCall, delta: unknown): Step {
  const piece = readPiece(delta);
  if (piece === null) return { call, events: [] };
  const known = call.tool_calls.find(({ index }) => index === piece.index);
  const others = call.tool_calls.filter(({ index }) => index !== piece.index);
  const whole = {
    index: piece.index,
    id: known?.id || piece.id,
    name: known?.name || piece.name,
    arguments: (known?.arguments ?? '') + piece.arguments,
  };
  const toolCalls = [...others, whole].toSorted((left, right) => left.index - right.index);
  return {
    call: { ...call, tool_calls: toolCalls },
    events: [{ kind: 'tool_call', call_id: call.call_id, piece }],
  };
}

/** The contract leaves deltas open: another writer may put anything there. */
function readPiece(delta: unknown): FoldedToolCall | null {
  if (typeof delta !== 'object' || delta === null) return null;
  const { index, id, name, arguments: text } = delta as Record<string, unknown>;
  if (typeof index !== 'number') return null;
  return { index, id: textOf(id), name: textOf(name), arguments: textOf(text) };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The response holds the whole turn: it completes what a late reader missed, and replaces what differs. */
function closed(before: FoldedCall, response: Response): Step {
  const { result } = response.data;
  const turn = result.ok ? readTurn(result.payload) : null;
  const completed = turn === null ? { call: before, events: [] } : withTurn(before, turn, response.attempt);
  const { call_id: callId } = before;
  return {
    call: { ...completed.call, response },
    events: [...completed.events, { kind: 'end', call_id: callId, response }],
  };
}

type Turn = Pick<ModelTurn, 'text' | 'thinking' | 'tool_calls'>;

/** null: a preview of a turn that was too large for its signal, or a payload that this contract does not know. */
function readTurn(payload: unknown): Turn | null {
  if (typeof payload !== 'object' || payload === null) return null;
  const { text, thinking, tool_calls: toolCalls } = payload as Record<string, unknown>;
  if (typeof text !== 'string') return null;
  return { text, thinking: textOf(thinking), tool_calls: Array.isArray(toolCalls) ? toolCalls : [] };
}

function withTurn(before: FoldedCall, turn: Turn, attempt = Math.max(1, before.attempt)): Step {
  const contradicted = !turn.text.startsWith(before.content);
  const { call, events } = contradicted ? restarted(before, attempt) : { call: before, events: [] };
  const { call_id: callId, content } = call;
  const missing: TextEvent = { kind: 'content', call_id: callId, text: turn.text.slice(content.length) };
  const toolCalls = turn.tool_calls.map(({ id, name, arguments: args }, index) => {
    return { index, id, name, arguments: JSON.stringify(args) };
  });
  return {
    call: { ...call, attempt, content: turn.text, thinking: turn.thinking, tool_calls: toolCalls },
    events: missing.text === '' ? events : [...events, missing],
  };
}
