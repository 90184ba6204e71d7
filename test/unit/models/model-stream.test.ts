/** Streams of models that behave as providers' clients do rarely or never.
 *  It must never wait for a limit where it can wait for an event. */
import type { LanguageModelV4, LanguageModelV4StreamPart } from '@ai-sdk/provider';
import { describe, expect, test } from 'vitest';
import type { AnswerPiece } from '../../../src/models/answers/answer-collector.ts';
import { generateAnswer } from '../../../src/models/model-generation.ts';
import type { ModelReply } from '../../../src/models/answers/model-answer.ts';
import type { ModelCall } from '../../../src/models/model-call.ts';
import { streamAnswer, type TakePiece } from '../../../src/models/model-stream.ts';

type Parts = AsyncIterable<LanguageModelV4StreamPart> | Iterable<LanguageModelV4StreamPart>;

const tokens = {
  inputTokens: { total: 3, noCache: 3, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 2, text: 2, reasoning: undefined },
};
const finish: LanguageModelV4StreamPart = {
  type: 'finish',
  usage: tokens,
  finishReason: { unified: 'stop', raw: 'stop' },
};
const text = (delta: string, id = '0'): LanguageModelV4StreamPart => ({ type: 'text-delta', id, delta });

function modelOf(parts: Parts): LanguageModelV4 {
  return {
    specificationVersion: 'v4',
    provider: 'test',
    modelId: 'm',
    supportedUrls: {},
    doGenerate: () => new Promise(() => {}),
    doStream: async () => ({ stream: ReadableStream.from(parts) }),
  };
}

function callOf(model: LanguageModelV4, fields: Partial<ModelCall> = {}): ModelCall {
  return {
    model,
    ref: { provider: 'p', model: 'm', name: 'p:m' },
    options: { prompt: [{ role: 'user', content: [{ type: 'text', text: 'hello' }] }] },
    limits: { timeoutMs: 20_000, idleTimeoutMs: 20_000 },
    signal: new AbortController().signal,
    ...fields,
  };
}

async function read(parts: Parts, fields: Partial<ModelCall> = {}, take?: TakePiece) {
  const pieces: AnswerPiece[] = [];
  const reply = await streamAnswer(callOf(modelOf(parts), fields), async (piece) => {
    pieces.push(piece);
    await take?.(piece);
  });
  return { reply, pieces };
}

function answerOf(reply: ModelReply) {
  if (!reply.ok) throw new Error(JSON.stringify(reply.failure));
  return reply.answer;
}

function errorOf(reply: ModelReply) {
  if (reply.ok) throw new Error('no failure');
  return reply.failure.error;
}

async function* neverEnding(
  ...parts: LanguageModelV4StreamPart[]
): AsyncGenerator<LanguageModelV4StreamPart> {
  yield* parts;
  await new Promise(() => {});
}

describe('a tool call', () => {
  const whole: LanguageModelV4StreamPart = {
    type: 'tool-call',
    toolCallId: 'c',
    toolName: 'n',
    input: '{"a":1}',
  };
  const begun: LanguageModelV4StreamPart = { type: 'tool-input-start', id: 'c', toolName: 'n' };
  const piece = { kind: 'tool_call', index: 0, id: 'c', wireName: 'n' };

  test('that comes whole is reported whole', async () => {
    const { reply, pieces } = await read([whole, finish]);
    expect(pieces).toEqual([{ ...piece, input: '{"a":1}' }]);
    expect(answerOf(reply).calls).toMatchObject([{ id: 'c', input: '{"a":1}' }]);
  });

  test('that is announced and then comes whole is reported once', async () => {
    const { pieces } = await read([begun, whole, finish]);
    expect(pieces).toEqual([
      { ...piece, input: '' },
      { ...piece, input: '{"a":1}' },
    ]);
  });

  test('that comes in pieces is not reported again', async () => {
    const delta: LanguageModelV4StreamPart = { type: 'tool-input-delta', id: 'c', delta: '{"a":1}' };
    const { pieces } = await read([begun, delta, whole, finish]);
    expect(pieces.map((told) => (told.kind === 'tool_call' ? told.input : ''))).toEqual(['', '{"a":1}']);
  });

  test('that the provider executes itself is ignored', async () => {
    const own = { ...whole, providerExecuted: true } as LanguageModelV4StreamPart;
    const { reply, pieces } = await read([{ ...begun, providerExecuted: true }, own, text('done'), finish]);
    expect(pieces).toEqual([{ kind: 'content', text: 'done' }]);
    expect(answerOf(reply).calls).toEqual([]);
  });

  test('that was only begun makes the answer an interrupted one', async () => {
    const { reply } = await read([begun, text('never mind'), finish]);
    expect(reply).toMatchObject({ ok: false, failure: { error: { details: { reason: 'interrupted' } } } });
  });
});

