// Converts messages of the contract into the prompt of a provider's client.
// Must never drop content, nor send what a provider would refuse without saying why.
import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider';
import type {
  AssistantMessage,
  AssistantPart,
  ContentPart,
  Message,
  ProviderData,
  ToolCall,
  ToolMessage,
} from '../../contract/model/message.ts';
import { reasoningMembers, type ReasoningRule } from './reasoning-history.ts';
import type { ToolNames } from './tool-names.ts';

/** The order and form of messages that a provider accepts. */
export interface PromptRules {
  /**
   * false: instructions only in one message at the beginning, and no two user messages in a row; later instructions are
   * marked user messages.
   */
  readonly systemAnywhere: boolean;
  /** A message of the assistant has to come between the results of tools and a user message. */
  readonly assistantAfterTools: boolean;
  /** null: the provider's client sends reasoning back with its data. */
  readonly reasoning: ReasoningRule | null;
  /** The names that it accepts for the arguments of tools; null: any. */
  readonly argumentNames: RegExp | null;
}

export const OPEN_RULES: PromptRules = {
  systemAnywhere: true,
  assistantAfterTools: false,
  reasoning: null,
  argumentNames: null,
};

export interface PromptOptions {
  /** Comes before all messages. */
  systemPrompt?: string | undefined;
  names: Names;
  rules: PromptRules;
}

type Names = Pick<ToolNames, 'encode'>;

/** `path`: path of the message, below `context`. */
export type PromptResult =
  | { readonly ok: true; readonly prompt: LanguageModelV4Prompt }
  | { readonly ok: false; readonly path: string; readonly message: string };

type Converted<R extends LanguageModelV4Message['role']> = Extract<LanguageModelV4Message, { role: R }>;
type Part<R extends LanguageModelV4Message['role']> = Exclude<Converted<R>['content'], string>[number];

/** The calls made so far, by id: their names, and their order. */
type Called = Map<string, { readonly name: string; readonly order: number }>;

export function promptOf(messages: readonly Message[], options: PromptOptions): PromptResult {
  const { systemPrompt, names, rules } = options;
  const called: Called = new Map();
  const prompt: LanguageModelV4Prompt = [];
  let calls = 0;
  if (systemPrompt) prompt.push({ role: 'system', content: systemPrompt });
  for (const [index, message] of messages.entries()) {
    if (message.role === 'tool' && !called.has(message.tool_call_id))
      return {
        ok: false,
        path: `[${index}].tool_call_id`,
        message: 'answers no tool call of an earlier message',
      };
    if (message.role === 'assistant')
      for (const { id, name } of message.tool_calls ?? []) called.set(id, { name, order: calls++ });
    const hasBegun = prompt.some(({ role }) => role !== 'system');
    const converted =
      message.role === 'system'
        ? instruction(message.content, hasBegun && !rules.systemAnywhere)
        : convert(message, names, called, rules);
    const before = prompt.at(-1);
    if (!converted || joined(before, converted, hasBegun, rules)) continue;
    if (rules.assistantAfterTools && before?.role === 'tool' && converted.role === 'user')
      prompt.push(RESULTS_READ);
    prompt.push(converted);
  }
  for (const message of prompt) if (message.role === 'tool') sortByCall(message, called);
  return { ok: true, prompt };
}

/**
 * Adds the message to the one before it, where they belong together: leading instructions, the results of one message's
 * calls (Google refuses them apart), user messages where a chat template requires roles to alternate.
 */
function joined(
  before: LanguageModelV4Message | undefined,
  message: LanguageModelV4Message,
  hasBegun: boolean,
  { systemAnywhere }: PromptRules,
): boolean {
  if (before?.role === 'system' && message.role === 'system' && !hasBegun) {
    before.content += `${PARAGRAPH}${message.content}`;
    return true;
  }
  if (before?.role === 'tool' && message.role === 'tool') {
    for (const part of message.content) before.content.push(part);
    return true;
  }
  if (before?.role !== 'user' || message.role !== 'user' || systemAnywhere) return false;
  const [first, ...others] = message.content;
  const last = before.content.at(-1);
  if (isPlainText(last) && isPlainText(first)) last.text += `${PARAGRAPH}${first.text}`;
  else if (first !== undefined) before.content.push(first);
  for (const part of others) before.content.push(part);
  return true;
}

const RESULTS_READ: LanguageModelV4Message = {
  role: 'assistant',
  content: [{ type: 'text', text: 'I have read the results.' }],
};

const PARAGRAPH = '\n\n';

function isPlainText(part: Part<'user'> | undefined): part is Extract<Part<'user'>, { type: 'text' }> {
  return part?.type === 'text' && part.providerOptions === undefined;
}

/** Results come in the order in which the tools end; some providers match them with the calls by position. */
function sortByCall({ content }: Converted<'tool'>, called: Called): void {
  const orderOf = (part: Part<'tool'>): number =>
    part.type === 'tool-result' ? (called.get(part.toolCallId)?.order ?? 0) : 0;
  content.sort((left, right) => orderOf(left) - orderOf(right));
}

