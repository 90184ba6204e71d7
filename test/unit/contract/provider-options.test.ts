/** Which parameters of a caller are accepted for a provider. */
import { describe, expect, test } from 'vitest';
import { parseSubmission } from '../../../src/contract/directive/directive.ts';

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
    { min_tokens: 4, max_completion_steps: 2, verbosity: 'low', truncate_prompt_tokens: 9 },
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
    // Each of these changes the model, the messages, or the number or length of answers, at a server that is in use.
    ['context_window_fallbacks', { context_window_fallbacks: [{ m: ['other'] }] }],
    ['context_window_fallback_dict', { context_window_fallback_dict: { m: 'other' } }],
    ['lora_path', { lora_path: 'other' }],
    ['lora', { lora: [{ id: 0, scale: 1 }] }],
    ['adapter_id', { adapter_id: 'other' }],
    ['preset', { preset: 'other' }],
    ['chat_template', { chat_template: '{{ messages }}' }],
    ['prompt_embeds', { prompt_embeds: '' }],
    ['max_gen_len', { max_gen_len: 1e9 }],
    ['additionalModelRequestFields.maxTokenCount', { additionalModelRequestFields: { maxTokenCount: 1e9 } }],
    ['max_length', { max_length: 1e9 }],
    ['num_return_sequences', { num_return_sequences: 9 }],
    ['num_generations', { num_generations: 9 }],
    ['sampleCount', { sampleCount: 9 }],
    ['disable_global_guardrails', { disable_global_guardrails: true }],
    ['kv_transfer_params', { kv_transfer_params: {} }],
    ['logits_processors', { logits_processors: ['os.system'] }],
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
