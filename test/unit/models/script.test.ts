/** Scripts: which turn fits, how results get into an answer, and that every answer is marked as scripted.
 *  It must never depend on how fast anything is. */
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
} from '@ai-sdk/provider';
import { describe, expect, test } from 'vitest';
import { DEMO_SCRIPT, scriptSchema, turnFor } from '../../../src/models/script.ts';
import { scriptedEmbeddingModel, scriptedLanguageModel } from '../../../src/models/scripted-model.ts';

function user(text: string): LanguageModelV4Prompt[number] {
  return { role: 'user', content: [{ type: 'text', text }] };
}

function result(toolName: string, value: unknown): LanguageModelV4Prompt[number] {
  const output = { type: 'text', value: typeof value === 'string' ? value : JSON.stringify(value) } as const;
  return { role: 'tool', content: [{ type: 'tool-result', toolCallId: 'c', toolName, output }] };
}

const script = scriptSchema.parse({
  pace: 10_000,
  turns: [
    {
      when: { user: 'Weather', tool_results: true },
      text: 'It says {{mcp.weather /"?(\\d+)/}} of {{mcp.weather}}.',
    },
    {
      when: { user: 'weather' },
      thinking: 'Look.',
      tool_calls: [{ name: 'mcp.weather', arguments: { at: 'x' } }],
    },
    { when: { tool_results: false }, text: 'one two  three\n' },
  ],
});
const model = scriptedLanguageModel({ model: 'any', script, pace: null });

async function partsOf(options: LanguageModelV4CallOptions): Promise<LanguageModelV4StreamPart[]> {
  const { stream } = await model.doStream(options);
  const parts: LanguageModelV4StreamPart[] = [];
  for await (const part of stream as AsyncIterable<LanguageModelV4StreamPart>) parts.push(part);
  return parts;
}

describe('the turn', () => {
  test('is the first that fits the last user message and the tool results after it', () => {
    const before = [user('weather?'), result('mcp_weather', 'old')];
    expect(turnFor(script, [user('the WEATHER, please')]).thinking).toBe('Look.');
    expect(turnFor(script, [...before, user('hello')]).text).toBe('one two  three\n');
    expect(turnFor(script, [...before, user('weather again')]).thinking).toBe('Look.');
  });

  test('takes results out of the envelope that models read, whatever form they have', () => {
    const said = (value: unknown): string | undefined =>
      turnFor(script, [user('weather'), result('mcp_weather', value)]).text;
    expect(said('12 degrees')).toBe('It says 12 of 12 degrees.');
    expect(said({ ok: true, result: '12 degrees' })).toBe('It says 12 of 12 degrees.');
    expect(said({ ok: true, result: { content: '12' } })).toBe('It says 12 of 12.');
    expect(said({ ok: true, result: [{ type: 'text', text: '12' }] })).toBe('It says 12 of 12.');
    expect(said({ ok: true, result: { degrees: 12 } })).toBe('It says 12 of {"degrees":12}.');
    expect(said({ ok: false, error: { message: 'no 7' } })).toBe('It says 7 of no 7.');
  });

  test('reports a tool without a result, and a prompt without a turn', () => {
    expect(turnFor(script, [user('weather'), result('other', 'x')]).text).toContain(
      '(no result of mcp.weather)',
    );
    expect(turnFor(script, [user('hello'), result('other', 'x')]).text).toContain('scripted model');
  });
});

describe('a script', () => {
  test.each<[string, unknown]>([
    ['without turns', { turns: [] }],
    ['with a turn of a misspelt member', { turns: [{ txt: 'a' }] }],
    ['with an expression that is none', { turns: [{ text: '{{a /(/}}' }] }],
    ['with no pace', { pace: 0, turns: [{ text: 'a' }] }],
  ])('%s is refused', (_what, raw) => {
    expect(scriptSchema.safeParse(raw).success).toBe(false);
  });
});

