// A model's answer as a turn of the contract.
// Must never hide that the arguments of a call cannot be used.
import type { LanguageModelV4FinishReason } from '@ai-sdk/provider';
import { type FinishReason, normalizeFinishReason } from '../../contract/model/finish-reason.ts';
import type { AssistantPart, ProviderData, ToolCall } from '../../contract/model/message.ts';
import type { ModelRef } from '../../contract/model/model-name.ts';
import type { ModelTurn } from '../../contract/model/model-turn.ts';
import type { AnswerPart, ModelAnswer } from './model-answer.ts';
import { receivedField } from '../requests/reasoning-history.ts';
import type { ToolNames } from '../requests/tool-names.ts';
import { type ReadArguments, readArguments } from './written-arguments.ts';
import { ownMember } from '../../contract/json/json-object.ts';

export function turnOf(
  answer: ModelAnswer,
  ref: ModelRef,
  names: Pick<ToolNames, 'decode'>,
  { scripted }: { scripted: boolean },
): ModelTurn {
  const reason = finishReason(answer.finish, answer.calls.length > 0);
  const tool_calls = callsOf(answer, names, endsNamed(answer.finish) ? reason : 'unknown');
  const written = answer.parts.map(wellFormedPart);
  const content_parts = contentParts({ ...answer, parts: written }, ref);
  return {
    type: tool_calls.length > 0 ? 'tool_calls' : 'final_answer',
    text: joined(written, 'text'),
    thinking: joined(written, 'thinking'),
    tool_calls,
    ...(content_parts === null ? {} : { content_parts }),
    usage: answer.usage,
    model: answer.modelId ?? ref.model,
    finish_reason: reason,
    duration_ms: answer.durationMs,
    first_chunk_ms: answer.firstChunkMs,
    ...(scripted ? { scripted: true } : {}),
  };
}

function wellFormedPart(part: AnswerPart): AnswerPart {
  return 'text' in part ? { ...part, text: part.text.toWellFormed() } : part;
}

function joined(parts: readonly AnswerPart[], type: 'text' | 'thinking'): string {
  return parts.map((part) => (part.type === type ? part.text : '')).join('');
}

function callsOf(
  { calls }: ModelAnswer,
  names: Pick<ToolNames, 'decode'>,
  reason: FinishReason | null,
): ToolCall[] {
  const read = readArguments(
    calls.map(({ input }) => input),
    reason,
  );
  return calls.map(({ id, wireName, providerData }, index) => ({
    id,
    name: names.decode(wireName),
    ...(read[index] as ReadArguments),
    ...(providerData === undefined ? {} : { provider_data: providerData as ProviderData }),
  }));
}

/** null: the answer is its text, and its calls after it. */
function contentParts({ parts, calls, providerData }: ModelAnswer, ref: ModelRef): AssistantPart[] | null {
  const kept = parts.filter((part) => {
    if (part.type === 'tool_call') return calls.includes(part.call);
    return part.type === 'file' || part.text !== '' || part.providerData;
  });
  const isCall = (part: AnswerPart | undefined): boolean => part?.type === 'tool_call';
  const lastPart = kept.findLastIndex((part) => !isCall(part));
  const hasPlaces = kept.slice(0, Math.max(0, lastPart)).some(isCall);
  const placed = hasPlaces ? kept : kept.filter((part) => !isCall(part));
  const saysMore = hasPlaces || placed.some((part) => part.type !== 'text' || part.providerData);
  const field = receivedField(providerData, ref.provider);
  return saysMore ? placed.map((part) => contentPart(part, field)) : null;
}

/** `field`: data about the reasoning of the whole answer. */
function contentPart(part: AnswerPart, field: ProviderData | null): AssistantPart {
  if (part.type === 'tool_call') return { type: 'tool_call', id: part.call.id };
  if (part.type === 'file') {
    const { mediaType: media_type, source } = part;
    const type = media_type.startsWith('image/') ? 'image' : 'file';
    return { type, media_type, ...source };
  }
  const { type, text, providerData } = part;
  const own = providerData as ProviderData | undefined;
  const data = type === 'thinking' && field !== null ? { ...own, ...field } : own;
  return { type, text, ...(data === undefined ? {} : { provider_data: data }) };
}

/** The provider has given a reason; `unknown` is put in where it has not. */
function endsNamed(finish: LanguageModelV4FinishReason | null): boolean {
  return (
    finish !== null && finish.raw !== 'unknown' && (finish.raw !== undefined || finish.unified !== 'other')
  );
}

const UNIFIED: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  length: 'length',
  'content-filter': 'content_filter',
  'tool-calls': 'tool_calls',
  error: 'error',
  interrupted: 'incomplete',
};

function finishReason(finish: LanguageModelV4FinishReason | null, calls: boolean): FinishReason | null {
  if (finish === null) return null;
  const reason = ownMember(UNIFIED, finish.unified) ?? normalizeFinishReason(finish.raw) ?? 'unknown';
  // Some providers report a call with the reason of any other end.
  return calls && (reason === 'stop' || reason === 'unknown') ? 'tool_calls' : reason;
}
