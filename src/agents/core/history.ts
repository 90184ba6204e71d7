// The conversation as a list of messages: every tool call has an answer.
// Must never separate a tool call from its answer.
import type { ErrorEnvelope } from '../../contract/error-envelope.ts';
import type { Message, ToolCall, ToolMessage } from '../../contract/model/message.ts';

/** The answer to a tool call, as the model reads it. */
export function toolMessage(callId: string, name: string, content: string, isError = false): ToolMessage {
  return { role: 'tool', tool_call_id: callId, name, content, ...(isError ? { is_error: true } : {}) };
}

function failedToolMessage(callId: string, name: string, error: ErrorEnvelope): ToolMessage {
  const { type, message, retryable } = error;
  const content = JSON.stringify({ ok: false, error: { type, message, details: {}, retryable } });
  return toolMessage(callId, name, content, true);
}

/** The history with an error for every missing answer; the same list when none is missing. */
export function answerCalls(messages: readonly Message[], error: ErrorEnvelope): readonly Message[] {
  const answered: Message[] = [];
  let added = 0;
  for (let at = 0; at < messages.length; at += 1) {
    const message = messages[at];
    if (message === undefined) continue;
    answered.push(message);
    const calls = message.role === 'assistant' ? (message.tool_calls ?? []) : [];
    if (calls.length === 0) continue;
    const answers = answersAfter(messages, at);
    const missing = calls.filter(({ id }) => !answers.some((answer) => answer.tool_call_id === id));
    added += missing.length;
    answered.push(...inCallOrder(calls, [...answers, ...missing.map((call) => failedCall(call, error))]));
    at += answers.length;
  }
  return added === 0 ? messages : answered;
}

function answersAfter(messages: readonly Message[], at: number): ToolMessage[] {
  const answers: ToolMessage[] = [];
  for (let next = at + 1; messages[next]?.role === 'tool'; next += 1)
    answers.push(messages[next] as ToolMessage);
  return answers;
}

/** Answers to other calls come last. */
function inCallOrder(calls: readonly ToolCall[], answers: readonly ToolMessage[]): ToolMessage[] {
  const place = new Map(calls.map(({ id }, index) => [id, index]));
  const placeOf = ({ tool_call_id }: ToolMessage): number => place.get(tool_call_id) ?? calls.length;
  return answers.toSorted((left, right) => placeOf(left) - placeOf(right));
}

function failedCall({ id, name }: ToolCall, error: ErrorEnvelope): ToolMessage {
  return failedToolMessage(id, name, error);
}
