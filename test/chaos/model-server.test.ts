/** The model under chaos, called by a provider's own client: its answers follow from its input, and it counts.
 *  It must never need the service. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import type { LanguageModelV4Prompt, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Child, freePort, spawnNode } from '../support/process.ts';
import { executionsOf } from './executions.ts';
import { answerTo, callsOf, digestOf, type ModelScript, type Said, vectorOf } from './model-script.ts';

const PROGRAM = new URL('./model-server.ts', import.meta.url).pathname;
const folder = mkdtempSync(join(tmpdir(), 'chaos-model-'));
let server: Child;
let provider: ReturnType<typeof createOpenAICompatible>;

beforeAll(async () => {
  const port = await freePort();
  server = spawnNode([PROGRAM, String(port)], { env: { CHAOS_FOLDER: folder } });
  await server.waitForLine(/^listens on/);
  provider = createOpenAICompatible({
    name: 'chaos',
    baseURL: `http://127.0.0.1:${port}/v1`,
    includeUsage: true,
  });
});

afterAll(async () => {
  await server.kill9();
  rmSync(folder, { recursive: true });
});

function script(fields: Partial<ModelScript>): ModelScript {
  return {
    label: 'r/1',
    rounds: 0,
    calls: 0,
    words: 4,
    pace_ms: 0,
    tools: ['alpha.read', 'beta.plain'],
    args: {},
    faults: {},
    ...fields,
  };
}

function asked(of: ModelScript): { prompt: LanguageModelV4Prompt; said: Said[] } {
  const text = JSON.stringify(of);
  return {
    prompt: [{ role: 'user', content: [{ type: 'text', text }] }],
    said: [{ role: 'user', text, calls: [], answers: null }],
  };
}

const tools = ['alpha_read', 'beta_plain'].map((name) => ({
  type: 'function' as const,
  name,
  inputSchema: { type: 'object' as const },
}));

async function streamed(prompt: LanguageModelV4Prompt): Promise<LanguageModelV4StreamPart[]> {
  const { stream } = await provider('m1').doStream({ prompt, tools });
  const parts: LanguageModelV4StreamPart[] = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

test('it streams the text and the digest of the conversation, with usage, and has counted it', async () => {
  const { prompt, said } = asked(script({ label: 'r/stream' }));
  const parts = await streamed(prompt);
  const text = parts.map((part) => (part.type === 'text-delta' ? part.delta : '')).join('');
  expect(text).toBe(answerTo(said).text);
  expect(text).toContain(digestOf(said));
  expect(parts.at(-1)).toMatchObject({ type: 'finish', usage: { outputTokens: { total: 5 } } });
  expect(executionsOf(folder, 'r/stream/model')).toMatchObject([
    { tool: 'm1', key: digestOf(said), execution: 1, fault: null },
  ]);
});

test('it calls tools as long as there are rounds, and its answer shows what it has read', async () => {
  const of = script({ label: 'r/tools', rounds: 1, calls: 2 });
  const { prompt, said } = asked(of);
  const parts = await streamed(prompt);
  const calls = callsOf(of, 0);
  const called = parts.filter((part) => part.type === 'tool-call');
  expect(called.map(({ toolCallId, input }) => [toolCallId, JSON.parse(input)])).toEqual(
    calls.map(({ id, arguments: args }) => [id, args]),
  );
  const history = (contents: readonly string[]): LanguageModelV4Prompt => [
    ...prompt,
    { role: 'assistant', content: [{ type: 'text', text: 'x' }, ...called] },
    ...called.map(({ toolCallId, toolName }, index) => ({
      role: 'tool' as const,
      content: [
        {
          type: 'tool-result' as const,
          toolCallId,
          toolName,
          output: { type: 'text' as const, value: contents[index] ?? '' },
        },
      ],
    })),
  ];
  const orderly: Said[] = [
    ...said,
    { role: 'assistant', text: 'x', calls, answers: null },
    ...['one', 'two'].map((text, index) => ({
      role: 'tool',
      text,
      calls: [],
      answers: calls[index]?.id ?? '',
    })),
  ];
  const { content } = await provider('m1').doGenerate({ prompt: history(['one', 'two']), tools });
  expect(content).toEqual([{ type: 'text', text: answerTo(orderly).text }]);
  const other = await provider('m1').doGenerate({ prompt: history(['two', 'one']), tools });
  expect(other.content).not.toEqual(content);
});

test('a tool that is not offered is refused, and counted as such', async () => {
  const { prompt } = asked(script({ label: 'r/unoffered', rounds: 1, calls: 1, tools: ['gamma.read'] }));
  await expect(provider('m1').doGenerate({ prompt, tools })).rejects.toThrow('not offered');
  expect(executionsOf(folder, 'r/unoffered/model')).toMatchObject([{ fault: 'unoffered' }]);
});

test.each([
  ['error', 'chaos'],
  ['limit', 'too many'],
])('the fault "%s" comes as often as requested', async (fault, message) => {
  const { prompt } = asked(script({ label: `r/${fault}`, faults: { [fault]: 100, most: { m1: 1, m2: 0 } } }));
  await expect(provider('m1').doGenerate({ prompt })).rejects.toThrow(message);
  await expect(provider('m2').doGenerate({ prompt })).resolves.toBeDefined();
  await expect(provider('m1').doGenerate({ prompt })).resolves.toBeDefined();
  expect(executionsOf(folder, `r/${fault}/model`).map((line) => [line.tool, line.fault])).toEqual([
    ['m1', fault],
    ['m2', null],
    ['m1', null],
  ]);
});

test('a cut leaves half an answer', async () => {
  const { prompt, said } = asked(script({ label: 'r/cut', words: 40, pace_ms: 1, faults: { cut: 100 } }));
  const words: string[] = [];
  const reading = (async () => {
    const { stream } = await provider('m1').doStream({ prompt });
    for await (const part of stream) if (part.type === 'text-delta') words.push(part.delta);
  })();
  await expect(reading).rejects.toThrow();
  expect(words.length).toBeGreaterThan(3);
  expect(answerTo(said).text.startsWith(words.join(''))).toBe(true);
  expect(answerTo(said).text).not.toBe(words.join(''));
});

test('its vectors depend only on the texts', async () => {
  const model = provider.embeddingModel('m1');
  const values = ['one', 'two'];
  const { embeddings } = await model.doEmbed({ values });
  expect(embeddings).toEqual(values.map((text) => vectorOf(text, 8)));
});
