/** The request that a provider gets: the order of its history, its parameters, its cache marks.
 *  A row must never look at more of a request than the rule behind it names. */
import assert from 'node:assert/strict';
import type { Api } from '../../support/model-calls.ts';
import type { CallRow, Cell, Reply, Row, RunRow, Seen } from '../row.ts';
import { refused } from '../wires.ts';

const DONE: Reply = { parts: [{ text: 'done' }] };
const call = (id: string) => ({ call: id, name: 't_purge', arguments: '{}' });

type Json = Readonly<Record<string, unknown>>;

const lastBody = (seen: readonly Seen[]): Json => seen.at(-1)?.body ?? {};
const listOf = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : []);

const toolMessages = ({ messages }: Json): unknown[][] =>
  listOf(messages)
    .filter(({ role }) => role === 'tool')
    .map((message) => [message['tool_call_id']]);

/** The findings of `read` in the parts of each message; messages without any are left out. */
function partsOf(messages: unknown, member: string, read: (part: Json) => unknown): unknown[][] {
  const all = listOf(messages).map((message) => listOf(message[member]).map(read));
  return all.map((parts) => parts.filter((part) => part !== undefined)).filter(({ length }) => length > 0);
}

/** The ids of the results in a request, by message; Google's have names. */
const RESULTS: Record<Api, (body: Json) => unknown[][]> = {
  'openai-chat': toolMessages,
  compatible: toolMessages,
  openai: ({ input }) =>
    listOf(input)
      .filter(({ type }) => type === 'function_call_output')
      .map((item) => [item['call_id']]),
  anthropic: ({ messages }) =>
    partsOf(messages, 'content', (part) =>
      part['type'] === 'tool_result' ? part['tool_use_id'] : undefined,
    ),
  google: ({ contents }) =>
    partsOf(contents, 'parts', (part) => (part['functionResponse'] as Json | undefined)?.['name']),
};

const GROUPED: Record<Api, unknown[][]> = {
  'openai-chat': [['call_1'], ['call_2']],
  compatible: [['call_1'], ['call_2']],
  openai: [['call_1'], ['call_2']],
  anthropic: [['call_1', 'call_2']],
  google: [['t_purge', 't_purge']],
};

const PARALLEL: RunRow = {
  through: 'run',
  kind: 'results of parallel calls',
  rule: 'Gemini: as many functionResponse parts as functionCall parts, in one content; Anthropic: in one message',
  says: (_cell, index) => (index === 0 ? { parts: [call('call_1'), call('call_2')] } : DONE),
  expects: (_run, seen, { wire }) => assert.deepEqual(RESULTS[wire](lastBody(seen)), GROUPED[wire]),
};

const INTERLEAVED: RunRow = {
  through: 'run',
  kind: 'interleaved thinking keeps its order',
  rule: 'Anthropic: the sequence of thinking blocks must match the original answer',
  wires: ['anthropic'],
  says: (_cell, index) =>
    index === 0
      ? { parts: [{ thinking: 'one' }, call('call_1'), { thinking: 'two' }, call('call_2')] }
      : DONE,
  expects: (_run, seen) => {
    const answer = listOf(lastBody(seen)['messages']).find(({ role }) => role === 'assistant');
    const types = listOf(answer?.['content']).map(({ type }) => type);
    assert.deepEqual(types, ['thinking', 'tool_use', 'thinking', 'tool_use']);
  },
};

const REASONING: RunRow = {
  through: 'run',
  kind: 'reasoning goes back only in the member in which it came',
  rule: 'QwenLM/qwen-code#11045: Groq and Cerebras answer with reasoning and refuse reasoning_content',
  wires: ['compatible'],
  modes: ['whole'],
  says: ({ wire }, index, { text }) => {
    if (text.includes('reasoning_content'))
      return refused(wire, { status: 400, message: "property 'reasoning_content' is unsupported" });
    if (index > 0) return DONE;
    return (response) => {
      const fn = { name: 't_purge', arguments: '{}' };
      const message = {
        role: 'assistant',
        reasoning: 'hm',
        tool_calls: [{ id: 'c', type: 'function', function: fn }],
      };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(
        JSON.stringify({ model: 'm', choices: [{ index: 0, message, finish_reason: 'tool_calls' }] }),
      );
    };
  },
  expects: (run) => assert.equal(run.status, 'completed', JSON.stringify(run.error)),
};

