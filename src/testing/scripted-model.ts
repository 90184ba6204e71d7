/** A model provider on 127.0.0.1 that answers what the test says, in that order, over the real HTTP of a provider.
 *  A call without a scripted answer is refused, and the error says so. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toolNames } from '../models/requests/tool-names.ts';

/** Call of a model, as its provider received it. */
export interface ModelCall {
  /** Name of the model. */
  readonly model: string;
  /** Messages in the form of OpenAI's API. */
  readonly messages: readonly { readonly role: string; readonly content?: unknown }[];
  /** Names of the tools in the request. */
  readonly tools: readonly string[];
}

/** Tool call in a scripted answer. */
export interface ToolWish {
  /** Name of the tool as in a directive: `weather.forecast`. */
  readonly tool: string;
  /** Arguments of the call. Default: {}. */
  readonly arguments?: Readonly<Record<string, unknown>>;
}

/** Model provider on 127.0.0.1 that answers as the test scripts it. */
export interface ScriptedModel {
  /** Base URL, in the form of an OpenAI-compatible provider. */
  readonly url: string;
  /** All calls so far, the oldest first. */
  readonly calls: readonly ModelCall[];
  /** Answers the next unanswered call with this text. */
  says(text: string): ScriptedModel;
  /** Answers the next unanswered call with these tool calls. */
  wants(...calls: readonly ToolWish[]): ScriptedModel;
  /** Fails the next unanswered call with this HTTP status; 429 with `retry-after` in seconds. */
  fails(status: number, retryAfterSeconds?: number): ScriptedModel;
  /** Cuts the connection of the next unanswered call, after the first chunk of a stream. */
  breaks(): ScriptedModel;
  /** Answers each call that has no other answer. */
  otherwise(text: string): ScriptedModel;
  /** Stops the provider. */
  close(): Promise<void>;
}

/** Answer of the scripted model. */
export type Reply =
  | { readonly kind: 'turn'; readonly turn: RecordedTurn }
  | { readonly kind: 'refused'; readonly message: string }
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'tools'; readonly calls: readonly ToolWish[] }
  | { readonly kind: 'status'; readonly status: number; readonly retryAfterSeconds: number }
  | { readonly kind: 'cut' };

/** Recorded answer of a model. */
interface RecordedTurn {
  readonly text: string;
  readonly calls: readonly (ToolWish & { readonly id: string })[];
  readonly finish_reason: string;
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number } | null;
}

/** Request of a provider's client, in the form of OpenAI's API. */
export interface Asked {
  readonly model?: string;
  readonly stream?: boolean;
  readonly input?: string | readonly string[];
  readonly messages?: readonly (ModelCall['messages'][number] & {
    readonly tool_calls?: readonly {
      readonly function: { readonly name: string; readonly arguments: string };
    }[];
  })[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
}

const NOTHING_SAID =
  'the scripted model has no answer left: say one with model.says(…), model.wants(…) or model.otherwise(…)';

/**
 * `known`: tools that the test has; the name that a provider gets of one depends on the others.
 * `replay`: answers each call in place of the script. Default: none.
 */
export async function startScriptedModel(
  known: readonly string[] = [],
  replay?: (asked: Asked) => Reply,
): Promise<ScriptedModel> {
  const replies: Reply[] = [];
  const calls: ModelCall[] = [];
  let usual: Reply | null = null;
  const server = createServer((request, response) => {
    bodyOf(request)
      .then((asked) => serve(request.url ?? '', asked, response))
      .catch(() => response.destroy());
  });

  function serve(path: string, asked: Asked, response: ServerResponse): void {
    if (path.endsWith('/embeddings')) return sendJson(response, 200, embeddings(asked));
    calls.push(callOf(asked));
    const reply = replay?.(asked) ?? replies.shift() ?? usual;
    if (reply === null) return sendJson(response, 400, { error: { message: NOTHING_SAID } });
    send(response, encoded(reply, asked, known), asked, calls.length);
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const model: ScriptedModel = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    calls,
    says: (text) => next({ kind: 'text', text }),
    wants: (...wishes) => next({ kind: 'tools', calls: wishes }),
    fails: (status, retryAfterSeconds = 0) => next({ kind: 'status', status, retryAfterSeconds }),
    breaks: () => next({ kind: 'cut' }),
    otherwise(text) {
      usual = { kind: 'text', text };
      return model;
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  function next(reply: Reply): ScriptedModel {
    replies.push(reply);
    return model;
  }
  return model;
}

async function bodyOf(request: IncomingMessage): Promise<Asked> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString() || '{}') as Asked;
}

function callOf({ model = '', messages = [], tools = [] }: Asked): ModelCall {
  return { model, messages, tools: tools.map((tool) => tool.function.name) };
}

function send(
  response: ServerResponse,
  reply: Reply,
  { model = '', stream = false }: Asked,
  nth: number,
): void {
  if (reply.kind === 'status') {
    response.setHeader('retry-after', String(reply.retryAfterSeconds));
    return sendJson(response, reply.status, { error: { message: `the test says ${reply.status}` } });
  }
  if (reply.kind === 'refused') return sendJson(response, 400, { error: { message: reply.message } });
  const head = { id: `answer-${nth}`, model, created: 0 };
  if (reply.kind === 'cut') return cut(response, stream ? chunk(head, { content: 'cut' }) : '{');
  const { finish_reason, usage, ...message } = answerOf(reply, nth);
  if (!stream) {
    const choice = { index: 0, finish_reason, message: { role: 'assistant', ...message } };
    return sendJson(response, 200, { ...head, object: 'chat.completion', choices: [choice], usage });
  }
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const delta of deltasOf(message)) response.write(chunk(head, delta));
  response.write(chunk(head, {}, { finish_reason, usage }));
  response.end('data: [DONE]\n\n');
}

