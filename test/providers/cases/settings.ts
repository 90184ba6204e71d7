/** Settings with which an operator fits a provider or a model to its server.
 *  A row must never pass because the setting's default has the same effect. */
import assert from 'node:assert/strict';
import { turnIn } from '../../support/model-calls.ts';
import type { CallRow, Row, Seen, ServiceRow } from '../row.ts';
import { json } from '../wires.ts';

type Asks = NonNullable<CallRow['asks']>;
type Settings = NonNullable<CallRow['settings']>;
type Json = Readonly<Record<string, unknown>>;

const DONE = { parts: [{ text: '{"n":1}' }] };
const bodyIn = (seen: readonly Seen[]): Json => seen.at(-1)?.body ?? {};

/** As `models.<model>.params` and `structured_output`. */
function model(
  params: Json,
  structuredOutput: 'json_schema' | 'json_object' | 'prompt' = 'json_schema',
): Settings {
  return { model: () => ({ params, structuredOutput }) };
}

const SCHEMA: Asks = {
  output_schema: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] },
} as Asks;

function structured(support: 'json_object' | 'prompt', rule: string, format: unknown): CallRow {
  return {
    through: 'call',
    kind: `structured_output: ${support}`,
    rule,
    wires: ['openai-chat', 'compatible'],
    asks: SCHEMA,
    settings: model({}, support),
    says: () => DONE,
    expects: (result, seen) => {
      assert.deepEqual(bodyIn(seen)['response_format'], format);
      assert.match(JSON.stringify(bodyIn(seen)['messages']), /required/);
      assert.deepEqual(turnIn(result).output, { n: 1 });
    },
  };
}

const THOUGHT = {
  context: [
    { role: 'user', content: 'x' },
    {
      role: 'assistant',
      content: [{ type: 'thinking', text: 'hm' }],
      tool_calls: [{ id: 'c', name: 't.purge', arguments: {} }],
    },
    { role: 'tool', tool_call_id: 'c', name: 't.purge', content: 'done' },
  ],
} as Asks;

function history(reasoningHistory: 'none' | 'reasoning_content', rule: string, sent: unknown): CallRow {
  return {
    through: 'call',
    kind: `reasoning_history: ${reasoningHistory}`,
    rule,
    wires: ['compatible'],
    asks: THOUGHT,
    settings: { reasoningHistory },
    says: () => DONE,
    expects: (_result, seen) => {
      const messages = bodyIn(seen)['messages'] as Json[];
      assert.equal(messages.find(({ role }) => role === 'assistant')?.['reasoning_content'], sent);
    },
  };
}

function refuser(name: string, rule: string, wires: ServiceRow['wires'], limit: string): ServiceRow {
  return {
    through: 'service',
    kind: `a model that refuses temperature: ${name}`,
    rule,
    model: name,
    ...(wires ? { wires } : {}),
    says: () => DONE,
    expects: (result, seen) => {
      assert.ok(result.ok, JSON.stringify(result));
      const body = bodyIn(seen);
      assert.equal(body['temperature'], undefined);
      const limits = ['max_tokens', 'max_completion_tokens', 'max_output_tokens'];
      assert.deepEqual(
        limits.filter((each) => body[each] !== undefined),
        [limit],
      );
    },
  };
}

export const SETTINGS: readonly Row[] = [
  structured('json_object', 'DeepSeek, older vLLM: response_format knows only json_object', {
    type: 'json_object',
  }),
  structured('prompt', 'servers that answer 400 to response_format', undefined),
  {
    through: 'call',
    kind: 'stream_options: null',
    rule: 'servers that answer 400 to stream_options (older Mistral, Cloudflare)',
    wires: ['openai-chat', 'compatible'],
    modes: ['streamed'],
    settings: model({ stream_options: null }),
    says: () => DONE,
    expects: (_result, seen) => assert.equal('stream_options' in bodyIn(seen), false),
  },
  {
    through: 'call',
    kind: 'think_tags: leading',
    rule: 'servers without a reasoning parser: the text begins with <think>',
    wires: ['compatible'],
    settings: { thinkTags: 'leading' },
    says: () => ({ parts: [{ text: '<think>hm</think>\n\nhello' }] }),
    expects: (result) => {
      const { text, thinking } = turnIn(result);
      assert.deepEqual([text, thinking], ['hello', 'hm']);
    },
  },
  {
    through: 'call',
    kind: 'think_tags: open',
    rule: 'Qwen, DeepSeek: the template ends with <think>, so that the answer begins inside',
    wires: ['compatible'],
    settings: { thinkTags: 'open' },
    says: () => ({ parts: [{ text: 'hm</think>hello' }] }),
    expects: (result) => {
      const { text, thinking } = turnIn(result);
      assert.deepEqual([text, thinking], ['hello', 'hm']);
    },
  },
  history('none', 'servers that refuse both members', undefined),
  history('reasoning_content', 'DeepSeek: requires it with tool calls, also without thinking', 'hm'),
  {
    through: 'call',
    kind: 'params: dropped, renamed and added',
    rule: 'any parameter may be unknown to a server, or have another name there',
    settings: model({ temperature: null, max_tokens: { as: 'most_tokens' }, added: { deep: true } }),
    says: () => DONE,
    expects: (_result, seen, { wire }) => {
      const body = bodyIn(seen);
      assert.deepEqual([body['most_tokens'], body['added']], [1_024, { deep: true }]);
      const own = wire === 'google' ? (body['generationConfig'] as Json) : body;
      assert.equal(own['temperature'], undefined);
    },
  },
  {
    through: 'call',
    kind: 'provider_options reach the provider',
    rule: 'parameters that no contract names: seed, top_k, logit_bias, safetySettings',
    asks: { provider_options: { top_k: 7, nested: { a: [1] } } } as Asks,
    says: () => DONE,
    expects: (_result, seen) => {
      const { top_k, nested } = bodyIn(seen);
      assert.deepEqual([top_k, nested], [7, { a: [1] }]);
    },
  },
  refuser(
    'kimi-k2.5',
    'Moonshot: "invalid temperature: only 1 is allowed for this model"',
    ['compatible'],
    'max_tokens',
  ),
  refuser(
    'openai/gpt-5.1',
    'OpenRouter, LiteLLM: the model behind the name',
    ['compatible'],
    'max_completion_tokens',
  ),
  refuser(
    'o3-mini',
    'OpenAI: "Unsupported parameter: \'max_tokens\'"',
    ['openai-chat'],
    'max_completion_tokens',
  ),
  refuser(
    'claude-opus-4-7',
    'Anthropic: "`temperature` is deprecated for this model"',
    ['anthropic'],
    'max_tokens',
  ),
  {
    through: 'call',
    kind: 'one text that is too large to embed',
    rule: 'nginx: 413 for one text; it cannot be split, and no repeat helps',
    wires: ['openai-chat', 'openai', 'compatible'],
    modes: ['whole'],
    asks: { type: 'llm_embed', texts: ['a', 'b'] } as Asks,
    says: () => json(413, { error: { message: 'Request Entity Too Large' } }),
    expects: ({ execution: { result, unavailable } }, seen) => {
      assert.equal(result.ok, false);
      if (result.ok) return;
      const { type, retryable, details } = result.error;
      assert.deepEqual(
        [type, retryable, details['reason']],
        ['validation_error', false, 'request_too_large'],
      );
      assert.equal(unavailable, true, 'another model may take it');
      assert.equal(seen.length, 2);
    },
  },
];
