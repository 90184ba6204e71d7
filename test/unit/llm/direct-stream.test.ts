/** Pieces of text that pass by a provider's client: the same parts in the same order as with it alone, and no faster than they are read.
 *  It must never compare with anything but what the client itself makes of the same bytes. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type {
  LanguageModelV4,
  LanguageModelV4StreamPart,
  LanguageModelV4StreamResult,
} from '@ai-sdk/provider';
import { expect, onTestFinished, test, vi } from 'vitest';
import { directPieces, withDirectText } from '../../../src/llm/direct-stream.ts';
import { ANTHROPIC_MESSAGES, CHAT_COMPLETIONS } from '../../../src/llm/direct-text.ts';
import { createModelProviders } from '../../../src/llm/providers.ts';

type Part = LanguageModelV4StreamPart;
type Kind = 'openai-compatible' | 'anthropic';

const data = (value: unknown): string => `data: ${JSON.stringify(value)}\n\n`;
const named = (value: { type: string }): string => `event: ${value.type}\n${data(value)}`;
const chunk = (delta: object, more: object = {}): string =>
  data({ id: 'c', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason: null }], ...more });
const texts = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => chunk({ content: `piece ${index} é ` }));

const COMPATIBLE = [
  chunk({ role: 'assistant', content: '' }),
  ...texts(5),
  ': still here\n\n',
  chunk({ content: 'a line\nand\u2028another' }),
  chunk({ role: 'assistant', content: 'x', tool_calls: null }),
  ...texts(2).map((event) => event.replaceAll('\n', '\r\n')),
  chunk({ reasoning_content: 'hm' }),
  chunk({ reasoning_content: ' well', content: null }),
  chunk({ reasoning: ' or' }),
  chunk({ content: 'both', reasoning: 'and' }),
  ...texts(2),
  chunk({ content: [{ type: 'text', text: 'a list' }] }),
  chunk({ content: 'counted' }, { usage: { prompt_tokens: 1, completion_tokens: 2 } }),
  ...texts(2),
  chunk({ tool_calls: [{ index: 0, id: 't', function: { name: 'f', arguments: '' } }] }),
  chunk({ tool_calls: [{ index: 0, function: { arguments: '{"a":1}' } }] }),
  ...texts(2),
  chunk({ content: 5 }),
  chunk({ content: 'wrong', role: 'tool' }),
  data({ error: { message: 'no more' } }),
  ...texts(2),
  data({ id: 'c', model: 'm', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
  'data: [DONE]\n\n',
];

const block = (index: number, delta: object) => named({ type: 'content_block_delta', index, delta } as never);
const starts = (index: number, content_block: object) =>
  named({ type: 'content_block_start', index, content_block } as never);
const stops = (index: number) => named({ type: 'content_block_stop', index } as never);

const ANTHROPIC = [
  named({
    type: 'message_start',
    message: {
      id: 'm',
      model: 'm',
      role: 'assistant',
      content: [],
      usage: { input_tokens: 3, output_tokens: 1 },
    },
  } as never),
  named({ type: 'ping' }),
  starts(0, { type: 'thinking', thinking: '' }),
  ...['I', ' think', ' so'].map((thinking) => block(0, { type: 'thinking_delta', thinking })),
  block(0, { type: 'signature_delta', signature: 's' }),
  stops(0),
  starts(1, { type: 'text', text: '' }),
  ...['Hello', ' é', ' "world"'].map((text) => block(1, { type: 'text_delta', text })),
  block(0, { type: 'text_delta', text: 'of a block that has ended' }),
  ...[' and', ' all'].map((text) => block(1, { type: 'text_delta', text })),
  stops(1),
  starts(2, { type: 'tool_use', id: 't', name: 'f', input: {} }),
  block(2, { type: 'input_json_delta', partial_json: '{"a":' }),
  block(2, { type: 'input_json_delta', partial_json: '1}' }),
  stops(2),
  named({ type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 9 } } as never),
  named({ type: 'message_stop' }),
];

/** Sends each piece when the one before it has left. */
async function sendAll(response: ServerResponse, pieces: readonly string[]): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const piece of pieces) {
    await new Promise((sent) => response.write(piece, sent));
    await new Promise(setImmediate);
  }
  response.end();
}

