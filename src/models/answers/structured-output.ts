// Answers that must be a value of a given schema: how they are requested, read and repaired.
// Must never pass on a value that does not fit the schema.
import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from '@ai-sdk/provider';
import { InexactJson, parseExactJson } from '../../contract/json/exact-json.ts';
import { wellFormed } from '../../contract/json/well-formed.ts';

export type OutputSchema = Readonly<Record<string, unknown>>;

/** One sentence each, naming the place. `mayBeRepaired`: the answer is wrong, not just unchecked. */
export interface OutputFaults {
  readonly faults: string[];
  readonly mayBeRepaired: boolean;
}

/** null: the value fits. */
export type CheckOutput = (value: unknown) => Promise<OutputFaults | null>;

export type ReadOutput = { ok: true; value: unknown } | ({ ok: false } & OutputFaults);

/** Reads the JSON in an answer, also inside a fence, and checks it. */
export async function readOutput(text: string, check: CheckOutput): Promise<ReadOutput> {
  let value: unknown;
  try {
    value = wellFormed(parseExactJson(withoutFence(text)));
  } catch (error) {
    const fault = error instanceof InexactJson ? error.message : 'the answer is not JSON';
    return { ok: false, faults: [fault], mayBeRepaired: true };
  }
  const misfit = await check(value);
  return misfit === null ? { ok: true, value } : { ok: false, ...misfit };
}

const FENCE = '```';

/** In one pass: a pattern would try every line break against every other one. */
function withoutFence(text: string): string {
  const trimmed = text.trim();
  const lineEnd = trimmed.indexOf('\n');
  if (lineEnd < 0 || !trimmed.startsWith(FENCE) || !trimmed.endsWith(FENCE)) return text;
  const language = trimmed.slice(FENCE.length, lineEnd).trim().toLowerCase();
  return language === '' || language === 'json' ? trimmed.slice(lineEnd + 1, -FENCE.length) : text;
}

type ResponseFormat = NonNullable<LanguageModelV4CallOptions['responseFormat']>;

/** Requests the schema from the provider, as far as it supports that. */
export function outputFormat(schema: OutputSchema): ResponseFormat {
  const { $schema: _dialect, ...body } = schema;
  return { type: 'json', name: 'output', schema: body };
}

/** How a provider is asked for JSON: by a schema, by a mode without one, or in the instructions alone. */
export type StructuredOutput = 'json_schema' | 'json_object' | 'prompt';

/** Moves the schema into the instructions, for a provider that does not take it. */
export function inInstructions(
  options: LanguageModelV4CallOptions,
  support: StructuredOutput,
): LanguageModelV4CallOptions {
  const { responseFormat, prompt, ...others } = options;
  if (support === 'json_schema' || responseFormat?.type !== 'json' || responseFormat.schema === undefined)
    return options;
  const demand = `Answer with nothing but JSON that fits this JSON Schema:\n${JSON.stringify(responseFormat.schema)}`;
  const [first, ...rest] = prompt;
  const instructed: LanguageModelV4Prompt =
    first?.role === 'system'
      ? [{ ...first, content: `${first.content}\n\n${demand}` }, ...rest]
      : [{ role: 'system', content: demand }, ...prompt];
  return {
    ...others,
    prompt: instructed,
    ...(support === 'json_object' ? { responseFormat: { type: 'json' } } : {}),
  };
}

/** The prompt of the repair: the answer, and what is wrong with it. */
export function repairPrompt(
  prompt: LanguageModelV4Prompt,
  answer: string,
  faults: readonly string[],
  schema: OutputSchema,
): LanguageModelV4Prompt {
  const complaint = [
    `Your answer does not fit: ${faults.join('; ')}.`,
    'Answer again, with nothing but JSON that fits this JSON Schema:',
    JSON.stringify(schema),
  ].join('\n');
  return [
    ...prompt,
    { role: 'assistant', content: [{ type: 'text', text: answer === '' ? '(nothing)' : answer }] },
    { role: 'user', content: [{ type: 'text', text: complaint }] },
  ];
}
