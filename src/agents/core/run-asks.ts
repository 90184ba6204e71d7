// The questions of a run to people: calls that wait for approval, and more budget. Never shows what is redacted in its
// log.
import { redact } from '../../contract/json/redaction.ts';
import { jsonSafe } from '../../contract/json/json-safe.ts';
import type { RunAsk } from '../../contract/run/run-ask.ts';
import type { RunDocument } from '../turn/transition.ts';
import { stateOf } from './run-state.ts';

export function runAsks(document: RunDocument): RunAsk[] {
  const { held, question, ended } = stateOf(document);
  if (ended) return [];
  const timeoutMs = document.setup.agent.policies.approval_timeout_ms;
  const calls = Object.values(held ?? {}).map(({ call, deadline_at }): RunAsk => {
    const shown = JSON.stringify(redact(jsonSafe(call.arguments ?? {})));
    const { id, tool_name: tool } = call;
    return {
      kind: 'approval',
      id,
      tool,
      arguments: shown,
      message: null,
      since: deadline_at - timeoutMs,
      deadlineAt: deadline_at,
    };
  });
  if (!question) return calls;
  const { id, limit, message, deadline_at } = question;
  const since = deadline_at - timeoutMs;
  const budget = { tool: `budget.${limit}`, arguments: null, message, since, deadlineAt: deadline_at };
  return [...calls, { kind: 'budget', id, ...budget }];
}

/** The last thing that the model has said in words; '' where it has not. */
export function lastSaid(document: RunDocument): string {
  const last = stateOf(document).messages.findLast(({ role }) => role === 'assistant');
  const content: unknown = last === undefined ? '' : last.content;
  if (typeof content === 'string') return content;
  const parts = Array.isArray(content) ? (content as { type?: unknown; text?: unknown }[]) : [];
  return parts.map(({ type, text }) => (type === 'text' && typeof text === 'string' ? text : '')).join('');
}