async function modelOf(type: Kind, pieces: readonly string[]): Promise<LanguageModelV4> {
  const server = createServer((_request, response) => void sendAll(response, pieces));
  onTestFinished(() => void server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const settings = { params: {}, structuredOutput: 'json_schema' };
  const options = { type, baseUrl, key: () => 'k', headers: {}, model: () => settings, callerNames: null };
  const model = await createModelProviders(new Map([['p', options as never]])).language({
    name: 'p:m',
    provider: 'p',
    model: 'm',
  });
  if ('error' in model) throw new Error(model.error.message);
  return model;
}

/** Without a signal the client reads everything. */
async function partsOf(model: LanguageModelV4, abortSignal?: AbortSignal): Promise<Part[]> {
  const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'go' }] }];
  const { stream } = await model.doStream({
    prompt,
    includeRawChunks: true,
    ...(abortSignal ? { abortSignal } : {}),
  });
  const parts: Part[] = [];
  for await (const part of stream) parts.push(part);
  return parts;
}

/** These say nothing of the text, which may come before them. */
const isBeside = ({ type }: Part): boolean => type === 'stream-start' || type === 'response-metadata';
const shown = (parts: readonly Part[]): unknown => {
  const read = parts.filter(({ type }) => type !== 'raw');
  return JSON.parse(JSON.stringify([read.filter(isBeside), read.filter((part) => !isBeside(part))]));
};

const cut = (text: string, length: number): string[] =>
  Array.from({ length: Math.ceil(text.length / length) }, (_, index) =>
    text.slice(index * length, (index + 1) * length),
  );

test.each<[Kind, string, readonly string[]]>([
  ['openai-compatible', 'one by one', COMPATIBLE],
  ['openai-compatible', 'at once', [COMPATIBLE.join('')]],
  ['openai-compatible', 'in pieces of 97 characters', cut(COMPATIBLE.join(''), 97)],
  ['openai-compatible', 'in pieces of 401 characters', cut(COMPATIBLE.join(''), 401)],
  ['anthropic', 'one by one', ANTHROPIC],
  ['anthropic', 'at once', [ANTHROPIC.join('')]],
  ['anthropic', 'in pieces of 97 characters', cut(ANTHROPIC.join(''), 97)],
])('%s: events that come %s are the same parts in the same order', async (type, _how, pieces) => {
  const model = await modelOf(type, pieces);
  const alone = await partsOf(model);
  expect(alone.filter(({ type: kind }) => kind === 'text-delta').length).toBeGreaterThan(4);
  expect(shown(await partsOf(model, new AbortController().signal))).toEqual(shown(alone));
});

test('pieces that come one by one pass `fetch` by, too', async () => {
  const model = await modelOf('openai-compatible', COMPATIBLE);
  const { signal } = new AbortController();
  const parts = partsOf(model, signal);
  const takeAll = vi.spyOn(directPieces(signal) as NonNullable<ReturnType<typeof directPieces>>, 'takeAll');
  await parts;
  expect(takeAll.mock.results.filter(({ value }) => value === true).length).toBeGreaterThan(4);
});

const ANTHROPIC_TEXT = [ANTHROPIC[0] ?? '', starts(0, { type: 'text', text: '' })];
const says = (text: string): string => block(0, { type: 'text_delta', text });
const MESSAGE_STOP = named({ type: 'message_stop' });
const withKey = (key: string): string =>
  chunk({ content: 'refused' }).replace('"id":"c"', `"${key}":{"prototype":1}`);

