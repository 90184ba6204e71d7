// A model's answer as a turn of the contract.
// Must never hide that the arguments of a call cannot be used.
import type { LanguageModelV4FinishReason } from '@ai-sdk/provider';
import { type FinishReason, normalizeFinishReason } from '../contract/finish-reason.ts';
import type { AssistantPart, ProviderData, ToolCall } from '../contract/message.ts';
import type { ModelRef } from '../contract/model-name.ts';
import type { ModelTurn } from '../contract/model-turn.ts';
import type { AnswerPart, ModelAnswer } from './model-answer.ts';
import type { ToolNames } from './tool-names.ts';
import { type ReadArguments, readArguments } from './written-arguments.ts';
import { ownMember } from '../contract/own-member.ts';

export function turnOf(
  answer: ModelAnswer,
  ref: ModelRef,
  names: Pick<ToolNames, 'decode'>,
  { scripted }: { scripted: boolean },
): ModelTurn {
  const reason = finishReason(answer.finish, answer.calls.length > 0);
  const tool_calls = callsOf(answer, names, reason);
  const written = answer.parts.map(wellFormedPart);
  const parts = written.filter((part) => part.type === 'file' || part.text !== '' || part.providerData);
  const saysMore = parts.some((part) => part.type !== 'text' || part.providerData);
  return {
    type: tool_calls.length > 0 ? 'tool_calls' : 'final_answer',
    text: joined(written, 'text'),
    thinking: joined(written, 'thinking'),
    tool_calls,
    ...(saysMore ? { content_parts: parts.map(contentPart) } : {}),
    usage: answer.usage,
    model: answer.modelId ?? ref.model,
    finish_reason: reason,
    duration_ms: answer.durationMs,
    first_chunk_ms: answer.firstChunkMs,
    ...(scripted ? { scripted: true } : {}),
  };
}

function wellFormedPart(part: AnswerPart): AnswerPart {
  return part.type === 'file' ? part : { ...part, text: part.text.toWellFormed() };
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

function contentPart(part: AnswerPart): AssistantPart {
  if (part.type === 'file') {
    const { mediaType: media_type, source } = part;
    const type = media_type.startsWith('image/') ? 'image' : 'file';
    return { type, media_type, ...source };
  }
  const data = part.providerData === undefined ? {} : { provider_data: part.providerData as ProviderData };
  return { type: part.type, text: part.text, ...data };
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
