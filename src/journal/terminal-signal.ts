// The signal that ends a directive, for every kind of directive, from its canonical result.
// Must never leave out a kind: a directive without a way to end would wait for ever.
import type { Directive } from '../contract/directive.ts';
import { errorResult, type Result } from '../contract/result.ts';
import type { ErrorEnvelope } from '../contract/error-envelope.ts';
import type { SignalDraft } from '../contract/signal.ts';
import { toolContent } from '../contract/tool-content.ts';
import { draftSignal, systemStamp, type SignalOrigin, type Stamp } from './signal-draft.ts';
import { ownMember } from '../contract/own-member.ts';

/** What is said beside the result: attempts, server, model, effect (contract.md §5, metadata vocabulary). */
export type SignalMetadata = Record<string, unknown>;

const OPERATIONS: Readonly<Partial<Record<Directive['type'], string>>> = {
  tool_exec: 'tool_execute',
  llm_stream: 'stream_text',
  llm_generate: 'generate_text',
  llm_embed: 'embed',
};

/** The metadata every signal of a directive carries. */
export function directiveMetadata(directive: Directive): SignalMetadata {
  const given = directive.metadata as SignalMetadata;
  const operation = ownMember(OPERATIONS, directive.type);
  const runId = given['run_id'] ?? directive.request_id;
  const iteration = 'iteration' in directive ? directive.iteration : given['iteration'];
  return {
    ...(operation === undefined ? {} : { operation }),
    origin: directive.type === 'tool_exec' ? 'worker_runtime' : 'directive',
    request_id: directive.request_id,
    run_id: runId,
    ...(iteration === undefined ? {} : { iteration }),
    ...(given['strategy'] === undefined ? {} : { strategy: given['strategy'] }),
  };
}

/** Longer than any id of the service; what a caller noted under such a name may be anything. */
const LONGEST_CORRELATION = 256;

/** The same for signals that there may be thousands of: only what is short. */
export function correlationOf(directive: Directive): SignalMetadata {
  const isShort = (value: unknown): boolean =>
    typeof value === 'number' || (typeof value === 'string' && value.length <= LONGEST_CORRELATION);
  return Object.fromEntries(
    Object.entries(directiveMetadata(directive)).filter(([, value]) => isShort(value)),
  );
}

/** The terminal signal of `directive` with `result`. `content`: what the model reads of a tool's result. */
export function terminalSignal(
  directive: Directive,
  result: Result,
  origin: SignalOrigin,
  metadata: SignalMetadata = {},
  stamp: Stamp = systemStamp,
  content: string = toolContent(result),
): SignalDraft {
  const call_id = directive.id;
  const merged = { ...directiveMetadata(directive), ...metadata };
  switch (directive.type) {
    case 'tool_exec': {
      const data = { call_id, tool_name: directive.tool_name, result, content, metadata: merged };
      return draftSignal('ai.tool.result', data, origin, stamp);
    }
    case 'emit_tool_error': {
      const { tool_name, metadata: given, request_id } = directive;
      const noted = { ...directiveMetadata(directive), ...given, request_id };
      const data = { call_id, tool_name, result, content: toolContent(result), metadata: noted };
      return draftSignal('ai.tool.result', data, origin, stamp);
    }
    case 'llm_stream':
    case 'llm_generate':
      return draftSignal('ai.llm.response', { call_id, result, metadata: merged }, origin, stamp);
    case 'llm_embed':
      return draftSignal('ai.embed.result', { call_id, result, metadata: merged }, origin, stamp);
    case 'emit_request_error': {
      const { request_id, reason, message } = directive;
      return draftSignal('ai.request.error', { request_id, reason, message }, origin, stamp);
    }
    default: {
      // Of a kind that a user's module defines.
      const { type: directive_type } = directive as { type: string };
      const data = { call_id, directive_type, result, metadata: merged };
      return draftSignal('directive.result', data, origin, stamp);
    }
  }
}

/** The terminal signal of a directive that ended in `error`. */
export function failureSignal(
  directive: Directive,
  error: ErrorEnvelope,
  origin: SignalOrigin,
  metadata: SignalMetadata = {},
  stamp: Stamp = systemStamp,
): SignalDraft {
  return terminalSignal(directive, errorResult(error), origin, metadata, stamp);
}