test.each<[string, Kind, readonly string[]]>([
  ['cut off before its first piece', 'anthropic', ANTHROPIC_TEXT],
  ['cut off within its first text', 'anthropic', [...ANTHROPIC_TEXT, says('a'), says('b'), says('c')]],
  [
    'that goes on after its finish',
    'anthropic',
    [...ANTHROPIC_TEXT, says('a'), says('b'), MESSAGE_STOP, says('c'), says('d')],
  ],
  [
    'that begins anew',
    'anthropic',
    [...ANTHROPIC_TEXT, says('a'), says('b'), ANTHROPIC[0] ?? '', says('c'), says('d')],
  ],
  [
    'that goes on after an error',
    'anthropic',
    [
      ...ANTHROPIC_TEXT,
      says('a'),
      named({ type: 'error', error: { type: 'x', message: 'no' } } as never),
      says('b'),
    ],
  ],
  ['cut off after its first piece', 'openai-compatible', texts(1)],
  ['cut off within its second event', 'openai-compatible', [texts(2).join('').slice(0, -9)]],
  ['of thinking alone', 'openai-compatible', [chunk({ reasoning: 'hm', content: '' }), ...texts(2)]],
  [
    'with an error right behind its first pieces',
    'openai-compatible',
    [[': wait\n\n', ...texts(2), data({ error: { message: 'no more' } }), ...texts(1)].join('')],
  ],
  ...[
    chunk({ content: 'counted' }, { usage: { prompt_tokens: 1, completion_tokens: 2 } }),
    chunk({ content: 'refused', refusal: 'no' }),
    chunk({ content: 'dated' }).replace('"created":1', '"created":1e999'),
    chunk({ content: 'both', reasoning: 'and' }),
    data({ id: '', created: 0, model: '', choices: [], prompt_filter_results: [] }),
    data({ choices: [{ index: 0, delta: { role: 'assistant', content: '', refusal: null } }], model: 'm' }),
    'data: no JSON\n\n',
  ].map((event): [string, Kind, readonly string[]] => [
    `that begins with ${event.slice(0, 90).trim()}`,
    'openai-compatible',
    [event, ...texts(2)],
  ]),
  ...['__proto__', '\\u005f_proto__', 'constructor', 'construct\\u006Fr'].map(
    (key): [string, Kind, readonly string[]] => [
      `with the key ${key}`,
      'openai-compatible',
      [...texts(4), withKey(key), ...texts(2), chunk({ content: '"\u00e9' })],
    ],
  ),
])('an answer %s ends as with the client alone', async (_what, type, pieces) => {
  const model = await modelOf(type, pieces);
  expect(shown(await partsOf(model, new AbortController().signal))).toEqual(shown(await partsOf(model)));
});

test('after an error or a finish of the client nothing passes it by', async () => {
  for (const end of [{ type: 'error', error: 'no' } as Part, { type: 'finish' } as Part]) {
    const { client, reader, take, next } = await opened();
    expect(take(chunk({ content: 'b' }))).toBe(true);
    await next;
    client.enqueue(end);
    expect((await reader.read()).value).toEqual(end);
    void reader.read();
    await turn();
    expect(take(chunk({ content: 'c' }))).toBe(false);
  }
});

test('the first piece is read before the client has made anything of the answer', async () => {
  const first = chunk({ role: 'assistant', content: 'first' });
  const parts = await partsOf(
    await modelOf('openai-compatible', [first, ...texts(2)]),
    new AbortController().signal,
  );
  expect(parts.slice(0, 2)).toEqual([{ type: 'text-start', id: 'txt-0' }, delta('first')]);
});

/** A client that is played by the test, and answers when `begin` is called. */
async function playedLater(protocol = CHAT_COMPLETIONS) {
  let client: ReadableStreamDefaultController<Part> | undefined;
  const stream = new ReadableStream<Part>({ start: (controller) => void (client = controller) });
  const answer = Promise.withResolvers<LanguageModelV4StreamResult>();
  const model = { doStream: async () => answer.promise } as unknown as LanguageModelV4;
  const { signal } = new AbortController();
  const result = withDirectText(model, protocol).doStream({ prompt: [], abortSignal: signal });
  const pieces = directPieces(signal);
  if (!client || !pieces) throw new Error('nothing is direct');
  return {
    client,
    result,
    begin: () => answer.resolve({ stream, response: { headers: { from: 'client' } } }),
    fail: answer.reject,
    take: (event: string) => pieces.take(Buffer.from(event)),
    takeAll: (events: string) => pieces.takeAll(Buffer.from(events)),
    lead: (events: string, isNext = true) => pieces.lead(Buffer.from(events), isNext),
    led: pieces.led,
    room: pieces.room,
  };
}

async function played(protocol = CHAT_COMPLETIONS) {
  const { result, begin, ...rest } = await playedLater(protocol);
  begin();
  return { ...rest, reader: (await result).stream.getReader() };
}

const RAW: Part = { type: 'raw', rawValue: {} };

