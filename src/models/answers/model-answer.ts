// A model's answer before it becomes a turn: its parts in order, its calls, its reports.
// Must never judge tool names or arguments: the caller does.
import type {
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4Usage,
  SharedV4ProviderMetadata,
  SharedV4Warning,
} from '@ai-sdk/provider';
import { normalizeFinishReason } from '../../contract/model/finish-reason.ts';
import type { ModelRef } from '../../contract/model/model-name.ts';
import { normalizeUsage, type Usage } from '../../contract/model/usage.ts';
import { MAX_TOOL_CALLS } from './answer-limits.ts';
import { contentType, failure, type ModelFailure } from './model-failure.ts';
import type { ResponseHeaders } from './rate-headers.ts';
import type { SpentTokens } from './spent-tokens.ts';

export type AnswerPart =
  | { type: 'text' | 'thinking'; text: string; providerData?: SharedV4ProviderMetadata }
  | { type: 'file'; mediaType: string; source: FileSource }
  /** The place of a call; an answer that was cut may never complete it. */
  | { type: 'tool_call'; call: WrittenCall };

/** base64, or the URL where the provider keeps it. */
export type FileSource = { data: string } | { url: string };

/** A tool call as the model wrote it: its name as the provider knows it, its arguments as JSON text. */
export interface WrittenCall {
  id: string;
  wireName: string;
  input: string;
  providerData?: SharedV4ProviderMetadata;
}

/** A client that keeps names in a plain object may return an inherited member, which is not a string. */
export function wireNameOf(name: unknown): string {
  return typeof name === 'string' ? name : 'unknown';
}

export interface ModelAnswer {
  parts: AnswerPart[];
  calls: WrittenCall[];
  /** null: the provider gave none. */
  finish: LanguageModelV4FinishReason | null;
  usage: Usage | null;
  /** The data that the provider's client reports about the whole answer, by provider. */
  providerData?: SharedV4ProviderMetadata;
  /** The model's name as the provider reports it. */
  modelId: string | null;
  /** Omissions and changes of the provider's client, one sentence each. */
  warnings: string[];
  headers: ResponseHeaders;
  durationMs: number;
  firstChunkMs: number | null;
}

export type ModelReply =
  | { readonly ok: true; readonly answer: ModelAnswer }
  /** `spent`: what the failed call may have cost; null: nothing. */
  | { readonly ok: false; readonly failure: ModelFailure; readonly spent: SpentTokens | null };

/**
 * null: the answer is complete, and within what a run can execute. `mayBeEmpty`: the call ended with results of tools, after
 * which a model may have nothing to add to what it has written before.
 */
export function incompleteness(
  answer: ModelAnswer,
  ref: ModelRef,
  { mayBeEmpty = false } = {},
): ModelFailure | null {
  const { finish, parts, calls, headers } = answer;
  const isEmpty =
    calls.length === 0 &&
    parts.every((part) => part.type === 'tool_call' || ('text' in part && part.text.trim() === ''));
  const details = { model: ref.name, ...contentType(headers) };
  const fail = (message: string, reason: string): ModelFailure =>
    failure('provider_error', message, { ...details, reason });
  if (calls.length > MAX_TOOL_CALLS) return tooManyCalls(calls.length, details);
  if (finish === null || finish.unified === 'interrupted') {
    if (isEmpty && String(headers['content-type']).includes('text/html'))
      return fail('the provider answered with a web page', 'html');
    return isEmpty
      ? fail('the provider’s answer is empty', 'empty_answer')
      : fail('the provider’s answer ended before it was complete', 'interrupted');
  }
  // Compatible servers report a failure in the middle of an answer by this reason, which some clients do not know.
  if (finish.unified === 'error' || normalizeFinishReason(finish.raw) === 'error')
    return fail(`the provider stopped with an error: ${finish.raw ?? 'it gives no reason'}`, 'error');
  if (finish.unified === 'tool-calls' && calls.length === 0)
    return fail('the provider says that the model calls a tool, but sent no tool call', 'no_tool_calls');
  const isCut = finish.unified === 'length' || finish.unified === 'content-filter';
  if (!isCut && parts.some((part) => part.type === 'tool_call' && !calls.includes(part.call)))
    return fail('the provider’s answer ended within a tool call', 'interrupted');
  const isEnded = isCut || (mayBeEmpty && finish.unified === 'stop');
  return isEmpty && !isEnded ? fail('the provider’s answer is empty', 'empty_answer') : null;
}

function tooManyCalls(count: number, details: object): ModelFailure {
  const message = `the answer asks for ${count} tool calls, the limit is ${MAX_TOOL_CALLS}`;
  return failure('invalid_result', message, { ...details, reason: 'too_large' }, { unavailable: true });
}

/** The tokens as the provider's client counts them; counts that only its raw report has are read there. */
export function usageOf({ inputTokens, outputTokens, raw }: LanguageModelV4Usage): Usage | null {
  const counted = normalizeUsage({
    input_tokens: inputTokens.total,
    output_tokens: outputTokens.total,
    cache_read_input_tokens: inputTokens.cacheRead,
    cache_creation_input_tokens: inputTokens.cacheWrite,
    reasoning_tokens: outputTokens.reasoning,
  });
  return counted === null ? normalizeUsage(raw) : withoutZeroParts(counted);
}

/** Removes parts of zero tokens: they carry no information. */
function withoutZeroParts(usage: Usage): Usage {
  const { cache_creation_input_tokens, cache_read_input_tokens, reasoning_tokens, ...whole } = usage;
  return {
    ...whole,
    ...(cache_creation_input_tokens ? { cache_creation_input_tokens } : {}),
    ...(cache_read_input_tokens ? { cache_read_input_tokens } : {}),
    ...(reasoning_tokens ? { reasoning_tokens } : {}),
  };
}

const MAX_WARNINGS = 10;

export function warningTexts(warnings: readonly SharedV4Warning[]): string[] {
  return warnings.slice(0, MAX_WARNINGS).map((warning) => {
    if (warning.type === 'other') return warning.message;
    if (!('feature' in warning)) return warning.type;
    return warning.details === undefined
      ? `${warning.feature}: ${warning.type}`
      : `${warning.feature}: ${warning.details}`;
  });
}

type GeneratedFile = Extract<LanguageModelV4Content, { type: 'file' }>;

export function filePartOf({ mediaType, data }: Pick<GeneratedFile, 'mediaType' | 'data'>): AnswerPart {
  if (data.type === 'url') return { type: 'file', mediaType, source: { url: String(data.url) } };
  const base64 = typeof data.data === 'string' ? data.data : Buffer.from(data.data).toString('base64');
  return { type: 'file', mediaType, source: { data: base64 } };
}
