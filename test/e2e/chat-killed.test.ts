/** A chat of the AI SDK whose answers are runs (issue 39, A.2): API and worker are killed amid an answer, and the page is loaded again.
 *  Public rule: docs/typescript.md, "Chat". The message equals that of a chat without a kill, and each tool acts once. */
import {
  AbstractChat,
  type ChatState,
  type ChatTransport,
  DefaultChatTransport,
  type DynamicToolUIPart,
  type UIMessage,
} from 'ai';
import { expect, test, vi } from 'vitest';
import { createChatTransport, type SentChat } from '../../client/ai-sdk.ts';
import { createHttpClient } from '../../src/client/http-client.ts';
import { untilHolds } from '../support/eventually.ts';
import { install } from '../support/installation.ts';
import { freePort } from '../support/process.ts';
import { sse, startProvider, STREAM_HEAD } from '../support/provider-server.ts';
import { shared } from '../support/shared.ts';

const FIRST = 'I refund the order. ';
const VOID = 'This text is void, since its worker dies';
const LAST = 'The order is refunded.';

interface Sent {
  readonly messages: readonly { readonly role: string; readonly content: unknown }[];
}

function chunk(delta: object, finish_reason: string | null): object {
  const choices = [{ index: 0, delta, finish_reason }];
  return { id: 'a', object: 'chat.completion.chunk', created: 1, model: 'm', choices };
}

function events(deltas: readonly object[], reason: string): string {
  return sse([...deltas.map((delta) => chunk(delta, null)), chunk({}, reason), '[DONE]']);
}

/** The model refunds what the message names, and says so; the first answer after a refund never ends where the message says `die`. */
async function startModel() {
  const died = new Set<string>();
  return startProvider((response, { body }) => {
    const sent = body as Sent;
    const query = JSON.stringify(sent.messages.findLast(({ role }) => role === 'user')?.content);
    response.writeHead(200, STREAM_HEAD);
    if (sent.messages.at(-1)?.role !== 'tool') {
      const label = /refund (?<label>\w+)/.exec(query)?.groups?.['label'] ?? '';
      const call = { name: 'counting_once', arguments: JSON.stringify({ label }) };
      const tool_calls = [{ index: 0, id: 'call_1', type: 'function', function: call }];
      response.end(events([{ content: FIRST }, { tool_calls }], 'tool_calls'));
    } else if (query.includes('die') && !died.has(query)) {
      died.add(query);
      response.write(sse([chunk({ content: VOID }, null)]));
    } else response.end(events([{ content: LAST.slice(0, 5) }, { content: LAST.slice(5) }], 'stop'));
  });
}

class State implements ChatState<UIMessage> {
  status: ChatState<UIMessage>['status'] = 'ready';
  error: Error | undefined = undefined;
  messages: UIMessage[] = [];
  pushMessage = (message: UIMessage): void => void this.messages.push(message);
  popMessage = (): void => void this.messages.pop();
  replaceMessage = (index: number, message: UIMessage): void => void (this.messages[index] = message);
  snapshot = structuredClone;
}

class Chat extends AbstractChat<UIMessage> {
  constructor(id: string, transport: ChatTransport<UIMessage>, messages: UIMessage[] = []) {
    super({ id, transport, state: new State() });
    this.messages = messages;
  }

  get text(): string {
    return JSON.stringify(this.lastMessage?.parts ?? []);
  }
}

const scene = shared(async () => {
  const [port, provider] = await Promise.all([freePort(), startModel()]);
  const installation = await install({
    config: {
      worker: { lease_ms: 1_500 },
      providers: { mock: { type: 'openai-compatible', base_url: `${provider.url}/v1` } },
      agents: {
        clerk: { model: 'mock:m', tools: ['counting.*'] },
        careful: {
          model: 'mock:m',
          tools: ['counting.*'],
          policies: { approvals: { 'counting.*': 'ask' } },
        },
      },
    },
  });
  const [api, worker] = await Promise.all([
    installation.start('api', port),
    installation.start('worker'),
    installation.start('engine'),
  ]);
  const client = createHttpClient({ baseUrl: api.url });
  await untilHolds(async () => expect((await client.tools()).tools).not.toHaveLength(0));
  const kept = new Map<string, string>();
  const storage = {
    getItem: (chat: string) => kept.get(chat) ?? null,
    setItem: (chat: string, run: string) => void kept.set(chat, run),
  };
  return {
    installation,
    port,
    api,
    worker,
    client,
    transport: (agent: string) => createChatTransport({ client, agent, storage }),
    refunds: (label: string) =>
      installation.executions().filter((execution) => execution.label === label).length,
    async [Symbol.asyncDispose]() {
      await client.close();
      await installation[Symbol.asyncDispose]();
      await provider[Symbol.asyncDispose]();
    },
  };
});

/** The routes of the example, as a page reaches them. */
async function routeTransport(): Promise<ChatTransport<UIMessage>> {
  vi.stubEnv('ADJUTANT_URL', scene.api.url);
  vi.stubEnv('AGENT', 'clerk');
  const { GET, POST } = await import('../../examples/browser/chat-routes.ts');
  const route: typeof fetch = async (url, init) => {
    const request = new Request(new URL(url as string, 'http://page'), init);
    const id = /^\/api\/chat\/(?<id>[^/]+)\/stream$/.exec(new URL(request.url).pathname)?.groups?.['id'];
    return id === undefined ? POST(request) : GET(request, { params: Promise.resolve({ id }) });
  };
  return new DefaultChatTransport({ fetch: route });
}

const partsOf = (chat: Chat, label: string): unknown =>
  JSON.parse(chat.text.replaceAll(label, 'label')) as unknown;