test('blocks that use the same id one after the other are two', async () => {
  const end: LanguageModelV4StreamPart = { type: 'text-end', id: '0' };
  const { reply } = await read([
    text('a'),
    end,
    { type: 'reasoning-delta', id: '0', delta: 'b' },
    text('c'),
    finish,
  ]);
  expect(answerOf(reply).parts.map((part) => 'text' in part && part.text)).toEqual(['a', 'b', 'c']);
});

test('files that the model made are parts of the answer', async () => {
  const bytes: LanguageModelV4StreamPart = {
    type: 'file',
    mediaType: 'image/png',
    data: { type: 'data', data: new Uint8Array([104, 105]) },
  };
  expect(answerOf((await read([bytes, finish])).reply).parts).toEqual([
    { type: 'file', mediaType: 'image/png', source: { data: 'aGk=' } },
  ]);
});

describe('a model that ignores its signal', () => {
  test('is abandoned at its time limit', async () => {
    const limits = { timeoutMs: 20, idleTimeoutMs: 20_000 };
    const { reply, pieces } = await read(neverEnding(text('a')), { limits });
    expect(pieces).toHaveLength(1);
    expect(errorOf(reply)).toMatchObject({ type: 'timeout', details: { limit: 'total', pieces: 1 } });
    expect(errorOf(await generateAnswer(callOf(modelOf([]), { limits })))).toMatchObject({ type: 'timeout' });
  });

  test('is abandoned at its idle limit', async () => {
    const limits = { timeoutMs: 20_000, idleTimeoutMs: 20 };
    const { reply } = await read(neverEnding(text('a')), { limits });
    expect(errorOf(reply)).toMatchObject({ type: 'timeout', details: { limit: 'idle' } });
  });

  test('is abandoned when its caller gives up, and not even called if that was before', async () => {
    const stop = new AbortController();
    const { reply } = await read(neverEnding(text('a')), { signal: stop.signal }, async () => stop.abort());
    expect(errorOf(reply).type).toBe('cancelled');
    expect(errorOf((await read(neverEnding(), { signal: AbortSignal.abort() })).reply).type).toBe(
      'cancelled',
    );
  });
});

test('the time to take pieces does not count against the model', async () => {
  const limits = { timeoutMs: 20_000, idleTimeoutMs: 30 };
  const slow: TakePiece = () => new Promise((taken) => setTimeout(taken, 100));
  const { reply } = await read([text('a'), text('b'), finish], { limits }, slow);
  expect(answerOf(reply).parts).toMatchObject([{ text: 'ab' }]);
});

test('time before the first piece does not count as idle', async () => {
  async function* late(): AsyncGenerator<LanguageModelV4StreamPart> {
    yield { type: 'response-metadata', modelId: 'm-1' };
    await new Promise((later) => setTimeout(later, 100));
    yield* [text('a'), finish];
  }
  const { reply } = await read(late(), { limits: { timeoutMs: 20_000, idleTimeoutMs: 20 } });
  expect(answerOf(reply)).toMatchObject({ modelId: 'm-1', usage: { input_tokens: 3, output_tokens: 2 } });
});

test('a taker that throws ends the call with an error, not with an exception', async () => {
  const { reply } = await read([text('a'), finish], {}, () => Promise.reject(new TypeError('broken taker')));
  expect(errorOf(reply).message).toContain('broken taker');
});
