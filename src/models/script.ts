// A script: the turns of a scripted model, and which of them fits a prompt.
// Must never be mistaken for a model: it only repeats written text.
import type { LanguageModelV4Prompt, LanguageModelV4ToolResultOutput } from '@ai-sdk/provider';
import * as z from 'zod';
import demo from './demo-script.json' with { type: 'json' };

const PLACEHOLDER = /\{\{\s*(?<tool>[^\s{}]+)(?:\s+\/(?<pattern>.+?)\/)?\s*\}\}/g;

function placeholdersHold(text: string): boolean {
  try {
    for (const { groups } of text.matchAll(PLACEHOLDER)) new RegExp(groups?.['pattern'] ?? '', 's');
    return true;
  } catch {
    return false;
  }
}

const turnSchema = z.strictObject({
  /** When the turn fits; every given member must match. Default: always. */
  when: z
    .strictObject({
      /** A part of the last user message, in any case. */
      user: z.string().optional(),
      /** Whether tool results follow the last user message. */
      tool_results: z.boolean().optional(),
    })
    .default({}),
  thinking: z.string().optional(),
  /** `{{tool}}` becomes the last result of that tool, `{{tool /expression/}}` the part of it that the expression finds. */
  text: z.string().refine(placeholdersHold, 'has a placeholder whose expression is not valid').optional(),
  tool_calls: z
    .array(
      z.strictObject({ name: z.string().min(1), arguments: z.record(z.string(), z.unknown()).default({}) }),
    )
    .default([]),
  /** Tokens that the turn reports. Default: a quarter of the characters. */
  usage: z.strictObject({ input_tokens: z.int().min(0), output_tokens: z.int().min(0) }).optional(),
});

export const scriptSchema = z.strictObject({
  $comment: z.string().optional(),
  /** Chunks per second; a chunk is about a word. Default: 25. */
  pace: z.number().positive().max(10_000).default(25),
  /** The first turn that fits is the answer. */
  turns: z.array(turnSchema).min(1).max(1_000),
});

export type Script = z.infer<typeof scriptSchema>;
export type Turn = Script['turns'][number];

/** The script of a scripted provider without a file. */
export const DEMO_SCRIPT: Script = scriptSchema.parse(demo);

/** The turn for a prompt that no turn of the script fits. */
const NO_TURN: Turn = turnSchema.parse({
  text: 'This is a scripted model: it only repeats what was written for it, and nothing was written for this.',
});

interface ToolResult {
  readonly tool: string;
  readonly text: string;
}

/** The turn for a prompt, with its placeholders filled in. */
export function turnFor(script: Script, prompt: LanguageModelV4Prompt): Turn {
  const lastUser = prompt.findLastIndex(({ role }) => role === 'user');
  const userText = textOf(prompt[lastUser]).toLowerCase();
  const results = resultsIn(prompt.slice(lastUser + 1));
  const turn = script.turns.find(({ when }) => fits(when, userText, results.length > 0)) ?? NO_TURN;
  return turn.text === undefined ? turn : { ...turn, text: filledIn(turn.text, results) };
}

function fits({ user, tool_results }: Turn['when'], userText: string, hasResults: boolean): boolean {
  if (user !== undefined && !userText.includes(user.toLowerCase())) return false;
  return tool_results === undefined || tool_results === hasResults;
}

function textOf(message: LanguageModelV4Prompt[number] | undefined): string {
  if (message === undefined) return '';
  if (typeof message.content === 'string') return message.content;
  return message.content.map((part) => ('text' in part ? part.text : '')).join('\n');
}

function resultsIn(prompt: LanguageModelV4Prompt): ToolResult[] {
  return prompt.flatMap((message) =>
    message.role !== 'tool'
      ? []
      : message.content.flatMap((part) =>
          part.type === 'tool-result' ? [{ tool: part.toolName, text: resultText(part.output) }] : [],
        ),
  );
}

/** The text of a result, taken out of the envelope of tool results. */
function resultText(output: LanguageModelV4ToolResultOutput): string {
  switch (output.type) {
    case 'text':
    case 'error-text':
      return wordsOf(parsedOr(output.value));
    case 'json':
    case 'error-json':
      return wordsOf(output.value);
    case 'content':
      return output.value
        .map((part) => (part.type === 'text' ? wordsOf(parsedOr(part.text)) : ''))
        .join('\n');
    case 'execution-denied':
      return output.reason ?? '';
  }
}

function parsedOr(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

const ENVELOPES = ['result', 'error', 'content', 'message', 'text'];

/** A string is its text, a list its lines, an object the member with the meaning. */
function wordsOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(wordsOf).join('\n');
  if (typeof value !== 'object' || value === null) return String(value);
  const members = value as Record<string, unknown>;
  const carrier = ENVELOPES.find((name) => members[name] !== undefined);
  return carrier === undefined ? JSON.stringify(value) : wordsOf(members[carrier]);
}

function filledIn(text: string, results: readonly ToolResult[]): string {
  return text.replaceAll(PLACEHOLDER, (_whole, tool: string, pattern: string | undefined) => {
    const result = results.findLast((each) => sameTool(each.tool, tool));
    if (result === undefined) return `(no result of ${tool})`;
    if (pattern === undefined) return result.text.trim();
    const found = new RegExp(pattern, 's').exec(result.text);
    return (found?.[1] ?? found?.[0] ?? result.text).trim();
  });
}

/** Providers do not accept every character in a name, so it may be spelled in another way. */
export function sameTool(left: string, right: string): boolean {
  return plainName(left) === plainName(right);
}

function plainName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9]+/g, '_');
}