interface Answer {
  readonly content: string | null;
  readonly tool_calls?: readonly object[];
  readonly finish_reason: string;
  readonly usage: object;
}

function answerOf(reply: Exclude<Reply, { kind: 'status' | 'refused' | 'cut' }>, nth: number): Answer {
  const usage = usageOf({ input_tokens: 10, output_tokens: 5 });
  switch (reply.kind) {
    case 'text':
      return { content: reply.text, finish_reason: 'stop', usage };
    case 'tools':
      return { content: null, tool_calls: wished(reply.calls, nth), finish_reason: 'tool_calls', usage };
    case 'turn': {
      const { text, calls, finish_reason, usage: recorded } = reply.turn;
      const wishes = calls.length === 0 ? {} : { tool_calls: wished(calls, nth) };
      return {
        content: text,
        ...wishes,
        finish_reason,
        usage: recorded === null ? usage : usageOf(recorded),
      };
    }
  }
}

function usageOf({ input_tokens: input, output_tokens: output }: NonNullable<RecordedTurn['usage']>): object {
  return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
}

/** Word by word, as a provider does; tool calls at the end. */
function deltasOf({ content, tool_calls }: Pick<Answer, 'content' | 'tool_calls'>): object[] {
  const words = (content ?? '').match(/\S*\s*/gu) ?? [];
  const texts = words.filter((piece) => piece !== '').map((piece) => ({ content: piece }));
  return tool_calls === undefined ? texts : [...texts, { role: 'assistant', content: null, tool_calls }];
}

function chunk(
  head: object,
  delta: object,
  { finish_reason = null as string | null, usage = null as object | null } = {},
): string {
  const choices = [{ index: 0, delta, finish_reason }];
  return `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices, ...(usage && { usage }) })}\n\n`;
}

function cut(response: ServerResponse, begun: string): void {
  response.writeHead(200, { 'content-type': begun === '{' ? 'application/json' : 'text/event-stream' });
  response.write(begun, () => response.destroy());
}

/** Providers do not allow a dot in the name of a tool, and no long names: each call of the script gets the name that the request has. */
function encoded(reply: Reply, { tools = [] }: Asked, known: readonly string[]): Reply {
  if (reply.kind !== 'tools' && reply.kind !== 'turn') return reply;
  const offered = new Set(tools.map((tool) => tool.function.name));
  const nameOf = (tool: string): string => {
    const alone = toolNames([tool]).encode(tool);
    const amongKnown = toolNames([...known, tool]).encode(tool);
    return offered.has(amongKnown) ? amongKnown : alone;
  };
  const named = <W extends ToolWish>(wish: W): W => ({ ...wish, tool: nameOf(wish.tool) });
  return reply.kind === 'tools'
    ? { ...reply, calls: reply.calls.map(named) }
    : { ...reply, turn: { ...reply.turn, calls: reply.turn.calls.map(named) } };
}

function wished(calls: readonly (ToolWish & { readonly id?: string })[], nth: number): object[] {
  return calls.map(({ id = null, tool, arguments: args = {} }, index) => ({
    index,
    id: id ?? `call-${nth}-${index}`,
    type: 'function',
    function: { name: tool, arguments: JSON.stringify(args) },
  }));
}

/** Vectors of three numbers, the same for the same text. */
function embeddings({ model = '', input = [] }: Asked): object {
  const texts = typeof input === 'string' ? [input] : input;
  const data = texts.map((text, index) => ({ object: 'embedding', index, embedding: numbersOf(text) }));
  return { object: 'list', model, data, usage: { prompt_tokens: texts.length, total_tokens: texts.length } };
}

function numbersOf(text: string): number[] {
  const sum = Buffer.from(text).reduce((total, byte) => (total * 31 + byte) % 9_973, 7);
  return [text.length, sum / 9_973, 1];
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