/** Every tool that the messages name. */
export function toolNamesIn(messages: readonly Message[]): string[] {
  return messages.flatMap((message) => {
    if (message.role === 'assistant') return (message.tool_calls ?? []).map(({ name }) => name);
    return message.role === 'tool' && message.name !== undefined ? [message.name] : [];
  });
}

/** null: it is empty. */
function instruction(content: string, isLate: boolean): LanguageModelV4Message | null {
  if (content === '') return null;
  return isLate
    ? { role: 'user', content: [{ type: 'text', text: `<system>\n${content}\n</system>` }] }
    : { role: 'system', content };
}

/** null: the message is empty, and providers refuse empty messages. */
function convert(
  message: Exclude<Message, { role: 'system' }>,
  names: Names,
  called: Called,
  { reasoning }: PromptRules,
): LanguageModelV4Message | null {
  switch (message.role) {
    case 'user':
      return { role: 'user', content: partsOf(message.content).map(userPart) };
    case 'assistant':
      return assistant(message, names, reasoning);
    case 'tool':
      return { role: 'tool', content: [resultPart(message, names, called)] };
  }
}

function assistant(
  { content, tool_calls = [] }: AssistantMessage,
  names: Names,
  rule: ReasoningRule | null,
): LanguageModelV4Message | null {
  const given: readonly AssistantPart[] = partsOf(content ?? '');
  const parts = ordered(given, tool_calls, names, rule === null);
  if (rule === null) return parts.length > 0 ? { role: 'assistant', content: parts } : null;
  const members = reasoningMembers(given, tool_calls.length > 0, rule);
  const hasMembers = Object.keys(members).length > 0;
  if (parts.length === 0 && !hasMembers) return null;
  // The client of these servers writes this data into the message.
  const own = hasMembers ? { providerOptions: { openaiCompatible: members } } : {};
  return { role: 'assistant', content: parts, ...own };
}

/** Each call at its place; those without one at the end. */
function ordered(
  parts: readonly AssistantPart[],
  calls: readonly ToolCall[],
  names: Names,
  withThinking: boolean,
): Part<'assistant'>[] {
  const byId = new Map(calls.map((call) => [call.id, call]));
  const left = new Set(calls);
  const placed = parts.flatMap((part) => {
    if (part.type === 'thinking' && !withThinking) return [];
    if (part.type !== 'tool_call') return assistantPart(part);
    const call = byId.get(part.id);
    return call !== undefined && left.delete(call) ? [callPart(call, names)] : [];
  });
  return [...placed, ...[...left].map((call) => callPart(call, names))];
}

function partsOf<P>(content: string | readonly P[]): readonly (P | { type: 'text'; text: string })[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content;
}

function userPart(part: ContentPart): Part<'user'> {
  return part.type === 'text'
    ? { type: 'text', text: part.text, ...opaque(part.provider_data) }
    : filePart(part);
}

/** Providers refuse empty text, but it may carry data that they want back. */
function assistantPart(part: Exclude<AssistantPart, { type: 'tool_call' }>): Part<'assistant'>[] {
  switch (part.type) {
    case 'text':
      if (part.text === '' && part.provider_data === undefined) return [];
      return [{ type: 'text', text: part.text, ...opaque(part.provider_data) }];
    case 'thinking':
      return [{ type: 'reasoning', text: part.text, ...opaque(part.provider_data) }];
    case 'image':
    case 'file':
      return [filePart(part)];
  }
}

function callPart(call: ToolCall, names: Names): Part<'assistant'> {
  return {
    type: 'tool-call',
    toolCallId: call.id,
    toolName: names.encode(call.name),
    input: call.arguments,
    ...opaque(call.provider_data),
  };
}

function resultPart(message: ToolMessage, names: Names, called: Called): Part<'tool'> {
  const { tool_call_id, content, is_error } = message;
  const toolName = names.encode(message.name ?? called.get(tool_call_id)?.name ?? tool_call_id);
  const head = { type: 'tool-result', toolCallId: tool_call_id, toolName } as const;
  if (typeof content === 'string')
    return { ...head, output: { type: is_error === true ? 'error-text' : 'text', value: content } };
  const value = content.map((part) =>
    part.type === 'text' ? ({ type: 'text', text: part.text } as const) : filePart(part),
  );
  return { ...head, output: { type: 'content', value } };
}

function filePart(part: Exclude<ContentPart, { type: 'text' }>): LanguageModelV4FilePart {
  const { url, data = '' } = part;
  return {
    type: 'file',
    mediaType: part.media_type ?? 'image',
    data:
      url === undefined ? { type: 'data', data: standardBase64(data) } : { type: 'url', url: new URL(url) },
    ...('filename' in part && part.filename !== undefined ? { filename: part.filename } : {}),
  };
}

function standardBase64(text: string): string {
  return text.replaceAll('-', '+').replaceAll('_', '/');
}

function opaque(data: ProviderData | undefined): { providerOptions?: SharedV4ProviderOptions } {
  return data === undefined ? {} : { providerOptions: data as SharedV4ProviderOptions };
}
