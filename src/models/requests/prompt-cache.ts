// Asks a provider to keep the beginning that the calls of one run share: tools, instructions, history.
// Must never send a request's id or a tenant's name: a provider gets a hash of them.
import { createHash } from 'node:crypto';
import type { LanguageModelV4Prompt, SharedV4ProviderOptions } from '@ai-sdk/provider';
import type { CallOptions } from '../model-call.ts';

/** `5m` and `1h`: Anthropic's breakpoints, kept so long after the last read. `key`: OpenAI's `prompt_cache_key`. */
export type PromptCache = 'off' | 'key' | '5m' | '1h';

/** `identity`: tenant and request, whose calls share the key. */
export function withCache(
  options: CallOptions,
  cache: PromptCache,
  identity: readonly string[],
): CallOptions {
  if (cache === 'off') return options;
  return cache === 'key' ? withKey(options, identity) : withBreakpoints(options, cache);
}

/** The key has 43 characters; OpenAI allows 64. */
function withKey(options: CallOptions, identity: readonly string[]): CallOptions {
  const promptCacheKey = createHash('sha256').update(JSON.stringify(identity)).digest('base64url');
  const openai = { ...options.providerOptions?.['openai'], promptCacheKey };
  return { ...options, providerOptions: { ...options.providerOptions, openai } };
}

/**
 * Four breakpoints, the most that Anthropic accepts: the last tool, the instructions, the last message, and the message
 * that the last answer replied to. The provider searches only 20 blocks before a breakpoint for an earlier one, and one
 * answer with many calls has more.
 */
function withBreakpoints(options: CallOptions, ttl: '5m' | '1h'): CallOptions {
  const { prompt, tools } = options;
  const places = breakpoints(prompt);
  const last = tools?.findLast((tool) => tool.type === 'function');
  const marked = prompt.map((message, index) => (places.has(index) ? withMark(message, ttl) : message));
  return {
    ...options,
    prompt: marked,
    ...(tools === undefined
      ? {}
      : { tools: tools.map((tool) => (tool === last ? withMark(last, ttl) : tool)) }),
  };
}

function breakpoints(prompt: LanguageModelV4Prompt): ReadonlySet<number> {
  const answered = prompt.findLastIndex(({ role }) => role === 'assistant');
  const before = prompt.slice(0, Math.max(0, answered));
  return new Set([
    prompt.findLastIndex(({ role }) => role === 'system'),
    before.findLastIndex(isRead),
    prompt.findLastIndex(isRead),
  ]);
}

/** Anthropic refuses a breakpoint at an empty text. */
function isRead({ role, content }: LanguageModelV4Prompt[number]): boolean {
  if (role !== 'user') return role === 'tool';
  const last = content.at(-1);
  return last !== undefined && (last.type !== 'text' || last.text !== '');
}

function withMark<M extends { providerOptions?: SharedV4ProviderOptions }>(marked: M, ttl: '5m' | '1h'): M {
  const cacheControl = ttl === '5m' ? { type: 'ephemeral' } : { type: 'ephemeral', ttl };
  const anthropic = { ...marked.providerOptions?.['anthropic'], cacheControl };
  return { ...marked, providerOptions: { ...marked.providerOptions, anthropic } };
}
