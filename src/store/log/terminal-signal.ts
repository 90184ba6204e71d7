// The signal that ends a directive, for every kind of directive, from its canonical result.
// Must never leave out a kind: a directive without a way to end would wait for ever.
import { ownId } from '../../contract/access/tenant.ts';
import { CONTEXT_STATE, type Directive, callVocabulary } from '../../contract/directive/directive.ts';
import { errorResult, type Result } from '../../contract/result.ts';
import type { ErrorEnvelope } from '../../contract/error-envelope.ts';
import type { ImmediateDirective } from '../../contract/directive/immediate-directive.ts';
import type { SignalDraft } from '../../contract/signal/signal.ts';
import { toolContent } from '../../contract/tool/tool-content.ts';
import { normalizeUsage, type Usage } from '../../contract/model/usage.ts';
import { draftSignal, systemStamp, type SignalOrigin, type Stamp } from './signal-draft.ts';

/** The facts beside the result: attempts, server, model, effect (contract.md §5, metadata vocabulary). */
export type SignalMetadata = Record<string, unknown>;

const LONGEST_NAME = 128;

/** The metadata every signal of a directive carries. */
export function directiveMetadata(directive: Directive): SignalMetadata {
  const given = directive.metadata as SignalMetadata;
  const requestId = ownId(directive.request_id);
  const runId = short(given['run_id']) ?? requestId;
  const iteration = 'iteration' in directive ? directive.iteration : short(given['iteration']);
  const strategy = short(given['strategy']);
  return {
    ...callVocabulary(directive.type),
    request_id: requestId,
    run_id: runId,
    ...(iteration === undefined ? {} : { iteration }),
    ...(strategy === undefined ? {} : { strategy }),
    ...(isIgnoringState(given['ignored']) ? { ignored: [CONTEXT_STATE] } : {}),
  };
}

function isIgnoringState(ignored: unknown): boolean {
  return Array.isArray(ignored) && ignored.length === 1 && ignored[0] === CONTEXT_STATE;
}

/** Callers write anything into metadata, and each signal would repeat it. */
function short(value: unknown): string | number | undefined {
  const isShort = typeof value === 'number' || (typeof value === 'string' && value.length <= LONGEST_NAME);
  return isShort ? value : undefined;
}

/** The members of a terminal signal beside its result. */
export interface Beside {
  /** The text of a tool's result for the model. Default: made of the result. */
  content?: string | undefined;
  /** Bound of the content that is made of the result. Default: that of the contract. */
  contentCharacters?: number | undefined;
  /** The payload as it was before it was cut. Default: that of the result. */
  payload?: unknown;
}

/** The terminal signal of `directive` with `result`. */
export function terminalSignal(
  directive: Directive,
  result: Result,
  origin: SignalOrigin,
  metadata: SignalMetadata = {},
  stamp: Stamp = systemStamp,
  beside: Beside = {},
): SignalDraft {
  const call_id = directive.id;
  const merged = { ...directiveMetadata(directive), ...metadata };
  switch (directive.type) {
    case 'tool_exec': {
      const { content = toolContent(result, beside.contentCharacters) } = beside;
      const data = { call_id, tool_name: directive.tool_name, result, content, metadata: merged };
      return draftSignal('ai.tool.result', data, origin, stamp);
    }
    case 'emit_tool_error':
    case 'emit_tool_result':
    case 'emit_request_error':
      return immediateSignal(directive, result, origin, stamp);
    case 'llm_stream':
    case 'llm_generate':
    case 'llm_request': {
      const { payload = result.ok ? result.payload : null } = beside;
      const data = { call_id, result, ...modelFacts(payload, metadata), metadata: merged };
      return draftSignal('ai.llm.response', data, origin, stamp);
    }
    case 'llm_embed':
      return draftSignal('ai.embed.result', { call_id, result, metadata: merged }, origin, stamp);
    default: {
      // Of a kind that a user's module defines.
      const { type: directive_type } = directive as { type: string };
      const data = { call_id, directive_type, result, metadata: merged };
      return draftSignal('directive.result', data, origin, stamp);
    }
  }
}

/** Its metadata is what the caller noted, and which request it belongs to. */
function immediateSignal(
  directive: ImmediateDirective,
  result: Result,
  origin: SignalOrigin,
  stamp: Stamp,
): SignalDraft {
  const { id: call_id } = directive;
  const request_id = ownId(directive.request_id);
  const metadata = { ...directiveMetadata(directive), ...directive.metadata, request_id };
  if (directive.type === 'emit_request_error') {
    const { reason, message } = directive;
    return draftSignal('ai.request.error', { request_id, reason, message, metadata }, origin, stamp);
  }
  const { tool_name } = directive;
  const content = ('content' in directive ? directive.content : undefined) ?? toolContent(result);
  const data = { call_id, tool_name, result, content, metadata };
  return draftSignal('ai.tool.result', data, origin, stamp);
}

interface ModelFacts {
  usage?: Usage;
  model?: string;
  duration_ms?: number;
}

/** Which model answered, how long it took, and of an answer what it used. */
function modelFacts(payload: unknown, metadata: SignalMetadata): ModelFacts {
  const turn = Object(payload) as { usage?: unknown; duration_ms?: unknown };
  const usage = normalizeUsage(turn.usage);
  const { model } = metadata;
  const durationMs = [turn.duration_ms, metadata['duration_ms']].find((ms) => typeof ms === 'number');
  return {
    ...(usage === null ? {} : { usage }),
    ...(typeof model === 'string' ? { model } : {}),
    ...(durationMs === undefined ? {} : { duration_ms: durationMs }),
  };
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