test('what was shown first is dropped from what the client makes, and the rest follows it', async () => {
  const { client, result, begin, lead, led, take } = await playedLater();
  expect(lead(': wait\n\n')).toBe(true);
  expect(lead(data({ id: '', choices: [], prompt_filter_results: [] }))).toBe(true);
  expect(lead(chunk({ role: 'assistant', content: '' }))).toBe(true);
  expect(led()).toBeUndefined();
  expect(lead(chunk({ content: 'a' }) + chunk({ content: 'b' }))).toBe(false);
  const { stream } = await result;
  const reader = stream.getReader();
  for (const part of [{ type: 'text-start', id: 'txt-0' }, delta('a'), delta('b')])
    expect((await reader.read()).value).toEqual(part);
  await led();
  expect(led()).toBeUndefined();
  begin();
  const next = reader.read();
  for (const text of ['a', 'b']) expect(take(chunk({ content: text }))).toBe(false);
  for (const part of [RAW, ...OPENING, RAW, delta('b'), delta('c')]) client.enqueue(part);
  expect((await next).value).toEqual(OPENING[0]);
  expect((await reader.read()).value).toEqual(delta('c'));
  expect((await result).response?.headers).toEqual({ from: 'client' });
});

test('of a block that the client opens, the first piece is shown where the client holds nothing', async () => {
  const { client, lead, take, reader } = await played(ANTHROPIC_MESSAGES);
  const piece = (text: string) => block(1, { type: 'text_delta', text });
  for (const event of ANTHROPIC.slice(0, 2)) expect(take(event)).toBe(false);
  expect(lead(piece('too early'))).toBe(true);
  for (const part of [RAW, { type: 'response-metadata', id: 'm' } as Part]) client.enqueue(part);
  await reader.read();
  client.enqueue({ type: 'text-start', id: '1' });
  await reader.read();
  const next = reader.read();
  await turn();
  expect(lead(piece('held by the client'))).toBe(true);
  client.enqueue(RAW);
  for (let turns = 0; turns < 2; turns += 1) await turn();
  expect(lead(piece('on the way'), false)).toBe(true);
  expect(lead(piece('a'))).toBe(false);
  expect((await next).value).toEqual({ type: 'text-delta', id: '1', delta: 'a' });
  take(piece('a'));
  client.enqueue({ type: 'text-delta', id: '1', delta: 'a' });
  client.close();
  expect((await reader.read()).done).toBe(true);
});

test('a client that makes something else of what was shown ends the answer', async () => {
  for (const made of [delta('A'), { type: 'text-start', id: '1' } as Part, null]) {
    const { client, lead, reader } = await played();
    lead(chunk({ content: 'a' }));
    for (const part of [{ type: 'text-start', id: 'txt-0' }, delta('a')])
      expect((await reader.read()).value).toEqual(part);
    if (made !== null && made.type === 'text-delta') client.enqueue({ type: 'text-start', id: 'txt-0' });
    if (made === null) client.close();
    else client.enqueue(made);
    await expect(reader.read()).rejects.toThrow('read in two ways');
  }
});

test('an answer of which a piece was shown fails as the client fails', async () => {
  const failing = await playedLater();
  failing.lead(chunk({ content: 'a' }));
  const reader = (await failing.result).stream.getReader();
  await reader.read();
  await reader.read();
  failing.fail(new Error('of the client'));
  await expect(reader.read()).rejects.toThrow('of the client');
  const { client, lead, reader: other } = await played();
  lead(chunk({ content: 'a' }));
  await other.read();
  await other.read();
  client.enqueue({ type: 'error', error: 'no' });
  expect((await other.read()).value).toEqual({ type: 'error', error: 'no' });
});

test('nothing is shown after an event that is no plain beginning', async () => {
  for (const event of [chunk({ tool_calls: [] }), chunk({ content: 5 }), 'data: [DONE]\n\n', 'data: {']) {
    const { lead, led } = await playedLater();
    expect(lead(event)).toBe(false);
    expect(lead(chunk({ content: 'a' }))).toBe(false);
    expect(led()).toBeUndefined();
  }
});

const turn = () => new Promise(setImmediate);
const delta = (text: string): Part => ({ type: 'text-delta', id: 'txt-0', delta: text });
const OPENING: Part[] = [
  { type: 'response-metadata', id: 'c' },
  { type: 'text-start', id: 'txt-0' },
  delta('a'),
];

