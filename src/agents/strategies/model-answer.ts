// Reads a model's answer for a loop: tools to call, a final answer, or nothing usable.
// Must never accept half an answer as a whole one.
import { type ErrorEnvelope, errorEnvelope, normalizeError } from '../../contract/error-envelope.ts';
import { normalizeFinishReason } from '../../contract/model/finish-reason.ts';
import { isObject } from '../../contract/json/json-object.ts';
import type { AssistantMessage, ToolCall } from '../../contract/model/message.ts';
import { assistantMessage, type ModelTurn } from '../../contract/model/model-turn.ts';
import { normalizeResult } from '../../contract/result.ts';

/** Answer of a model as a strategy reads it: tool calls, a final answer, or a failure. */
export type ModelAnswer =
  | { kind: 'tool_calls'; message: AssistantMessage; calls: readonly ToolCall[] }
  | { kind: 'final'; message: AssistantMessage | null; result: unknown; reason: string }
  | { kind: 'failed'; error: ErrorEnvelope };

/** Finish reasons with which an empty answer is valid. */
const WHOLE: ReadonlySet<string | null> = new Set([null, 'stop', 'tool_calls']);

/**
 * Reads the result of a model call.
 * @param rawResult `result` of an `ai.llm.response` signal.
 * @param prefix Prefix of ids for tool calls that lack one.
 * @returns The answer.
 */
export function readAnswer(rawResult: unknown, prefix: string): ModelAnswer {
  const result = normalizeResult(rawResult);
  if (!result.ok)
    return { kind: 'failed', error: normalizeError(result.error, 'llm_error', 'LLM request failed') };
  const turn = readTurn(result.payload);
  if (!turn)
    return { kind: 'failed', error: errorEnvelope('invalid_result', 'The model answered with no turn') };
  if (turn.tool_calls.length > 0) {
    const calls = distinct(turn.tool_calls, prefix);
    return { kind: 'tool_calls', message: assistantMessage(withCalls(turn, calls)), calls };
  }
  return finalAnswer(turn);
}

/**
 * Text that was cut off or filtered is still the answer; the reason shows that it is incomplete. An empty answer with
 * such a reason is a failure.
 */
function finalAnswer(turn: Turn): ModelAnswer {
  const reason = turn.finish_reason;
  const isBlank = turn.text.trim() === '' && turn.output === undefined;
  if (isBlank && !WHOLE.has(reason)) {
    const message = `The model ended without an answer: ${reason}`;
    return { kind: 'failed', error: errorEnvelope('incomplete_response', message, { reason }) };
  }
  return {
    kind: 'final',
    message: isBlank ? null : assistantMessage(turn),
    result: turn.output ?? turn.text,
    reason: WHOLE.has(reason) || reason === 'unknown' ? 'final_answer' : String(reason),
  };
}

type Turn = Pick<ModelTurn, 'text' | 'tool_calls' | 'content_parts' | 'output' | 'finish_reason'>;

/** Accepts missing members: the executor has checked them, but a log may hold older turns. */
function readTurn(payload: unknown): Turn | null {
  if (typeof payload === 'string') return { text: payload, tool_calls: [], finish_reason: null };
  if (!isObject(payload)) return null;
  const { text, tool_calls, content_parts, output, finish_reason } = payload as Partial<ModelTurn>;
  if (text === undefined && tool_calls === undefined && output === undefined) return null;
  return {
    text: typeof text === 'string' ? text : '',
    tool_calls: Array.isArray(tool_calls) ? tool_calls : [],
    ...(Array.isArray(content_parts) ? { content_parts } : {}),
    ...(output === undefined ? {} : { output }),
    finish_reason: normalizeFinishReason(finish_reason),
  };
}

/** The turn with `calls`, which have other ids where `distinct` changed them; their places follow. */
function withCalls({ content_parts, ...turn }: Turn, calls: readonly ToolCall[]): Turn {
  let index = 0;
  const placed = content_parts?.map((part) => {
    if (part.type !== 'tool_call' || turn.tool_calls[index]?.id !== part.id) return part;
    const id = calls[index]?.id ?? part.id;
    index += 1;
    return { ...part, id };
  });
  return { ...turn, tool_calls: [...calls], ...(placed === undefined ? {} : { content_parts: placed }) };
}

/** Some models send no ids, or one twice; each answer must find its call. */
function distinct(calls: readonly ToolCall[], prefix: string): readonly ToolCall[] {
  const seen = new Set<string>();
  return calls.map((call, index) => {
    const given = typeof call.id === 'string' && call.id !== '' && !seen.has(call.id) ? call.id : null;
    const id = given ?? `${prefix}-${index}`;
    seen.add(id);
    return id === call.id ? call : { ...call, id };
  });
}