test('an answer amid which API and worker die is the same after a reload, and its tool has acted once', async () => {
  const { installation, api, worker, port, refunds } = scene;
  const calm = new Chat('calm', scene.transport('clerk'));
  await calm.sendMessage({ text: 'refund order0' });
  const parts = partsOf(calm, 'order0');
  expect(JSON.stringify(parts)).toContain(FIRST);
  expect(parts).toMatchObject([
    { type: 'step-start' },
    { type: 'text', text: FIRST, state: 'done' },
    { type: 'dynamic-tool', toolName: 'counting.once', state: 'output-available', input: { label: 'label' } },
    { type: 'step-start' },
    { type: 'text', text: LAST, state: 'done' },
  ]);

  const transports = [scene.transport('clerk'), await routeTransport()];
  const chats = transports.map((transport, nth) => new Chat(`killed-${nth}`, transport));
  const sent = chats.map(async (chat, nth) => chat.sendMessage({ text: `refund order${nth + 1} and die` }));
  await untilHolds(async () =>
    expect(chats.map(({ text }) => text)).toEqual(chats.map(() => expect.stringContaining(VOID))),
  );
  await Promise.all([api.kill9(), worker.kill9()]);
  await installation.start('api', port);
  // A reloaded page has the messages that were sent.
  const pages = chats.map(
    (chat, nth) => new Chat(chat.id, transports[nth] as ChatTransport<UIMessage>, chat.messages.slice(0, 1)),
  );
  const resumed = pages.map(async (page) => page.resumeStream());
  await untilHolds(async () =>
    expect(pages.map(({ text }) => text)).toEqual(chats.map(() => expect.stringContaining(VOID))),
  );
  await installation.start('worker');
  await Promise.all([...sent, ...resumed]);

  for (const [nth, page] of pages.entries()) {
    const label = `order${nth + 1}`;
    // Both the page that was loaded again, and the one that stayed.
    for (const chat of [page, chats[nth] as Chat]) {
      expect(chat.error).toBeUndefined();
      expect(partsOf(chat, label), chat.id).toEqual(parts);
      expect(chat.lastMessage?.id).toBe(`${chat.id}.${chat.messages[0]?.id}`);
    }
    expect(refunds(label)).toBe(1);
  }
});

test('a call waits for its approval in the message, and the decision is told', async () => {
  const chat = new Chat('careful', scene.transport('careful'));
  const sent = chat.sendMessage({ text: 'refund order9' });
  await untilHolds(async () => expect(chat.text).toContain('approval-requested'));
  const part = chat.lastMessage?.parts.find(({ type }) => type === 'dynamic-tool');
  const { toolCallId } = part as DynamicToolUIPart;
  await scene.client.runs.decide(chat.lastMessage?.id ?? '', toolCallId, { decision: 'approve' });
  await sent;
  expect(chat.lastMessage?.parts).toMatchObject([
    {},
    {},
    { state: 'output-available', approval: { id: toolCallId, approved: true } },
    {},
    { text: LAST },
  ]);
  expect(scene.refunds('order9')).toBe(1);
});

test('the same message is the same run; an edited one, or an answer that has ended, is another run', async () => {
  const transport = scene.transport('clerk');
  const ask = async (text: string, trigger: SentChat['trigger'] = 'submit-message') => {
    const messages = [{ id: 'm', role: 'user', parts: [{ type: 'text', text }] }];
    const stream = await transport.sendMessages({ chatId: 'again', messages, trigger });
    let id = '';
    for await (const chunk of stream) if (chunk.type === 'start') id = chunk.messageId;
    return id;
  };
  expect(await ask('refund order7')).toBe('again.m');
  expect(await ask('refund order7')).toBe('again.m');
  expect(scene.refunds('order7')).toBe(1);
  expect(await ask('refund order8')).toBe('again.m.2');
  expect(await ask('refund order8', 'regenerate-message')).toBe('again.m.3');
  expect(scene.refunds('order8')).toBe(2);
  expect(await transport.reconnectToStream({ chatId: 'unknown' })).toBeNull();
});

// A regenerated answer kept the old one in the conversation (issue 44): the model read both.
test('the model does not read an answer that another one replaces, and the chat goes on from the last one', async () => {
  const transport = scene.transport('clerk');
  const user = (id: string, label: string) => ({
    id,
    role: 'user',
    parts: [{ type: 'text', text: `refund ${label}` }],
  });
  const messages: SentChat['messages'][number][] = [];
  const asked = async (trigger: SentChat['trigger']) => {
    const stream = await transport.sendMessages({ chatId: 'replaced', messages, trigger });
    let id = '';
    for await (const chunk of stream) if (chunk.type === 'start') id = chunk.messageId;
    const read = (await scene.client.request(id))?.run?.messages ?? [];
    const labels = JSON.stringify(read.filter(({ role }) => role === 'user')).match(/refund \w+/g);
    return {
      answer: { id, role: 'assistant', parts: [{ type: 'text', text: LAST }] },
      labels,
      size: read.length,
    };
  };
  messages.push(user('m1', 'order20'));
  messages.push((await asked('submit-message')).answer, user('m2', 'order21'));
  // A user's message, the call, its result and the text.
  expect(await asked('submit-message')).toMatchObject({
    labels: ['refund order20', 'refund order21'],
    size: 8,
  });
  const { answer, ...again } = await asked('regenerate-message');
  expect(again).toEqual({ labels: ['refund order20', 'refund order21'], size: 8 });
  expect(answer.id).toBe('replaced.m2.2');
  messages.push(answer, user('m3', 'order22'));
  const labels = ['refund order20', 'refund order21', 'refund order22'];
  expect(await asked('submit-message')).toMatchObject({ labels, size: 12 });
});
