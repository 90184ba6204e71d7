// Requests a model's whole answer at once.
// Must never treat a reply without an answer as one.
import type { LanguageModelV4Content, LanguageModelV4GenerateResult } from '@ai-sdk/provider';
import { plainText } from '../contract/json/plain-text.ts';
import {
  type AnswerPart,
  filePartOf,
  type ModelAnswer,
  type ModelReply,
  usageOf,
  warningTexts,
  wireNameOf,
} from './answers/model-answer.ts';
import { type ModelCall, NOTHING_YET, withinLimits } from './model-call.ts';

/** Never rejects. */
export async function generateAnswer(call: ModelCall): Promise<ModelReply> {
  return withinLimits(
    call,
    async (limits, startedAt) => {
      const result = await call.model.doGenerate({ ...call.options, abortSignal: limits.signal });
      return answerOf(result, Math.round(performance.now() - startedAt));
    },
    () => NOTHING_YET,
  );
}

function answerOf(result: LanguageModelV4GenerateResult, durationMs: number): ModelAnswer {
  const { content, finishReason, usage, warnings, response, providerMetadata: providerData } = result;
  const parts = content.map(partOf).filter((part) => part !== null);
  return {
    parts,
    calls: parts.flatMap((part) => (part.type === 'tool_call' ? [part.call] : [])),
    finish: finishReason,
    usage: usageOf(usage),
    ...(providerData === undefined ? {} : { providerData }),
    modelId: response?.modelId ?? null,
    warnings: warningTexts(warnings),
    headers: response?.headers ?? {},
    durationMs,
    firstChunkMs: null,
  };
}

/** null: the part belongs to what the provider executed itself. */
function partOf(part: LanguageModelV4Content): AnswerPart | null {
  if (part.type === 'file') return filePartOf(part);
  if (part.type === 'tool-call') return part.providerExecuted === true ? null : callOf(part);
  if (part.type !== 'text' && part.type !== 'reasoning') return null;
  const { providerMetadata: providerData } = part;
  const type = part.type === 'text' ? 'text' : 'thinking';
  return { type, text: plainText(part.text), ...(providerData === undefined ? {} : { providerData }) };
}

function callOf(part: Extract<LanguageModelV4Content, { type: 'tool-call' }>): AnswerPart {
  const { toolCallId: id, toolName, input, providerMetadata: providerData } = part;
  const data = providerData === undefined ? {} : { providerData };
  return { type: 'tool_call', call: { id, wireName: wireNameOf(toolName), input, ...data } };
}
