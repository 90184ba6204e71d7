/** Messages of the AI SDK from signals, read by the AI SDK itself (issue 39, A.2; docs/typescript.md, "Chat").
 *  It must not know how chunks are made: it compares messages. */
import {
  asSchema,
  createUIMessageStreamResponse,
  DefaultChatTransport,
  readUIMessageStream,
  type UIMessage,
  uiMessageChunkSchema,
} from 'ai';
import { expect, test } from 'vitest';
import { createChatTransport, type MessageChunk, uiMessageStream } from '../../../client/ai-sdk.ts';
import type { Signal } from '../../../src/contract/signal/signal.ts';

type Draft = readonly [type: Signal['type'], data: object];

const said = (call_id: string, delta: string, chunk_type = 'content'): Draft => [
  'ai.llm.delta',
  { call_id, chunk_type, delta },
];
const answered = (call_id: string, text: string): Draft => [
  'ai.llm.response',
  { call_id, result: { ok: true, payload: { text, thinking: '', tool_calls: [] }, effects: [] } },
];
const tool = (call_id: string, more: object): object => ({
  call_id,
  tool_name: 'shop.refund',
  metadata: {},
  ...more,
});
const failed = (termination_reason: string): Draft => [
  'ai.request.failed',
  { termination_reason, error: { type: termination_reason, message: `It ended: ${termination_reason}.` } },
];
const completed = (result: unknown): Draft => [
  'ai.request.completed',
  { result, termination_reason: 'final_answer' },
];

/** The message, its chunks, and the errors that the AI SDK reports. */
async function read(drafts: readonly Draft[], stop?: AbortSignal) {
  const signals = async function* () {
    for (const [index, [type, data]] of drafts.entries())
      yield { type, data, sequence: index + 1, attempt: 1 } as unknown as Signal;
  };
  const [stream, other] = uiMessageStream({ signals }, 'run-1', stop).tee();
  const errors: string[] = [];
  const onError = (error: unknown): void => void errors.push((error as Error).message);
  let message: UIMessage | undefined;
  for await (const state of readUIMessageStream({ stream, onError })) message = state;
  const chunks: MessageChunk[] = [];
  for await (const chunk of other) chunks.push(chunk);
  const schema = asSchema(uiMessageChunkSchema);
  for (const chunk of chunks) expect(await schema.validate?.(chunk)).toMatchObject({ success: true });
  return { message, chunks, errors, last: chunks.at(-1) };
}

test('reasoning and text are parts in their order, and a reader who comes late gets what it missed', async () => {
  const drafts = [
    said('m', 'Hm.', 'thinking'),
    said('m', 'It '),
    answered('m', 'It is so.'),
    completed('It is so.'),
  ];
  const { message, last } = await read(drafts);
  expect(message).toMatchObject({
    id: 'run-1',
    role: 'assistant',
    parts: [
      { type: 'step-start' },
      { type: 'reasoning', text: 'Hm.', state: 'done' },
      { type: 'text', text: 'It is so.', state: 'done' },
    ],
  });
  expect(message?.parts).toHaveLength(3);
  expect(last).toEqual({ type: 'finish', finishReason: 'stop' });
});

test('a result that no model wrote is told as text', async () => {
  const { message } = await read([answered('m', 'I ask.'), completed('Done by a tool.')]);
  expect(message?.parts.flatMap((part) => ('text' in part ? [part.text] : []))).toEqual([
    'I ask.',
    'Done by a tool.',
  ]);
});

test('a denied call and a call that was never started have their ends', async () => {
  const error = (type: string): object => ({
    result: { ok: false, error: { type, message: 'No.' }, effects: [] },
  });
  const { message } = await read([
    ['ai.tool.approval_requested', tool('t1', { arguments: { id: 1 } })],
    ['ai.tool.approval_decided', { call_id: 't1', decision: 'deny', reason: 'too much' }],
    ['ai.tool.result', tool('t1', error('denied'))],
    ['ai.tool.approval_decided', { call_id: 't1', decision: 'approve' }],
    ['ai.tool.result', tool('t2', error('unknown_tool'))],
    completed(null),
  ]);
  expect(message?.parts).toMatchObject([
    {
      toolCallId: 't1',
      state: 'output-denied',
      input: { id: 1 },
      approval: { approved: false, reason: 'too much' },
    },
    { toolCallId: 't2', state: 'output-error', errorText: 'No.' },
  ]);
});

