/** A model call as a curl command to its provider. Never holds a key: the command reads it from the environment. */
import { isObject } from '../../../src/contract/json/json-object.ts';
import type { AssistantPart, ContentPart, Message } from '../../../src/contract/model/message.ts';
import { shell } from './copies.ts';

/** A model call as the directive has it. */
export interface AskedModel {
  /** `provider:model`. */
  readonly model: string;
  readonly system: string | null;
  readonly messages: readonly Message[];
  readonly tools: readonly AskedTool[];
  readonly maxTokens: number | null;
  readonly temperature: number | null;
}

export interface AskedTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly input_schema: unknown;
}

interface Wire {
  readonly url: string;
  /** Headers in double quotes, where the shell replaces variables: they hold no text from outside. */
  readonly headers: readonly string[];
  readonly body: object;
}

export function providerCurl(asked: AskedModel): string {
  const at = asked.model.indexOf(':');
  const [provider, model] = [asked.model.slice(0, Math.max(0, at)), asked.model.slice(at + 1)];
  const { url, headers, body } = wireOf(provider, model, asked);
  const lines = [
    `curl -s ${url}`,
    ...['content-type: application/json', ...headers].map((header) => `  -H "${header}"`),
    `  -d ${shell(JSON.stringify(body))}`,
  ];
  return lines.join(' \\\n');
}

function wireOf(provider: string, model: string, asked: AskedModel): Wire {
  if (provider === 'anthropic')
    return {
      url: 'https://api.anthropic.com/v1/messages',
      headers: ['x-api-key: $ANTHROPIC_API_KEY', 'anthropic-version: 2023-06-01'],
      body: messagesBody(model, asked),
    };
  if (provider === 'google')
    return {
      url: shell(
        `https://generativelanguage.googleapis.com/v1beta/models/${encodeURIComponent(model)}:generateContent`,
      ),
      headers: ['x-goog-api-key: $GEMINI_API_KEY'],
      body: googleBody(asked),
    };
  const isOpenAi = provider === 'openai';
  return {
    // Any other provider is compatible with OpenAI; its address is in the configuration of the workers.
    url: isOpenAi ? 'https://api.openai.com/v1/chat/completions' : '"$BASE_URL/chat/completions"',
    headers: [`authorization: Bearer $${isOpenAi ? 'OPENAI_API_KEY' : 'API_KEY'}`],
    body: chatBody(model, isOpenAi, asked),
  };
}

/** A name that every provider accepts. */
const wireName = (name: string): string => name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 64);

type Part = ContentPart | AssistantPart;

/** Parts that a provider gets: reasoning and the places of calls belong to its own answers. */
function partsOf(content: Message['content']): (Part & { type: 'text' | 'image' | 'file' })[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  const parts: readonly Part[] = content ?? [];
  return parts.filter(
    (part) => part.type === 'text' || part.type === 'image' || part.type === 'file',
  ) as never;
}

const textOf = (content: Message['content']): string =>
  partsOf(content)
    .map((part) => (part.type === 'text' ? part.text : ''))
    .join('');

const given = <T extends object>(name: string, value: unknown, more: T = {} as T) =>
  value === null || value === undefined ? {} : { [name]: value, ...more };

function messagesBody(
  model: string,
  { system, messages, tools, maxTokens, temperature }: AskedModel,
): object {
  const content = (part: Part & { type: 'text' | 'image' | 'file' }): object => {
    if (part.type === 'text') return { type: 'text', text: part.text };
    const source =
      part.url === undefined
        ? { type: 'base64', media_type: part.media_type ?? 'image/png', data: part.data }
        : { type: 'url', url: part.url };
    return { type: part.type === 'image' ? 'image' : 'document', source };
  };
  const toMessage = (message: Message): object => {
    const parts = partsOf(message.content).map(content);
    if (message.role === 'tool') {
      const result = { type: 'tool_result', tool_use_id: message.tool_call_id, content: parts };
      return { role: 'user', content: [{ ...result, ...given('is_error', message.is_error) }] };
    }
    if (message.role !== 'assistant') return { role: 'user', content: parts };
    const calls = (message.tool_calls ?? []).map(({ id, name, arguments: input }) => {
      return { type: 'tool_use', id, name: wireName(name), input };
    });
    return { role: 'assistant', content: [...parts, ...calls] };
  };
  return {
    model,
    max_tokens: maxTokens ?? 1_024,
    ...given('temperature', temperature),
    ...given('system', systemOf(system, messages)),
    messages: messages.filter(({ role }) => role !== 'system').map(toMessage),
    ...(tools.length === 0 ? {} : { tools: tools.map((tool) => ({ ...tool, name: wireName(tool.name) })) }),
  };
}

/** The system prompt, and the messages of the system, for providers that keep them apart. */
function systemOf(system: string | null, messages: readonly Message[]): string | null {
  const all = [
    system ?? '',
    ...messages.filter(({ role }) => role === 'system').map((each) => textOf(each.content)),
  ];
  return all.filter((text) => text !== '').join('\n\n') || null;
}

