/** The documented answers of the providers, replayed: how each part is read, and the turn after it.
 *  It must never reach a real provider. */
import { describe, expect, test } from 'vitest';
import type { SubmittedDirective } from '../../../src/contract/directive/directive.ts';
import { assistantMessage, modelTurnSchema } from '../../../src/contract/model/model-turn.ts';
import { type Api, call, providersAt, told, turnIn } from '../../support/model-calls.ts';
import { type ProviderServer, startProvider, streamed, json } from '../../support/provider-server.ts';
import {
  ANTHROPIC,
  GOOGLE,
  OPENAI_CHAT,
  OPENAI_CHAT_TOOLS,
  OPENAI_RESPONSES,
} from '../../support/recorded-answers.ts';

const TOOL = {
  name: 'weather.get',
  input_schema: { type: 'object', properties: { city: { type: 'string' } } },
};
const CALL = { name: 'weather.get', arguments: { city: 'Paris' } };
type Messages = Extract<SubmittedDirective, { type: 'llm_stream' }>['context'];

/** Calls the server, with a weather tool. */
const ask = (server: ProviderServer, api: Api, context?: Messages) =>
  call(
    { type: 'llm_stream', tools: [TOOL], ...(context === undefined ? {} : { context }) },
    { providers: providersAt(server.url, api) },
  );

/** The next request to the provider, with the turn and its result as history. */
async function sentAfter(api: Api, recorded: string): Promise<string> {
  await using server = await startProvider(streamed(recorded));
  const turn = turnIn(await ask(server, api));
  const [first] = turn.tool_calls;
  const history = [
    { role: 'user' as const, content: 'How is the weather?' },
    assistantMessage(turn),
    { role: 'tool' as const, tool_call_id: first?.id ?? '', content: '{"ok":true,"result":"sunny"}' },
  ];
  await ask(server, api, JSON.parse(JSON.stringify(history)) as Messages);
  return JSON.stringify(server.seen[1]?.body);
}

describe('OpenAI, chat', () => {
  test('text and usage with its details', async () => {
    await using server = await startProvider(streamed(OPENAI_CHAT));
    const result = await ask(server, 'openai-chat');
    expect(modelTurnSchema.parse(turnIn(result))).toMatchObject({
      type: 'final_answer',
      text: 'Hello, wörld 🌍',
      model: 'gpt-4o-mini-2024-07-18',
      finish_reason: 'stop',
      usage: {
        input_tokens: 19,
        output_tokens: 10,
        total_tokens: 29,
        cache_read_input_tokens: 8,
        reasoning_tokens: 4,
      },
    });
    expect(told(result, 'content')).toBe('Hello, wörld 🌍');
    expect(result.execution.usage?.metadata).toEqual({
      cache_read_input_tokens: 8,
      reasoning_tokens: 4,
      // 11 fresh at 1, 8 cached at 0.1, 10 written at 10 dollars per million.
      cost: 0.0001118,
    });
  });

  test('two calls whose arguments come in pieces', async () => {
    await using server = await startProvider(streamed(OPENAI_CHAT_TOOLS));
    const result = await ask(server, 'openai-chat');
    expect(turnIn(result).tool_calls).toEqual([
      { id: 'call_a', ...CALL },
      { id: 'call_b', name: 'weather.get', arguments: { city: 'Rome' } },
    ]);
    expect(turnIn(result).usage).toBeNull();
    expect(result.execution.usage).toBeUndefined();
    const pieces = result.deltas.map(({ delta }) => delta as { index: number; arguments: string });
    expect(pieces.map(({ index }) => index)).toEqual([0, 0, 0, 1, 1, 1]);
    for (const index of [0, 1]) {
      const json = pieces.filter((piece) => piece.index === index).map((piece) => piece.arguments);
      expect(JSON.parse(json.join(''))).toEqual(turnIn(result).tool_calls[index]?.arguments);
    }
  });
});

