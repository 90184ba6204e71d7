/** The documented answers of the providers, read beside their way: the same turn as their clients read.
 *  It must never fail on what it does not know. */
import { expect, test } from 'vitest';
import type { ModelWire } from '../../../../src/contract/model/model-wire.ts';
import { createAnswerReader } from '../../../../src/features/model-endpoint/answer-reader.ts';
import { readStream, readWhole } from '../../../../src/features/model-endpoint/passed-answer.ts';
import {
  ANTHROPIC,
  GOOGLE,
  OPENAI_CHAT,
  OPENAI_CHAT_TOOLS,
  OPENAI_RESPONSES,
} from '../../../support/recorded-answers.ts';

const limits = { expectNext: () => {}, pause: () => {} };
const place = { from: Infinity, take: () => Promise.resolve(), leave: () => {} };
const bodyOf = (text: string) => new Response(text).body as ReadableStream<Uint8Array<ArrayBuffer>>;

async function read(wire: ModelWire, text: string) {
  const reader = createAnswerReader(wire);
  let taken = '';
  const take = async (events: string): Promise<boolean> => {
    taken += events;
    return true;
  };
  const rest = await readStream(bodyOf(text), reader, {
    take,
    limits,
    place,
    signal: new AbortController().signal,
  });
  expect(taken + rest).toBe(text);
  const { text: said, thinking, usage, finish } = reader.answer;
  return { text: said, thinking, usage, finish, calls: reader.toolCalls(), rest, error: reader.error() };
}

const CALL = { name: 'weather_get', arguments: { city: 'Paris' } };

// The same values as in test/integration/models/recorded-answers.test.ts.
test.each<[ModelWire, string, object]>([
  [
    'openai_chat',
    OPENAI_CHAT,
    {
      text: 'Hello, wörld 🌍',
      finish: 'stop',
      usage: {
        input_tokens: 19,
        output_tokens: 10,
        total_tokens: 29,
        cache_read_input_tokens: 8,
        reasoning_tokens: 4,
      },
    },
  ],
  [
    'openai_chat',
    OPENAI_CHAT_TOOLS,
    {
      finish: 'tool_calls',
      usage: null,
      calls: [
        { id: 'call_a', ...CALL },
        { id: 'call_b', name: 'weather_get', arguments: { city: 'Rome' } },
      ],
    },
  ],
  [
    'openai_responses',
    OPENAI_RESPONSES,
    {
      thinking: 'The user wants the weather.',
      finish: 'tool_calls',
      calls: [{ id: 'call_r', ...CALL }],
      usage: { input_tokens: 37, output_tokens: 30, total_tokens: 67, reasoning_tokens: 12 },
    },
  ],
  [
    'anthropic_messages',
    ANTHROPIC,
    {
      text: 'Let me check the weather.',
      thinking: 'They ask for the weather. I look.',
      finish: 'tool_calls',
      calls: [{ id: 'toolu_01', ...CALL }],
      usage: {
        input_tokens: 592,
        output_tokens: 89,
        total_tokens: 681,
        cache_creation_input_tokens: 20,
        cache_read_input_tokens: 100,
      },
    },
  ],
  [
    'google_stream',
    GOOGLE,
    {
      text: 'Looking it up.',
      thinking: 'Weather it is.',
      finish: 'tool_calls',
      calls: [{ id: 'call_0', ...CALL }],
      usage: { input_tokens: 30, output_tokens: 27, total_tokens: 57, reasoning_tokens: 15 },
    },
  ],
])('%s: text, calls, tokens and the reason of the end', async (wire, text, expected) => {
  expect(await read(wire, text)).toMatchObject({ ...expected, error: null });
});

// A run notes an answer before its caller has the end, which is therefore kept apart.
test.each<[ModelWire, string, RegExp]>([
  ['openai_chat', OPENAI_CHAT, /^data: \[DONE\]\n\n$/],
  ['openai_responses', OPENAI_RESPONSES, /^event: response\.completed\n/],
  ['anthropic_messages', ANTHROPIC, /^event: message_stop\n/],
])('%s: the end is no part of what is passed on before it', async (wire, text, end) => {
  expect((await read(wire, text)).rest).toMatch(end);
});

test('an error within a stream ends it, and an event that is not whole is kept', async () => {
  const error =
    'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n';
  const broken = await read(
    'anthropic_messages',
    `${ANTHROPIC.slice(0, ANTHROPIC.indexOf('event: ping'))}${error}data: {`,
  );
  expect(broken.error).toMatchObject({ type: 'error' });
  expect(broken.rest).toBe(`${error}data: {`);
  expect(broken.finish).toBeNull();
});

test.each([
  'null',
  '[]',
  '"text"',
  '{"choices":[null,{"delta":7,"index":0}],"usage":[]}',
  '{"choices":{}}',
  'no JSON',
  '{"__proto__":{"choices":[]}}',
])('a whole answer of %s is passed on, and says nothing', async (text) => {
  const reader = createAnswerReader('openai_chat');
  let places = 0;
  const place = { from: 4, take: async () => void (places += 1) };
  expect(await readWhole(bodyOf(text), 'openai_chat', reader, place)).toBe(text);
  expect(places, 'a body above 4 bytes takes one place').toBe(text.length > 4 ? 1 : 0);
  expect(reader.answer.text).toBe('');
  expect(reader.toolCalls()).toEqual([]);
});

// Each fragment of a call repeats its id and name in the log.
test('an id or name of a tool call without end is cut', () => {
  const reader = createAnswerReader('openai_chat');
  const call = { index: 0, id: 'i'.repeat(100_000), function: { name: 'n'.repeat(100_000), arguments: '' } };
  const written = [call, { index: 0, function: { arguments: '{}' } }].flatMap((fragment) =>
    reader.take({ choices: [{ index: 0, delta: { tool_calls: [fragment] } }] }),
  );
  expect(written).toHaveLength(2);
  for (const fragment of written)
    expect(fragment).toMatchObject({ id: 'i'.repeat(256), wireName: 'n'.repeat(256) });
});
