// The conversation as a list of messages: every tool call in it has an answer.
// Must never part a tool call from its answer.
import type { ErrorEnvelope } from '../../contract/error-envelope.ts';
import type { Message, ToolMessage } from '../../contract/message.ts';

/** The answer to a tool call, as the model reads it. */
export function toolMessage(callId: string, name: string, content: string, isError = false): ToolMessage {
  return { role: 'tool', tool_call_id: callId, name, content, ...(isError ? { is_error: true } : {}) };
}

export function failedToolMessage(callId: string, name: string, error: ErrorEnvelope): ToolMessage {
  const { type, message, retryable } = error;
  const content = JSON.stringify({ ok: false, error: { type, message, details: {}, retryable } });
  return toolMessage(callId, name, content, true);
}

/** The history with an error in the place of every answer that is missing; the same list when none is. */
export function answerCalls(messages: readonly Message[], error: ErrorEnvelope): readonly Message[] {
  const answered: Message[] = [];
  let missing: ToolMessage[] = [];
  let added = false;
  for (const message of messages) {
    if (message.role === 'tool') {
      missing = missing.filter((answer) => answer.tool_call_id !== message.tool_call_id);
    } else {
      added ||= missing.length > 0;
      answered.push(...missing);
      missing = message.role === 'assistant' ? answersFor(message.tool_calls ?? [], error) : [];
    }
    answered.push(message);
  }
  if (!added && missing.length === 0) return messages;
  return [...answered, ...missing];
}

function answersFor(calls: readonly { id: string; name: string }[], error: ErrorEnvelope): ToolMessage[] {
  return calls.map(({ id, name }) => failedToolMessage(id, name, error));
}