describe('a stream', () => {
  test('comes word by word, and is complete', async () => {
    const parts = await partsOf({ prompt: [user('hello')] });
    const deltas = parts.flatMap((part) => (part.type === 'text-delta' ? [part.delta] : []));
    expect(deltas).toEqual(['one ', 'two  ', 'three\n']);
    expect(parts.map(({ type }) => type)).toEqual([
      'stream-start',
      'response-metadata',
      'text-start',
      'text-delta',
      'text-delta',
      'text-delta',
      'text-end',
      'finish',
    ]);
  });

  test('reports at its end that it was scripted, and how it ended', async () => {
    const [stop, calls] = await Promise.all([
      partsOf({ prompt: [user('hello')] }),
      partsOf({ prompt: [user('weather')] }),
    ]);
    expect(stop.at(-1)).toMatchObject({
      type: 'finish',
      finishReason: { unified: 'stop' },
      providerMetadata: { scripted: { scripted: true } },
      usage: { outputTokens: { total: expect.any(Number) as number } },
    });
    expect(calls.at(-1)).toMatchObject({ finishReason: { unified: 'tool-calls' } });
  });

  test('calls tools by the names they are offered under, with ids that tell calls apart', async () => {
    const tools = [
      { type: 'function' as const, name: 'mcp_weather', inputSchema: { type: 'object' as const } },
    ];
    const parts = await partsOf({ prompt: [user('weather')], tools });
    const call = parts.find((part) => part.type === 'tool-call');
    expect(call).toMatchObject({ toolName: 'mcp_weather', input: '{"at":"x"}' });
    const again = await partsOf({ prompt: [user('hi'), user('weather')], tools });
    expect(again.find((part) => part.type === 'tool-call')?.toolCallId).not.toBe(call?.toolCallId);
  });

  test('ends with the abort', async () => {
    const slow = scriptedLanguageModel({ model: 'any', script, pace: 0.001 });
    const abort = new AbortController();
    const { stream } = await slow.doStream({ prompt: [user('hello')], abortSignal: abort.signal });
    const reader = stream.getReader();
    for (let part = 0; part < 3; part += 1) await reader.read();
    const next = reader.read();
    abort.abort();
    await expect(next).rejects.toThrow(/abort/i);
  });
});

describe('an answer at once', () => {
  test('holds the same as a stream, and the usage in the script', async () => {
    const priced = scriptSchema.parse({
      pace: 10_000,
      turns: [{ thinking: 'abcdefgh', text: 'a', usage: { input_tokens: 7, output_tokens: 5 } }],
    });
    const answer = await scriptedLanguageModel({ model: 'm', script: priced, pace: null }).doGenerate({
      prompt: [user('a')],
    });
    expect(answer).toMatchObject({
      content: [
        { type: 'reasoning', text: 'abcdefgh' },
        { type: 'text', text: 'a' },
      ],
      usage: { inputTokens: { total: 7 }, outputTokens: { total: 5, text: 3, reasoning: 2 } },
      providerMetadata: { scripted: { scripted: true } },
    });
  });
});

describe('the script of the demonstration', () => {
  const question = user('What is 17*23, and which files are in the examples folder?');

  test('calls two tools at once, then answers with their results', () => {
    const first = turnFor(DEMO_SCRIPT, [question]);
    expect(first.tool_calls.map(({ name }) => name)).toEqual([
      'everything.get-sum',
      'filesystem.list_directory',
    ]);
    const last = turnFor(DEMO_SCRIPT, [
      question,
      result('everything_get-sum', { ok: true, result: 'The sum of 340 and 51 is 391.' }),
      result('filesystem_list_directory', { ok: true, result: { content: '[FILE] a.ts\n[DIR] b' } }),
    ]);
    expect(last.text).toBe('17*23 is 391. The examples folder holds:\n[FILE] a.ts\n[DIR] b');
    expect(last.tool_calls).toEqual([]);
  });

  test('names itself as a script', () => {
    expect(turnFor(DEMO_SCRIPT, [user('hello')]).text).toContain('I am a scripted model');
  });
});

describe('scripted vectors', () => {
  test('are the same for the same text, nearer for common words, and of the requested length', async () => {
    const { embeddings, usage, providerMetadata } = await scriptedEmbeddingModel('m').doEmbed({
      values: ['the red fox', 'the red fox', 'a red fox', 'quantum tax law', ''],
      dimensions: 256,
    });
    const [one = [], same, near = [], far = [], empty = []] = embeddings;
    const dot = (a: number[], b: number[]): number =>
      a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0);
    expect(one).toEqual(same);
    expect(one).toHaveLength(256);
    expect(dot(one, near)).toBeGreaterThan(dot(one, far));
    expect(dot(one, one)).toBeCloseTo(1);
    expect(dot(empty, empty)).toBeCloseTo(1);
    expect(usage?.tokens).toBeGreaterThan(0);
    expect(providerMetadata).toEqual({ scripted: { scripted: true } });
  });
});