const SYSTEM: CallRow = {
  through: 'call',
  kind: 'one system message, and it is the first',
  rule: 'gptme/gptme#3779, vllm-project/vllm#41114: chat templates raise otherwise',
  wires: ['compatible'],
  asks: {
    system_prompt: 'Be brief.',
    context: [
      { role: 'system', content: 'Be kind.' },
      { role: 'user', content: 'hello' },
      { role: 'system', content: 'Be quick.' },
      { role: 'user', content: 'again' },
    ],
  } as NonNullable<CallRow['asks']>,
  says: () => DONE,
  expects: (_result, seen) => {
    const roles = listOf(lastBody(seen)['messages']).map(({ role }) => role);
    assert.deepEqual(
      roles.map((role) => role === 'system'),
      roles.map((_role, at) => at === 0),
    );
    for (const text of ['Be brief.', 'Be kind.', 'Be quick.'])
      assert.ok(seen.at(-1)?.text.includes(text), text);
  },
};

const DEFAULTS: CallRow = {
  through: 'call',
  kind: 'temperature and max_tokens have defaults',
  rule: 'upstream: 0.2 and 1,024',
  says: () => DONE,
  expects: (_result, seen, { wire }) => {
    const body = lastBody(seen);
    const own = wire === 'google' ? (body['generationConfig'] as Json) : body;
    assert.equal(own['temperature'], 0.2);
    assert.equal(own['max_tokens'] ?? own['max_output_tokens'] ?? own['maxOutputTokens'], 1_024);
  },
};

const REASONING_MODEL: CallRow = {
  through: 'call',
  kind: 'a model that refuses temperature and max_tokens',
  rule: 'OpenAI: reasoning models take max_completion_tokens, and no temperature',
  model: 'gpt-5-mini',
  wires: ['openai-chat', 'openai'],
  says: () => DONE,
  expects: (_result, seen) => {
    const body = lastBody(seen);
    assert.equal(body['max_completion_tokens'] ?? body['max_output_tokens'], 1_024);
    assert.deepEqual([body['max_tokens'], body['temperature']], [undefined, undefined]);
  },
};

const CACHE: readonly RunRow[] = [
  {
    through: 'run',
    kind: 'runs mark what the provider may cache',
    rule: 'Anthropic: cache_control on tools, system and the last message',
    wires: ['anthropic'],
    agent: 'instructed',
    says: (_cell: Cell, index: number) => (index === 0 ? { parts: [call('call_1')] } : DONE),
    expects: (_run, seen) => {
      const { tools, system, messages } = lastBody(seen);
      for (const [name, part] of Object.entries({ tools, system, messages }))
        assert.match(JSON.stringify(part), /"cache_control"/, name);
    },
  },
  {
    through: 'run',
    kind: 'runs carry a cache key',
    rule: 'OpenAI: prompt_cache_key routes requests with one prefix to one cache',
    wires: ['openai', 'openai-chat'],
    says: (_cell: Cell, index: number) => (index === 0 ? { parts: [call('call_1')] } : DONE),
    expects: (_run, seen) => {
      const keys = new Set(seen.map(({ body }) => body['prompt_cache_key']));
      assert.equal(keys.size, 1);
      assert.equal(typeof [...keys][0], 'string');
    },
  },
];

export const HISTORY: readonly Row[] = [
  PARALLEL,
  INTERLEAVED,
  REASONING,
  SYSTEM,
  DEFAULTS,
  REASONING_MODEL,
  ...CACHE,
];
