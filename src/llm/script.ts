// A script: turns that a scripted model answers with, and which of them fits a prompt.
// Must never be mistaken for a model: it repeats what was written, and knows nothing.
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
  /** When the turn fits; each member that is there has to hold. Default: always. */
  when: z
    .strictObject({
      /** Is part of what the user said last, whatever the case. */
      user: z.string().optional(),
      /** Tool results have come since the user spoke, or have not. */
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
  /** Tokens the turn pretends to take. Default: a quarter of the characters. */
  usage: z.strictObject({ input_tokens: z.int().min(0), output_tokens: z.int().min(0) }).optional(),
});

export const scriptSchema = z.strictObject({
  $comment: z.string().optional(),
  /** Pieces a second; a piece is about a word. Default: 25. */
  pace: z.number().positive().max(10_000).default(25),
  /** The first turn that fits is the answer. */
  turns: z.array(turnSchema).min(1).max(1_000),
});

export type Script = z.infer<typeof scriptSchema>;
export type Turn = Script['turns'][number];

/** What a scripted provider answers when it names no file. */
export const DEMO_SCRIPT: Script = scriptSchema.parse(demo);

/** The turn that answers when none of the script fits. */
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
  const said = textOf(prompt[lastUser]).toLowerCase();
  const results = resultsIn(prompt.slice(lastUser + 1));
  const turn = script.turns.find(({ when }) => fits(when, said, results.length > 0)) ?? NO_TURN;
  return turn.text === undefined ? turn : { ...turn, text: filledIn(turn.text, results) };
}

function fits({ user, tool_results }: Turn['when'], said: string, hasResults: boolean): boolean {
  if (user !== undefined && !said.includes(user.toLowerCase())) return false;
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

/** The words of a result, out of the envelope that tool results come in. */
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

/** Text is itself, a list its lines, and of an object the member that carries the meaning. */
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

/** Providers do not take every character in a name, so it may have been written in another way. */
export function sameTool(left: string, right: string): boolean {
  return plainName(left) === plainName(right);
}

function plainName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9]+/g, '_');
}