test('questions of tools and for budgets are data, which their answers change', async () => {
  const { message } = await read([
    ['ai.tool.started', tool('t', { arguments: {} })],
    ['ai.tool.progress', tool('t', { progress: 1 })],
    ['ai.tool.input_requested', tool('t', { input_id: 'q', message: 'Which one?' })],
    ['ai.tool.input_answered', tool('t', { input_id: 'q', action: 'accept' })],
    ['ai.tool.approval_requested', { ...tool('budget-1', {}), metadata: { budget: 'max_tokens' } }],
    ['ai.tool.approval_decided', { call_id: 'budget-1', decision: 'approve' }],
    completed(null),
  ]);
  expect(message?.parts).toMatchObject([
    { type: 'dynamic-tool', state: 'input-available' },
    { type: 'data-question', id: 'q', data: { message: 'Which one?', action: 'accept' } },
    {
      type: 'data-budget',
      id: 'budget-1',
      data: { metadata: { budget: 'max_tokens' }, decision: 'approve' },
    },
  ]);
});

test.each([
  ['a failure', [failed('stalled')], { type: 'error', errorText: 'It ended: stalled.' }],
  ['a cancellation', [failed('cancelled')], { type: 'abort', reason: 'It ended: cancelled.' }],
  [
    'a resume after a failure',
    [failed('stalled'), ['ai.request.resumed', {}], completed('So.')],
    { type: 'finish', finishReason: 'stop' },
  ],
] as const)('the stream ends with the end of the run: %s', async (_, drafts, end) => {
  const { last, errors } = await read(drafts as readonly Draft[]);
  expect(last).toEqual(end);
  expect(errors).toEqual(end.type === 'error' ? [end.errorText] : []);
});

test('a stream that was stopped has no end', async () => {
  const { last } = await read([said('m', 'It ')], AbortSignal.abort());
  expect(last).toMatchObject({ type: 'text-delta' });
});

/** A transport whose service answers each start as `start` does, and knows each request as ended. */
function transportOf(start: () => Promise<never>, kept: string[] = []) {
  const client = {
    signals: async function* () {},
    request: async () => ({ closed_at: 'now' }),
    runs: { start },
  };
  const storage = { getItem: () => null, setItem: (_chat: string, run: string) => void kept.push(run) };
  return createChatTransport({ client: client as never, agent: 'a', storage });
}