describe('OpenAI, responses', () => {
  test('reasoning and a call', async () => {
    await using server = await startProvider(streamed(OPENAI_RESPONSES));
    const result = await ask(server, 'openai');
    expect(modelTurnSchema.parse(turnIn(result))).toMatchObject({
      type: 'tool_calls',
      thinking: 'The user wants the weather.',
      tool_calls: [{ id: 'call_r', ...CALL }],
      finish_reason: 'tool_calls',
      model: 'gpt-5-mini-2025-08-07',
      usage: { input_tokens: 37, output_tokens: 30, total_tokens: 67, reasoning_tokens: 12 },
    });
    expect(told(result, 'thinking')).toBe('The user wants the weather.');
  });

  test('the provider stores nothing, and its reasoning goes back encrypted', async () => {
    const sent = await sentAfter('openai', OPENAI_RESPONSES);
    expect(JSON.parse(sent)).toMatchObject({ store: false });
    expect(sent).toContain('gAAAAABencrypted');
    expect(sent).toContain('"call_id":"call_r"');
    expect(sent).not.toContain('item_reference');
  });
});

describe('Anthropic', () => {
  test('thinking, text and a call', async () => {
    await using server = await startProvider(streamed(ANTHROPIC));
    const result = await ask(server, 'anthropic');
    expect(modelTurnSchema.parse(turnIn(result))).toMatchObject({
      type: 'tool_calls',
      thinking: 'They ask for the weather. I look.',
      text: 'Let me check the weather.',
      tool_calls: [{ id: 'toolu_01', ...CALL }],
      finish_reason: 'tool_calls',
      model: 'claude-sonnet-4-20250514',
      usage: {
        input_tokens: 592,
        output_tokens: 89,
        total_tokens: 681,
        cache_creation_input_tokens: 20,
        cache_read_input_tokens: 100,
      },
    });
    expect(told(result, 'thinking')).toBe('They ask for the weather. I look.');
    expect(told(result, 'content')).toBe('Let me check the weather.');
  });

  test('the thinking goes back with its signature, before the call', async () => {
    const sent = await sentAfter('anthropic', ANTHROPIC);
    const { messages } = JSON.parse(sent) as { messages: { content: { type: string }[] }[] };
    expect(messages[1]?.content.map(({ type }) => type)).toEqual(['thinking', 'text', 'tool_use']);
    expect(messages[1]?.content[0]).toMatchObject({ signature: 'EqQBCgIYAhIM1gbcDa9GJwZA2b3h' });
  });
});

describe('Google', () => {
  test('a thought, text and a call', async () => {
    await using server = await startProvider(streamed(GOOGLE));
    const result = await ask(server, 'google');
    expect(modelTurnSchema.parse(turnIn(result))).toMatchObject({
      type: 'tool_calls',
      thinking: 'Weather it is.',
      text: 'Looking it up.',
      tool_calls: [CALL],
      finish_reason: 'tool_calls',
      usage: { input_tokens: 30, output_tokens: 27, total_tokens: 57, reasoning_tokens: 15 },
    });
  });

  test('the signature of a call goes back with it', async () => {
    expect(await sentAfter('google', GOOGLE)).toContain('CpgBVKhc7sig');
  });

  test('vectors of many texts come in batches of a hundred, in order, and the tokens of all are counted', async () => {
    await using server = await startProvider((response, { body }, index) => {
      const { requests } = body as { requests: { content: { parts: { text: string }[] } }[] };
      const embeddings = requests.map(({ content }) => ({ values: [Number(content.parts[0]?.text), index] }));
      return json(200, { embeddings, usageMetadata: { promptTokenCount: requests.length } })(
        response,
        {} as never,
        0,
      );
    });
    const texts = Array.from({ length: 250 }, (_, index) => String(index));
    const result = await call({ type: 'llm_embed', texts }, { providers: providersAt(server.url, 'google') });
    if (!result.execution.result.ok) throw new Error(JSON.stringify(result.execution.result.error));
    const { embeddings, count } = result.execution.result.payload as {
      embeddings: number[][];
      count: number;
    };
    expect(count).toBe(250);
    expect(embeddings.map(([text]) => text)).toEqual(texts.map(Number));
    expect(server.seen).toHaveLength(3);
    expect(result.limiter.reserved).toHaveLength(3);
  });
});
