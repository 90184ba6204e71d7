// Requests a model's whole answer at once.
// Must never treat a reply without an answer as one.
import type { LanguageModelV4Content, LanguageModelV4GenerateResult } from '@ai-sdk/provider';
import { plainText } from '../contract/plain-text.ts';
import {
  type AnswerPart,
  filePartOf,
  type ModelAnswer,
  type ModelReply,
  usageOf,
  warningTexts,
  wireNameOf,
  type WrittenCall,
} from './model-answer.ts';
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
  const { content, finishReason, usage, warnings, response } = result;
  return {
    parts: content.map(partOf).filter((part) => part !== null),
    calls: content.map(callOf).filter((call) => call !== null),
    finish: finishReason,
    usage: usageOf(usage),
    modelId: response?.modelId ?? null,
    warnings: warningTexts(warnings),
    headers: response?.headers ?? {},
    durationMs,
    firstChunkMs: null,
  };
}

/** null: the part is not text of the answer. */
function partOf(part: LanguageModelV4Content): AnswerPart | null {
  if (part.type === 'file') return filePartOf(part);
  if (part.type !== 'text' && part.type !== 'reasoning') return null;
  const { providerMetadata: providerData } = part;
  const type = part.type === 'text' ? 'text' : 'thinking';
  return { type, text: plainText(part.text), ...(providerData === undefined ? {} : { providerData }) };
}

function callOf(part: LanguageModelV4Content): WrittenCall | null {
  if (part.type !== 'tool-call' || part.providerExecuted === true) return null;
  const { toolCallId: id, toolName, input, providerMetadata: providerData } = part;
  return {
    id,
    wireName: wireNameOf(toolName),
    input,
    ...(providerData === undefined ? {} : { providerData }),
  };
}
