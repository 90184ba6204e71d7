// The tokens of a call without an answer: as the provider reports them, else by the size of the texts.
// Must never present an estimate as a count.
import type { LanguageModelV4Prompt } from '@ai-sdk/provider';

export interface SpentTokens {
  input_tokens: number;
  output_tokens: number;
  total_tokens: number;
  /** Estimated from the size of the texts and early reports; false: the provider's final count. */
  estimated: boolean;
}

/** A rule of thumb for all languages and models. */
const CHARACTERS_PER_TOKEN = 4;
/** An image or file, whatever its size. */
const TOKENS_PER_FILE = 1_000;

export function estimatedTokens(characters: number): number {
  return Math.ceil(characters / CHARACTERS_PER_TOKEN);
}

/** An estimate for a prompt; each file counts a fixed number. */
export function promptTokens(prompt: LanguageModelV4Prompt): number {
  let characters = 0;
  let files = 0;
  JSON.stringify(prompt, (key, value: unknown) => {
    if (key === 'data') {
      files += 1;
      return undefined;
    }
    if (typeof value === 'string') characters += value.length;
    return value;
  });
  return estimatedTokens(characters) + files * TOKENS_PER_FILE;
}

/** Bytes: what has fewer of them in a token is rare. */
const BYTES_PER_TOKEN = 3;
/** Roles, marks between messages, the provider's own frame. */
const TOKENS_OF_A_FRAME = 16;

/** More than a prompt takes, in nearly every language: for what must not be taken for less. `beside`: tools, formats. */
export function mostPromptTokens(prompt: LanguageModelV4Prompt, beside: unknown): number {
  let files = 0;
  const text = JSON.stringify([prompt, beside], (key, value: unknown) => {
    if (key !== 'data') return value;
    files += 1;
    return undefined;
  });
  return mostTextTokens(text) + files * TOKENS_PER_FILE + (prompt.length + 1) * TOKENS_OF_A_FRAME;
}

export function mostTextTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}

/** Counts that a stream reports while it runs; null as long as it has not. */
export interface ReportedTokens {
  input: number | null;
  output: number | null;
}

export function spentTokens(reported: ReportedTokens, inputEstimate: number, written: number): SpentTokens {
  const input_tokens = reported.input ?? inputEstimate;
  const writtenTokens = estimatedTokens(written);
  // A stream reports now and then how much it has written; the last report is not final.
  const output_tokens = Math.max(reported.output ?? 0, writtenTokens);
  return { input_tokens, output_tokens, total_tokens: input_tokens + output_tokens, estimated: true };
}

/** The tokens in a raw event of a stream (Anthropic, Google); null for all others. */
export function reportedTokens(event: unknown): Partial<ReportedTokens> | null {
  if (typeof event !== 'object' || event === null) return null;
  const { message, usage, usageMetadata } = event as Record<string, Record<string, unknown> | undefined>;
  const anthropic = (message?.['usage'] ?? usage) as Record<string, unknown> | undefined;
  if (anthropic) return anthropicTokens(anthropic);
  if (!usageMetadata) return null;
  const output = sum(usageMetadata, ['candidatesTokenCount', 'thoughtsTokenCount']);
  return { ...ifCounted('input', sum(usageMetadata, ['promptTokenCount'])), ...ifCounted('output', output) };
}

function anthropicTokens(usage: Record<string, unknown>): Partial<ReportedTokens> {
  const input = sum(usage, ['input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens']);
  return { ...ifCounted('input', input), ...ifCounted('output', sum(usage, ['output_tokens'])) };
}

function ifCounted(name: keyof ReportedTokens, count: number | null): Partial<ReportedTokens> {
  return count === null ? {} : { [name]: count };
}

function sum(counts: Record<string, unknown>, names: readonly string[]): number | null {
  const found = names.map((name) => counts[name]).filter((count) => typeof count === 'number');
  return found.length === 0 ? null : found.reduce((total, count) => total + count, 0);
}