/** The client has read one event, the reader all of it and waits. */
async function opened() {
  const played_ = await played();
  const { client, reader, take } = played_;
  expect(take(chunk({ content: 'a' }))).toBe(false);
  for (const part of [{ type: 'raw', rawValue: {} } as Part, ...OPENING]) client.enqueue(part);
  for (const part of OPENING) expect((await reader.read()).value).toEqual(part);
  const next = reader.read();
  await turn();
  return { ...played_, next };
}

test('a piece passes the client by once that holds nothing, and the body waits until it is read', async () => {
  const { reader, take, room, next } = await opened();
  expect(take(chunk({ content: 'b' }))).toBe(true);
  expect(take(chunk({ content: 'c' }))).toBe(true);
  let hasRoom = false;
  const free = room()?.then(() => (hasRoom = true));
  await turn();
  expect((await next).value).toEqual(delta('b'));
  expect(hasRoom).toBe(false);
  expect((await reader.read()).value).toEqual(delta('c'));
  void reader.read();
  expect(await free).toBe(true);
  expect(room()).toBeUndefined();
});

test('of a chunk all events are taken or none, and none while pieces before it are not read', async () => {
  const { reader, takeAll, next } = await opened();
  const two = chunk({ content: 'b' }) + chunk({ content: 'c' }).replaceAll('\n', '\r\n');
  expect(takeAll(two + chunk({ content: 'd', refusal: 'no' }))).toBe(false);
  expect(takeAll(two.slice(0, -1))).toBe(false);
  expect(takeAll('\n')).toBe(false);
  expect(takeAll(two)).toBe(true);
  expect((await next).value).toEqual(delta('b'));
  expect(takeAll(chunk({ content: 'too early' }))).toBe(false);
  expect((await reader.read()).value).toEqual(delta('c'));
  void reader.read();
  expect(takeAll(chunk({ content: 'd' }))).toBe(true);
});

test('what the client has not read yet is not overtaken', async () => {
  const { client, reader, take, next } = await opened();
  expect(take(chunk({ content: 'b', refusal: 'no' }))).toBe(false);
  expect(take(chunk({ content: 'c' }))).toBe(false);
  client.enqueue({ type: 'raw', rawValue: {} });
  client.enqueue(delta('b'));
  await turn();
  // One of two events is still with the client.
  expect(take(chunk({ content: 'd' }))).toBe(false);
  expect((await next).value).toEqual(delta('b'));
  client.error(new Error('cut'));
  await expect(reader.read()).rejects.toThrow('cut');
});

test('a piece that was taken is read before the end that comes after it', async () => {
  const { client, reader, take, next } = await opened();
  for (const text of ['b', 'c']) expect(take(chunk({ content: text }))).toBe(true);
  client.close();
  await turn();
  expect((await next).value).toEqual(delta('b'));
  expect((await reader.read()).value).toEqual(delta('c'));
  expect((await reader.read()).done).toBe(true);
});

test('a closed text, another block and an event of more than a piece are the client’s', async () => {
  const open = { type: 'text', id: '1' } as const;
  expect(ANTHROPIC_MESSAGES.text(block(1, { type: 'text_delta', text: 'a' }), open)).toBe('a');
  expect(ANTHROPIC_MESSAGES.text(block(2, { type: 'text_delta', text: 'a' }), open)).toBeNull();
  expect(ANTHROPIC_MESSAGES.text(block(1, { type: 'thinking_delta', thinking: 'a' }), open)).toBeNull();
  expect(CHAT_COMPLETIONS.text(`id: 1\n${chunk({ content: 'a' })}`, open)).toBeNull();
  expect(CHAT_COMPLETIONS.text('data: {"choices":\n\n', open)).toBeNull();
  expect(CHAT_COMPLETIONS.text(chunk({ content: 'caf\u00e9' }).replace('\u00e9', '\\u00e9'), open)).toBe(
    'caf\u00e9',
  );
  for (const key of ['__proto__', '\\u005F_proto__', 'constructor', 'constructo\\u0072'])
    expect(CHAT_COMPLETIONS.text(withKey(key), open)).toBeNull();
  const { client, reader, take, next } = await opened();
  client.enqueue({ type: 'text-end', id: 'txt-0' });
  await next;
  void reader.read();
  await turn();
  expect(take(chunk({ content: 'b' }))).toBe(false);
});