test('a message has a bounded number of answers, whatever the service says', async () => {
  let starts = 0;
  const { sendMessages } = transportOf(async () => {
    starts += 1;
    // Ends the test where nothing else does.
    throw Object.assign(new Error('taken'), starts > 500 ? {} : { problem: { code: 'id_conflict' } });
  });
  const messages = [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hello' }] }];
  const sent = { chatId: 'c', messages };
  await expect(sendMessages({ ...sent, trigger: 'submit-message' })).rejects.toThrow(/has 100 answers/);
  // The same, where each id has an answer that has ended.
  await expect(sendMessages({ ...sent, trigger: 'regenerate-message' })).rejects.toThrow(/has 100 answers/);
  expect(starts).toBe(100);
});

test('a chat names no run that did not start', async () => {
  const kept: string[] = [];
  const refused = async (): Promise<never> => {
    throw Object.assign(new Error('No.'), { problem: { code: 'forbidden' } });
  };
  const { sendMessages } = transportOf(refused, kept);
  const messages = [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hello' }] }];
  await expect(sendMessages({ chatId: 'c', messages, trigger: 'submit-message' })).rejects.toThrow('No.');
  expect(kept).toEqual([]);
});

test('another answer gets the texts of the chat where the run before it is forgotten', async () => {
  const starts: { messages: unknown; conversation_id: string }[] = [];
  const client = {
    signals: async function* () {},
    request: async (id: string) => (id === 'c.n' ? { closed_at: 'now' } : null),
    runs: { start: async (run: (typeof starts)[number]) => void starts.push(run) },
  };
  const storage = { getItem: () => null, setItem: () => {} };
  const { sendMessages } = createChatTransport({ client: client as never, agent: 'a', storage });
  const text = (content: string) => [{ type: 'text', text: content }];
  const messages = [
    { id: 'm', role: 'user', parts: text('Hello') },
    { id: 'c.m', role: 'assistant', parts: text('Hi.') },
    { id: 'n', role: 'user', parts: text('Why?') },
  ];
  await sendMessages({ chatId: 'c', messages, trigger: 'regenerate-message' });
  expect(starts).toMatchObject([
    {
      conversation_id: 'c.n.2',
      messages: [
        { role: 'user', content: [{ text: 'Hello' }] },
        { role: 'assistant', content: 'Hi.' },
        { role: 'user', content: [{ text: 'Why?' }] },
      ],
    },
  ]);
});

// A chat of another person must not be read by the ids that a page sends: `a.b.m` is an answer of the chat `a.b`.
test('another answer has what was asked after the answer before it, no thoughts, and nothing of another chat', async () => {
  const starts: { messages: unknown; conversation_id: string }[] = [];
  const asked: string[] = [];
  const client = {
    signals: async function* () {},
    request: async (id: string) => {
      asked.push(id);
      const messages = [{ role: 'user', content: `run ${id}` }];
      return ['c.q', 'c.m', 'c.b.m', 'c.b.m.2'].includes(id) ? { closed_at: 'now', run: { messages } } : null;
    },
    runs: { start: async (run: (typeof starts)[number]) => void starts.push(run) },
  };
  const storage = { getItem: () => null, setItem: () => {} };
  const { sendMessages } = createChatTransport({ client: client as never, agent: 'a', storage });
  const said = (id: string, role: string, ...texts: string[]) => ({
    id,
    role,
    parts: texts.map((text) => ({ type: 'text', text })),
  });
  const thought = { id: 'c.o', role: 'assistant', parts: [{ type: 'reasoning', text: 'secret' }] };
  const [first, last] = [said('m', 'user', 'Hello'), said('q', 'user', 'Why?')];
  const send = async (...before: readonly (typeof first)[]) =>
    sendMessages({ chatId: 'c', messages: [...before, last], trigger: 'regenerate-message' });
  const foreign = [said('b.m', 'user', 'Mine'), said('c.b.m.2', 'assistant', 'Theirs')];
  await send(first, said('c.m', 'assistant', 'Hi.'), said('n', 'user', 'Stopped'));
  await send(said('s', 'system', 'Be short.'), first, thought, said('x', 'assistant', ''), ...foreign);
  await sendMessages({ chatId: 'c', messages: [...foreign, first], trigger: 'submit-message' });
  const user = (text: string) => ({ role: 'user', content: [{ type: 'text', text }] });
  expect(starts.map(({ messages }) => messages)).toEqual([
    [{ role: 'user', content: 'run c.m' }, user('Stopped'), user('Why?')],
    [
      { role: 'system', content: 'Be short.' },
      user('Hello'),
      user('Mine'),
      { role: 'assistant', content: 'Theirs' },
      user('Why?'),
    ],
    [user('Hello')],
  ]);
  expect(starts.map(({ conversation_id: id }) => id)).toEqual(['c.q.2', 'c.q.2', 'c']);
  expect(asked.filter((id) => id.includes('b'))).toEqual([]);
});

test('values that the AI SDK refuses to parse are shown as their text, and the page reads on behind a route', async () => {
  const hostile = '{"a":{"__proto__":{"b":1}},"c":{"constructor":{"prototype":1}}}';
  const drafts: readonly Draft[] = [
    ['ai.tool.started', tool('t', { arguments: JSON.parse(hostile) as object })],
    ['ai.tool.progress', tool('t', { message: JSON.parse(hostile) as object })],
    ['ai.tool.result', tool('t', { result: { ok: true, payload: JSON.parse(hostile), effects: [] } })],
    ['ai.tool.started', tool('u', { arguments: { constructor: 'Ferrari' } })],
    completed('Done.'),
  ];
  const { chunks } = await read(drafts);
  const stream = ReadableStream.from(chunks);
  const route = new DefaultChatTransport({ fetch: async () => createUIMessageStreamResponse({ stream }) });
  const sent = { chatId: 'c', messageId: undefined, messages: [], abortSignal: undefined };
  const got: object[] = [];
  for await (const chunk of await route.sendMessages({ ...sent, trigger: 'submit-message' })) got.push(chunk);
  expect(got).toEqual(chunks);
  expect(got).toContainEqual(expect.objectContaining({ toolCallId: 't', input: hostile }));
  expect(got).toContainEqual(expect.objectContaining({ toolCallId: 't', output: hostile }));
  expect(got).toContainEqual(expect.objectContaining({ toolCallId: 'u', input: { constructor: 'Ferrari' } }));
});
