// A model's answer as a turn of the contract.
// Must never invent an argument: unreadable arguments become empty, and are named.
import type { LanguageModelV4FinishReason } from '@ai-sdk/provider';
import { type FinishReason, normalizeFinishReason } from '../contract/finish-reason.ts';
import { findJsonHazard } from '../contract/json-guard.ts';
import { isObject } from '../contract/json-object.ts';
import type { AssistantPart, ProviderData, ToolCall } from '../contract/message.ts';
import type { ModelRef } from '../contract/model-name.ts';
import type { ModelTurn } from '../contract/model-turn.ts';
import type { AnswerPart, ModelAnswer, WrittenCall } from './model-answer.ts';
import { receivedField } from './reasoning-history.ts';
import type { ToolNames } from './tool-names.ts';
import { ownMember } from '../contract/own-member.ts';

export interface ReadTurn {
  turn: ModelTurn;
  /** Ids of the calls whose arguments are not a JSON object: they are {} in the turn. */
  unreadableArguments: string[];
}

export function turnOf(
  answer: ModelAnswer,
  ref: ModelRef,
  names: Pick<ToolNames, 'decode'>,
  { scripted }: { scripted: boolean },
): ReadTurn {
  const calls = answer.calls.map((call) => readCall(call, names));
  const tool_calls = calls.map(({ call }) => call);
  const content_parts = contentParts(answer, ref);
  const turn: ModelTurn = {
    type: tool_calls.length > 0 ? 'tool_calls' : 'final_answer',
    text: joined(answer.parts, 'text'),
    thinking: joined(answer.parts, 'thinking'),
    tool_calls,
    ...(content_parts === null ? {} : { content_parts }),
    usage: answer.usage,
    model: answer.modelId ?? ref.model,
    finish_reason: finishReason(answer.finish, tool_calls.length > 0),
    duration_ms: answer.durationMs,
    first_chunk_ms: answer.firstChunkMs,
    ...(scripted ? { scripted: true } : {}),
  };
  const unreadableArguments = calls.filter(({ readable }) => !readable).map(({ call }) => call.id);
  return { turn, unreadableArguments };
}

function joined(parts: readonly AnswerPart[], type: 'text' | 'thinking'): string {
  return parts.map((part) => (part.type === type ? part.text : '')).join('');
}

function readCall(
  { id, wireName, input, providerData }: WrittenCall,
  names: Pick<ToolNames, 'decode'>,
): { call: ToolCall; readable: boolean } {
  const read = readArguments(input);
  const data = providerData === undefined ? {} : { provider_data: providerData as ProviderData };
  return {
    call: { id, name: names.decode(wireName), arguments: read ?? {}, ...data },
    readable: read !== null,
  };
}

/** null: not a JSON object, or one that cannot be sent. A call without arguments has {}. */
function readArguments(input: string): Record<string, unknown> | null {
  if (input.trim() === '') return {};
  try {
    const value: unknown = JSON.parse(input);
    return isObject(value) && findJsonHazard(value) === null ? value : null;
  } catch {
    return null;
  }
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
