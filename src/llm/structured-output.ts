// An answer that shall be a value of a given schema: how it is asked for, read, and asked for once more.
// Must never pass on a value that does not fit.
import type { LanguageModelV4CallOptions, LanguageModelV4Prompt } from '@ai-sdk/provider';

export type OutputSchema = Readonly<Record<string, unknown>>;

/** One sentence each, naming the place; null: the value fits. */
export type CheckOutput = (value: unknown) => string[] | null;

export type ReadOutput = { ok: true; value: unknown } | { ok: false; faults: string[] };

/** Reads the JSON in an answer, also inside of a fence, and checks it. */
export function readOutput(text: string, check: CheckOutput): ReadOutput {
  let value: unknown;
  try {
    value = JSON.parse(withoutFence(text));
  } catch {
    return { ok: false, faults: ['the answer is not JSON'] };
  }
  const faults = check(value);
  return faults === null ? { ok: true, value } : { ok: false, faults };
}

function withoutFence(text: string): string {
  return /^\s*```(?:json)?\s*\n(?<inside>[\s\S]*?)\n?\s*```\s*$/i.exec(text)?.groups?.['inside'] ?? text;
}

type ResponseFormat = NonNullable<LanguageModelV4CallOptions['responseFormat']>;

/** Asks the provider for the schema, as far as it knows how. */
export function outputFormat(schema: OutputSchema): ResponseFormat {
  const { $schema: _dialect, ...body } = schema;
  return { type: 'json', name: 'output', schema: body };
}

/** The prompt of the repair round: what was answered, and what is wrong with it. */
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
