/** Which parameters of a caller are accepted for a provider. */
import { describe, expect, test } from 'vitest';
import { parseSubmission } from '../../../src/contract/directive.ts';

function faultOf(provider_options: unknown): string | null {
  const parsed = parseSubmission({
    type: 'llm_generate',
    model: 'p:m',
    context: [{ role: 'user', content: 'hi' }],
    provider_options,
  });
  return parsed.ok ? null : (parsed.errors[0]?.path ?? '');
}

describe('provider_options', () => {
  test.each([
    { seed: 7, top_p: 0.9, stop: ['END'] },
    { chat_template_kwargs: { enable_thinking: false }, service_tier: 'flex', prompt_cache_key: 'k' },
    { generationConfig: { topP: 0.5, thinkingConfig: { thinkingBudget: 128 } } },
    { thinking: { type: 'enabled', budget_tokens: 1024 }, logit_bias: { '50256': -100 } },
  ])('take the parameters of an API: %j', (options) => {
    expect(faultOf(options)).toBeNull();
  });

  // Proxies take another address or key from the body: LiteLLM's `api_base`, OpenRouter's `models`.
  test.each([
    ['model', { model: 'other' }],
    ['models', { models: ['other'] }],
    ['Max-Tokens', { 'Max-Tokens': 1e9 }],
    ['n', { n: 128 }],
    ['messages', { messages: [] }],
    ['systemInstruction', { systemInstruction: {} }],
    ['tools', { tools: [] }],
    ['stream', { stream: false }],
    ['api_base', { api_base: 'http://127.0.0.1' }],
    ['api_key', { api_key: 'k' }],
    ['aws_secret_access_key', { aws_secret_access_key: 'k' }],
    ['extra_headers', { extra_headers: {} }],
    ['generationConfig.maxOutputTokens', { generationConfig: { maxOutputTokens: 1e9 } }],
    ['list[0].base_url', { list: [{ base_url: 'http://127.0.0.1' }] }],
    ['mcp_servers', { mcp_servers: [] }],
    ['search_parameters', { search_parameters: { mode: 'on' } }],
  ])('refuse %s', (path, options) => {
    expect(faultOf(options)).toBe(`provider_options.${path}`);
  });

  test('are bounded in length and depth', () => {
    expect(faultOf({ text: 'x'.repeat(16_384) })).toBe('provider_options');
    const deep = (levels: number): unknown => (levels === 0 ? 1 : { a: deep(levels - 1) });
    expect(faultOf(deep(8))).toBeNull();
    expect(faultOf(deep(9))).toBe('provider_options');
  });

  test('change no prototype', () => {
    expect(faultOf(JSON.parse('{"__proto__":{"a":1}}'))).not.toBeNull();
    expect(faultOf(JSON.parse('{"constructor":{"prototype":{"a":1}}}'))).not.toBeNull();
  });
});
