// Models that answer from a script, for demonstrations and for work without a network.
// Must never answer without marking the answer as scripted.
import { hash } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import type {
  EmbeddingModelV4,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from '@ai-sdk/provider';
import { sameTool, turnFor, type Script, type Turn } from './script.ts';

/** In every answer, as `providerMetadata`. */
const SCRIPTED = { scripted: { scripted: true } };
const CHARACTERS_PER_TOKEN = 4;
/** A word with the space after it, or what is left. */
const PIECE = /\S+\s*|\s+/g;

export interface ScriptedModelOptions {
  readonly model: string;
  readonly script: Script;
  /** Chunks per second. null = as the script says. */
  readonly pace: number | null;
}

export function scriptedLanguageModel({ model, script, pace }: ScriptedModelOptions): LanguageModelV4 {
  const delayMs = 1_000 / (pace ?? script.pace);
  return {
    specificationVersion: 'v4',
    provider: 'scripted',
    modelId: model,
    supportedUrls: {},
    async doGenerate(options) {
      const turn = turnFor(script, options.prompt);
      await wait(delayMs, undefined, { signal: options.abortSignal });
      return generated(turn, options, model);
    },
    async doStream(options) {
      const answer = generated(turnFor(script, options.prompt), options, model);
      return { stream: ReadableStream.from(paced(partsOf(answer), delayMs, options.abortSignal)) };
    },
  };
}

function generated(
  turn: Turn,
  options: LanguageModelV4CallOptions,
  model: string,
): LanguageModelV4GenerateResult {
  const calls = turn.tool_calls.map((call, index) => toolCall(call, index, options));
  const thinking = turn.thinking === undefined ? [] : [{ type: 'reasoning' as const, text: turn.thinking }];
  const text = turn.text === undefined ? [] : [{ type: 'text' as const, text: turn.text }];
  const unified = calls.length > 0 ? 'tool-calls' : 'stop';
  return {
    content: [...thinking, ...text, ...calls],
    finishReason: { unified, raw: 'scripted' } satisfies LanguageModelV4FinishReason,
    usage: usageOf(turn, options),
    providerMetadata: SCRIPTED,
    response: { modelId: `scripted:${model}` },
    warnings: [],
  };
}

/** Names the tool as the call does; the same call of the same prompt has the same id. */
function toolCall(
  { name, arguments: given }: Turn['tool_calls'][number],
  index: number,
  { tools = [], prompt }: LanguageModelV4CallOptions,
): Extract<LanguageModelV4Content, { type: 'tool-call' }> {
  const offered = tools.find((tool) => sameTool(tool.name, name));
  const digest = hash('sha256', JSON.stringify(prompt), 'hex').slice(0, 12);
  return {
    type: 'tool-call',
    toolCallId: `call_${digest}_${index}`,
    toolName: offered?.name ?? name,
    input: JSON.stringify(given),
  };
}

function usageOf(turn: Turn, { prompt }: LanguageModelV4CallOptions): LanguageModelV4Usage {
  const estimate = (text: string): number => Math.ceil(text.length / CHARACTERS_PER_TOKEN);
  const input = turn.usage?.input_tokens ?? estimate(JSON.stringify(prompt));
  const reasoning = estimate(turn.thinking ?? '');
  const written = estimate((turn.text ?? '') + JSON.stringify(turn.tool_calls)) + reasoning;
  const output = turn.usage?.output_tokens ?? written;
  const thought = Math.min(reasoning, output);
  return {
    inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: output, text: output - thought, reasoning: thought },
  };
}

function* partsOf(answer: LanguageModelV4GenerateResult): Generator<LanguageModelV4StreamPart> {
  yield { type: 'stream-start', warnings: [] };
  yield { type: 'response-metadata', ...answer.response };
  for (const [index, content] of answer.content.entries()) yield* pieces(content, String(index));
  const { usage, finishReason, providerMetadata } = answer;
  yield { type: 'finish', usage, finishReason, providerMetadata: providerMetadata ?? SCRIPTED };
}

function* pieces(content: LanguageModelV4Content, id: string): Generator<LanguageModelV4StreamPart> {
  if (content.type === 'reasoning' || content.type === 'text') {
    const { type, text } = content;
    yield { type: `${type}-start`, id };
    for (const [delta] of text.matchAll(PIECE)) yield { type: `${type}-delta`, id, delta };
    yield { type: `${type}-end`, id };
  }
  if (content.type === 'tool-call') {
    const { toolCallId, toolName, input } = content;
    yield { type: 'tool-input-start', id: toolCallId, toolName };
    yield { type: 'tool-input-delta', id: toolCallId, delta: input };
    yield { type: 'tool-input-end', id: toolCallId };
    yield content;
  }
}

async function* paced(
  parts: Iterable<LanguageModelV4StreamPart>,
  delayMs: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<LanguageModelV4StreamPart> {
  for (const part of parts) {
    if (part.type.endsWith('-delta')) await wait(delayMs, undefined, { signal });
    signal?.throwIfAborted();
    yield part;
  }
}

const DEFAULT_DIMENSIONS = 64;
const EMBEDDINGS_A_CALL = 100;

/** Vectors in which texts with common words are near each other; they have no other meaning. */
export function scriptedEmbeddingModel(model: string): EmbeddingModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'scripted',
    modelId: model,
    maxEmbeddingsPerCall: EMBEDDINGS_A_CALL,
    supportsParallelCalls: true,
    async doEmbed({ values, dimensions = DEFAULT_DIMENSIONS, abortSignal }) {
      abortSignal?.throwIfAborted();
      const tokens = values.reduce((sum, text) => sum + Math.ceil(text.length / CHARACTERS_PER_TOKEN), 0);
      return {
        embeddings: values.map((text) => vectorOf(text, dimensions)),
        usage: { tokens },
        providerMetadata: SCRIPTED,
        warnings: [],
      };
    },
  };
}

/** Vector of length 1: each word adds to one place, chosen by its digest. */
function vectorOf(text: string, dimensions: number): number[] {
  const vector = Array.from({ length: dimensions }, () => 0);
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [''];
  for (const word of words) {
    const place = Number.parseInt(hash('sha256', word, 'hex').slice(0, 8), 16) % dimensions;
    vector[place] = (vector[place] ?? 0) + 1;
  }
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}