function chatBody(model: string, isOpenAi: boolean, asked: AskedModel): object {
  const { system, messages, tools, maxTokens, temperature } = asked;
  const content = (message: Message): unknown => {
    const parts = partsOf(message.content);
    if (parts.every(({ type }) => type === 'text')) return textOf(message.content);
    return parts.map((part) => {
      if (part.type === 'text') return { type: 'text', text: part.text };
      const url = part.url ?? `data:${part.media_type ?? 'image/png'};base64,${part.data}`;
      return part.type === 'image'
        ? { type: 'image_url', image_url: { url } }
        : { type: 'file', file: { file_data: url, ...given('filename', part.filename) } };
    });
  };
  const toMessage = (message: Message): object => {
    if (message.role === 'tool')
      return { role: 'tool', tool_call_id: message.tool_call_id, content: textOf(message.content) };
    const calls = message.role === 'assistant' ? (message.tool_calls ?? []) : [];
    const functions = calls.map(({ id, name, arguments: args }) => {
      return { id, type: 'function', function: { name: wireName(name), arguments: JSON.stringify(args) } };
    });
    const asks = functions.length === 0 ? {} : { tool_calls: functions };
    return { role: message.role, content: content(message), ...asks };
  };
  const functions = tools.map(({ name, description, input_schema: parameters }) => {
    return {
      type: 'function',
      function: { name: wireName(name), ...given('description', description), parameters },
    };
  });
  return {
    model,
    ...given(isOpenAi ? 'max_completion_tokens' : 'max_tokens', maxTokens),
    ...given('temperature', temperature),
    messages: [...(system === null ? [] : [{ role: 'system', content: system }]), ...messages.map(toMessage)],
    ...(functions.length === 0 ? {} : { tools: functions }),
  };
}

function googleBody({ system, messages, tools, maxTokens, temperature }: AskedModel): object {
  const names = new Map(
    messages.flatMap((message) =>
      message.role === 'assistant'
        ? (message.tool_calls ?? []).map(({ id, name }) => [id, name] as const)
        : [],
    ),
  );
  const part = (each: Part & { type: 'text' | 'image' | 'file' }): object => {
    if (each.type === 'text') return { text: each.text };
    const mimeType = each.media_type ?? 'image/png';
    return each.url === undefined
      ? { inlineData: { mimeType, data: each.data } }
      : { fileData: { mimeType, fileUri: each.url } };
  };
  const toContent = (message: Message): object => {
    if (message.role === 'tool') {
      const name = wireName(message.name ?? names.get(message.tool_call_id) ?? message.tool_call_id);
      const response = { name, response: { result: textOf(message.content) } };
      return { role: 'user', parts: [{ functionResponse: response }] };
    }
    const calls = message.role === 'assistant' ? (message.tool_calls ?? []) : [];
    const functions = calls.map(({ name, arguments: args }) => ({
      functionCall: { name: wireName(name), args },
    }));
    return {
      role: message.role === 'assistant' ? 'model' : 'user',
      parts: [...partsOf(message.content).map(part), ...functions],
    };
  };
  const functions = tools.map(({ name, description, input_schema: parametersJsonSchema }) => {
    return { name: wireName(name), ...given('description', description), parametersJsonSchema };
  });
  const prompt = systemOf(system, messages);
  return {
    ...(prompt === null ? {} : { systemInstruction: { parts: [{ text: prompt }] } }),
    contents: messages.filter(({ role }) => role !== 'system').map(toContent),
    ...(functions.length === 0 ? {} : { tools: [{ functionDeclarations: functions }] }),
    generationConfig: { ...given('maxOutputTokens', maxTokens), ...given('temperature', temperature) },
  };
}

/** The model call of a directive; null: the directive is encrypted, or calls no model. */
export function askedModel(
  directive: unknown,
  model: string,
  tools: readonly AskedTool[],
): AskedModel | null {
  if (!isObject(directive)) return null;
  const { context, system_prompt: system, max_tokens: maxTokens, temperature, tools: named } = directive;
  const messages = isObject(context) ? context['messages'] : context;
  if (!Array.isArray(messages)) return null;
  const known = new Map(tools.map((tool) => [tool.name, tool]));
  return {
    model,
    system: typeof system === 'string' ? system : null,
    messages: messages as Message[],
    tools: (Array.isArray(named) ? named : []).map((each) => toolOf(each, known)),
    maxTokens: typeof maxTokens === 'number' ? maxTokens : null,
    temperature: typeof temperature === 'number' ? temperature : null,
  };
}

/** A tool by its name in the catalog, or with its own description. */
function toolOf(given: unknown, known: ReadonlyMap<string, AskedTool>): AskedTool {
  const own = isObject(given) ? given : { name: given };
  const name = String(own['name']);
  const listed = known.get(name);
  const description = own['description'] ?? listed?.description;
  return {
    name,
    ...(typeof description === 'string' ? { description } : {}),
    input_schema: own['input_schema'] ?? listed?.input_schema ?? { type: 'object' },
  };
}
