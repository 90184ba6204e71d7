// Token counts of a model call, whatever the provider names them.
// Must never invent a count: what was not reported is zero.
import * as z from 'zod';
import { isObject } from '../json/json-object.ts';

const tokens = z.int().min(0);

/** Schema of token usage. */
export const usageSchema = z.object({
  input_tokens: tokens.describe('Number of input tokens, cached ones included.'),
  output_tokens: tokens.describe('Number of output tokens.'),
  total_tokens: tokens.describe('Number of all tokens.'),
  cache_creation_input_tokens: tokens
    .optional()
    .describe("Number of input tokens written to the provider's cache. Absent: not reported."),
  cache_read_input_tokens: tokens
    .optional()
    .describe("Number of input tokens read from the provider's cache. Absent: not reported."),
  reasoning_tokens: tokens
    .optional()
    .describe("Number of output tokens that are the model's reasoning. Absent: not reported."),
});

/** Token usage of a model call. */
export type Usage = z.infer<typeof usageSchema>;

const INPUT_NAMES = ['input_tokens', 'prompt_tokens', 'input', 'promptTokenCount', 'inputTokenCount'];
const OUTPUT_NAMES = [
  'output_tokens',
  'completion_tokens',
  'output',
  'candidatesTokenCount',
  'outputTokenCount',
];
const TOTAL_NAMES = ['total_tokens', 'total', 'totalTokenCount'];

/** The usage in a provider's report, or null when it reports no tokens. */
export function normalizeUsage(raw: unknown): Usage | null {
  if (!isObject(raw)) return null;
  const sources = isObject(raw['tokens']) ? [raw, raw['tokens']] : [raw];
  const input = firstCount(sources, INPUT_NAMES) ?? 0;
  const output = firstCount(sources, OUTPUT_NAMES) ?? 0;
  if (input === 0 && output === 0) return null;
  return {
    input_tokens: input,
    output_tokens: output,
    total_tokens: firstCount(sources, TOTAL_NAMES) ?? input + output,
    ...partCount(sources, 'cache_creation_input_tokens'),
    ...partCount(sources, 'cache_read_input_tokens'),
    ...partCount(sources, 'reasoning_tokens'),
  };
}

/** The sum of two usages, as over the calls of a run. */
export function mergeUsage(left: Usage, right: Usage): Usage {
  const sum: Usage = { ...left };
  for (const name of Object.keys(usageSchema.shape) as (keyof Usage)[]) {
    const added = right[name];
    if (added !== undefined) sum[name] = (sum[name] ?? 0) + added;
  }
  return sum;
}

function partCount(sources: readonly Record<string, unknown>[], name: keyof Usage): Partial<Usage> {
  const count = firstCount(sources, [name]);
  return count === undefined ? {} : { [name]: count };
}

function firstCount(
  sources: readonly Record<string, unknown>[],
  names: readonly string[],
): number | undefined {
  for (const source of sources) {
    for (const name of names) {
      const count = readCount(source[name]);
      if (count !== undefined) return count;
    }
  }
  return undefined;
}

function readCount(raw: unknown): number | undefined {
  const count = typeof raw === 'string' && /^\s*-?\d+(\.\d+)?\s*$/.test(raw) ? Number(raw) : raw;
  if (typeof count !== 'number' || !Number.isFinite(count)) return undefined;
  return Math.min(Math.max(0, Math.trunc(count)), Number.MAX_SAFE_INTEGER);
}
