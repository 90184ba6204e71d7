/** The request that a provider gets: the order of its history, its parameters, its cache marks.
 *  A row must never look at more of a request than the rule behind it names. */
import assert from 'node:assert/strict';
import type { CallRow, Cell, Reply, Row, RunRow, Seen } from '../row.ts';
import { refused } from '../wires.ts';

const DONE: Reply = { parts: [{ text: 'done' }] };
const call = (id: string) => ({ call: id, name: 't_purge', arguments: '{}' });

const lastBody = (seen: readonly Seen[]): Record<string, any> => seen.at(-1)?.body ?? {};

/** The ids of the results in the last request, by message. */
const RESULTS: Record<string, (body: Record<string, any>) => unknown[][]> = {
  'openai-chat': ({ messages }) => messages.filter(isTool).map((one: any) => [one.tool_call_id]),
  compatible: ({ messages }) => messages.filter(isTool).map((one: any) => [one.tool_call_id]),
  openai: ({ input }) =>
    input.filter((one: any) => one.type === 'function_call_output').map((one: any) => [one.call_id]),
  anthropic: ({ messages }) =>
    messages
      .map(({ content }: any) => partsOf(content).filter(({ type }) => type === 'tool_result'))
      .filter((parts: any[]) => parts.length > 0)
      .map((parts: any[]) => parts.map((part) => part.tool_use_id)),
  google: ({ contents }) =>
    contents
      .map(({ parts }: any) => parts.filter((part: any) => part.functionResponse))
      .filter((parts: any[]) => parts.length > 0)
      .map((parts: any[]) => parts.map((part) => part.functionResponse.name)),
};

const isTool = ({ role }: { role: string }): boolean => role === 'tool';
const partsOf = (content: unknown): any[] => (Array.isArray(content) ? content : []);

const GROUPED: Record<string, unknown[][]> = {
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
  expects: (_run, seen, { wire }) => assert.deepEqual(RESULTS[wire]?.(lastBody(seen)), GROUPED[wire]),
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
    const { messages } = lastBody(seen);
    const answer = messages.find(({ role }: any) => role === 'assistant');
    const types = partsOf(answer?.content).map(({ type }) => type);
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
      const message = { role: 'assistant', reasoning: 'hm', tool_calls: [{ id: 'c', type: 'function', function: fn }] };
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ model: 'm', choices: [{ index: 0, message, finish_reason: 'tool_calls' }] }));
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
    const roles: string[] = lastBody(seen)['messages'].map(({ role }: { role: string }) => role);
    assert.deepEqual(
      roles.map((role) => role === 'system'),
      roles.map((_role, at) => at === 0),
    );
    for (const text of ['Be brief.', 'Be kind.', 'Be quick.']) assert.ok(seen.at(-1)?.text.includes(text), text);
  },
};

/** Whether the parameter is sent to a model that takes every parameter. */
const DEFAULTS: CallRow = {
  through: 'call',
  kind: 'temperature and max_tokens have defaults',
  rule: 'upstream: 0.2 and 1,024',
  says: () => DONE,
  expects: (_result, seen, { wire }) => {
    const body = lastBody(seen);
    const own = wire === 'google' ? body['generationConfig'] : body;
    assert.equal(own.temperature, 0.2);
    assert.equal(own.max_tokens ?? own.max_output_tokens ?? own.maxOutputTokens, 1_024);
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

export const HISTORY: readonly Row[] = [PARALLEL, INTERLEAVED, REASONING, SYSTEM, DEFAULTS, ...CACHE];
