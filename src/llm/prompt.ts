// Converts messages of the contract into the prompt of a provider's client.
// Must never drop content, nor send what a provider would refuse without saying why.
import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider';
import type {
  AssistantPart,
  ContentPart,
  Message,
  ProviderData,
  ToolCall,
  ToolMessage,
} from '../contract/message.ts';
import type { ToolNames } from './tool-names.ts';

export interface PromptOptions {
  /** Comes before all messages. */
  systemPrompt?: string | undefined;
  names: Pick<ToolNames, 'encode'>;
  /** Some providers accept instructions only at the beginning; later ones are sent as marked user messages. */
  systemAnywhere: boolean;
}

/** `path`: path of the message, below `context`. */
export type PromptResult =
  | { readonly ok: true; readonly prompt: LanguageModelV4Prompt }
  | { readonly ok: false; readonly path: string; readonly message: string };

type Part<R extends LanguageModelV4Message['role']> = Exclude<
  Extract<LanguageModelV4Message, { role: R }>['content'],
  string
>[number];

export function promptOf(messages: readonly Message[], options: PromptOptions): PromptResult {
  const { systemPrompt, names, systemAnywhere } = options;
  const prompt: LanguageModelV4Prompt = systemPrompt ? [{ role: 'system', content: systemPrompt }] : [];
  /** Names of the calls that were made so far, by id. */
  const called = new Map<string, string>();
  let hasBegun = false;
  for (const [index, message] of messages.entries()) {
    if (message.role === 'tool' && !called.has(message.tool_call_id))
      return {
        ok: false,
        path: `[${index}].tool_call_id`,
        message: 'answers no tool call of an earlier message',
      };
    if (message.role === 'assistant')
      for (const call of message.tool_calls ?? []) called.set(call.id, call.name);
    const converted =
      message.role === 'system' && hasBegun && !systemAnywhere
        ? lateInstruction(message.content)
        : convert(message, names, called);
    hasBegun ||= message.role !== 'system';
    if (converted) prompt.push(converted);
  }
  return { ok: true, prompt };
}

/** Every tool that the messages name. */
export function toolNamesIn(messages: readonly Message[]): string[] {
  return messages.flatMap((message) => {
    if (message.role === 'assistant') return (message.tool_calls ?? []).map(({ name }) => name);
    return message.role === 'tool' && message.name !== undefined ? [message.name] : [];
  });
}

function lateInstruction(content: string): LanguageModelV4Message {
  return { role: 'user', content: [{ type: 'text', text: `<system>\n${content}\n</system>` }] };
}

/** null: the message is empty, and providers refuse empty messages. */
function convert(
  message: Message,
  names: Pick<ToolNames, 'encode'>,
  called: ReadonlyMap<string, string>,
): LanguageModelV4Message | null {
  switch (message.role) {
    case 'system':
      return { role: 'system', content: message.content };
    case 'user':
      return { role: 'user', content: partsOf(message.content).map(userPart) };
    case 'assistant': {
      const parts = partsOf(message.content ?? '').flatMap(assistantPart);
      const calls = (message.tool_calls ?? []).map((call) => callPart(call, names));
      return parts.length + calls.length > 0 ? { role: 'assistant', content: [...parts, ...calls] } : null;
    }
    case 'tool':
      return { role: 'tool', content: [resultPart(message, names, called)] };
  }
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
function assistantPart(part: AssistantPart): Part<'assistant'>[] {
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

function callPart(call: ToolCall, names: Pick<ToolNames, 'encode'>): Part<'assistant'> {
  return {
    type: 'tool-call',
    toolCallId: call.id,
    toolName: names.encode(call.name),
    input: call.arguments,
    ...opaque(call.provider_data),
  };
}

function resultPart(
  message: ToolMessage,
  names: Pick<ToolNames, 'encode'>,
  called: ReadonlyMap<string, string>,
): Part<'tool'> {
  const { tool_call_id, content, is_error } = message;
  const toolName = names.encode(message.name ?? called.get(tool_call_id) ?? tool_call_id);
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
