/** The model under chaos: OpenAI's chat completions and embeddings over HTTP, counted before they are answered.
 *  It must never keep anything in memory that an answer depends on: it gets killed.
 *  CHAOS_FOLDER holds the counter files; the argument is the port. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { countExecution } from './executions.ts';
import {
  answerTo,
  digestOf,
  faultOf,
  type ModelFault,
  type ModelScript,
  placeIn,
  promptTokens,
  readScript,
  type Said,
  type ScriptedTurn,
  vectorOf,
} from './model-script.ts';

const FOLDER = process.env['CHAOS_FOLDER'] ?? '.';
const SLOW_MS = 1_500;
/** Longer than any caller waits. */
const STALL_MS = 300_000;
const DIMENSIONS = 8;
const ARGUMENTS_PIECE = 24;

interface ChatBody {
  readonly model: string;
  readonly stream?: boolean;
  readonly stream_options?: { readonly include_usage?: boolean };
  readonly messages: readonly ChatMessage[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
}

interface ChatMessage {
  readonly role: string;
  readonly content?: string | readonly { readonly text?: string }[] | null;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
}

interface EmbedBody {
  readonly model: string;
  readonly input: string | readonly string[];
  readonly dimensions?: number;
}

function heard({ role, content, tool_calls = [], tool_call_id }: ChatMessage): Said {
  const text =
    typeof content === 'string' ? content : (content ?? []).map((part) => part.text ?? '').join('');
  const calls = tool_calls.map((call) => ({
    id: call.id,
    arguments: JSON.parse(call.function.arguments) as unknown,
  }));
  return { role, text, calls, answers: tool_call_id ?? null };
}

/** The calls under the names that the request offers; null when it does not offer one of them. */
function offered({ calls }: ScriptedTurn, { tools = [] }: ChatBody): WireCall[] | null {
  const letters = (name: string): string => name.replaceAll(/[^A-Za-z]/g, '');
  const named = calls.map(({ id, tool, arguments: args }) => {
    const found = tools.find((each) => letters(each.function.name) === letters(tool));
    return found && { id, name: found.function.name, arguments: JSON.stringify(args) };
  });
  return named.every((call) => call !== undefined) ? named : null;
}

interface WireCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

interface Answering {
  readonly body: ChatBody;
  readonly script: ModelScript;
  readonly text: string;
  readonly calls: readonly WireCall[];
  readonly usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
  readonly fault: ModelFault | null;
  readonly response: ServerResponse;
}

async function chat(body: ChatBody, response: ServerResponse): Promise<void> {
  const said = body.messages.map(heard);
  const { script } = placeIn(said);
  const key = digestOf(said);
  const turn = answerTo(said);
  const calls = offered(turn, body);
  const label = `${script.label}/model`;
  const { model } = body;
  const drawn = (nth: number): string | null =>
    calls === null ? 'unoffered' : faultOf(script, { model, digest: key, nth });
  const prompt = promptTokens(said.map(({ text }) => text));
  const completion = turn.text.split(' ').length + (calls?.length ?? 0);
  const tokens = prompt + completion;
  const { fault } = countExecution(FOLDER, { tool: model, key, label, tokens, faultOf: drawn });
  if (calls === null) return refuse(response, 400, `one of ${script.tools.join(', ')} is not offered`);
  const usage = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: tokens };
  const answering: Answering = {
    body,
    script,
    text: turn.text,
    calls,
    usage,
    fault: fault as ModelFault | null,
    response,
  };
  if (fault === 'error') return refuse(response, 500, 'chaos');
  if (fault === 'limit') return refuse(response, 429, 'too many');
  if (fault === 'slow') await delay(SLOW_MS);
  return body.stream === true ? streamOut(answering) : answerWhole(answering);
}

function refuse(response: ServerResponse, status: number, message: string): void {
  const headers = status === 429 ? { 'retry-after': '1' } : {};
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify({ error: { message, type: 'chaos', code: null, param: null } }));
}

/** The pieces of an answer in the order in which a model writes them. */
function piecesOf({ text, calls }: Answering): object[] {
  const words = text.split(/(?<= )/).map((content) => ({ content }));
  const written = calls.flatMap((call, index) => [
    {
      tool_calls: [{ index, id: call.id, type: 'function', function: { name: call.name, arguments: '' } }],
    },
    ...(call.arguments.match(new RegExp(`.{1,${ARGUMENTS_PIECE}}`, 'gs')) ?? []).map((piece) => ({
      tool_calls: [{ index, function: { arguments: piece } }],
    })),
  ]);
  return [{ role: 'assistant', content: '' }, ...words, ...written];
}

async function streamOut(answering: Answering): Promise<void> {
  const { body, script, calls, usage, fault, response } = answering;
  const shared = { id: 'chaos', object: 'chat.completion.chunk', created: 1, model: body.model };
  const say = (value: object): void =>
    void response.write(`data: ${JSON.stringify({ ...shared, ...value })}\n\n`);
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const pieces = piecesOf(answering);
  const middle = Math.floor(pieces.length / 2);
  for (const [position, delta] of pieces.entries()) {
    if (fault === 'cut' && position === middle) return void response.destroy();
    if (fault === 'stall' && position === middle) await stall(response);
    if (response.destroyed) return;
    say({ choices: [{ index: 0, delta, finish_reason: null }] });
    if (script.pace_ms > 0) await delay(script.pace_ms);
  }
  const finish_reason = calls.length > 0 ? 'tool_calls' : 'stop';
  say({ choices: [{ index: 0, delta: {}, finish_reason }] });
  if (body.stream_options?.include_usage === true) say({ choices: [], usage });
  response.end('data: [DONE]\n\n');
}

async function stall(response: ServerResponse): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  await delay(STALL_MS, undefined, { signal: gone.signal }).catch(() => {});
}

async function answerWhole({ body, script, text, calls, usage, fault, response }: Answering): Promise<void> {
  await delay(script.pace_ms * text.split(' ').length);
  if (fault === 'stall') await stall(response);
  if (fault === 'cut') {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100000' });
    response.write('{"id":"chaos","choices":[');
    return void setTimeout(() => response.destroy(), 20);
  }
  const tool_calls = calls.map(({ id, ...called }) => ({ id, type: 'function', function: called }));
  const message = { role: 'assistant', content: text, ...(calls.length > 0 ? { tool_calls } : {}) };
  const finish_reason = calls.length > 0 ? 'tool_calls' : 'stop';
  const choices = [{ index: 0, message, finish_reason }];
  response.writeHead(200, { 'content-type': 'application/json' });
  const { model } = body;
  response.end(JSON.stringify({ id: 'chaos', object: 'chat.completion', created: 1, model, choices, usage }));
}

/** The first text may be a script; then its label and its faults count. */
async function embed(
  { model, input, dimensions = DIMENSIONS }: EmbedBody,
  response: ServerResponse,
): Promise<void> {
  const texts = typeof input === 'string' ? [input] : input;
  const script = readScript(texts[0] ?? '');
  const key = digestOf(texts.map((text) => ({ role: 'user', text, calls: [], answers: null })));
  const drawn = (nth: number): string | null =>
    script === null ? null : faultOf(script, { model, digest: key, nth });
  const label = `${script?.label ?? 'nobody'}/model`;
  const prompt_tokens = promptTokens(texts);
  const { fault } = countExecution(FOLDER, {
    tool: model,
    key,
    label,
    tokens: prompt_tokens,
    faultOf: drawn,
  });
  if (fault === 'error') return refuse(response, 500, 'chaos');
  if (fault === 'limit') return refuse(response, 429, 'too many');
  if (fault === 'cut') return void response.destroy();
  if (fault === 'stall') await stall(response);
  if (fault === 'slow') await delay(SLOW_MS);
  const data = texts.map((text, index) => ({
    object: 'embedding',
    index,
    embedding: vectorOf(text, dimensions),
  }));
  const usage = { prompt_tokens, total_tokens: prompt_tokens };
  response.writeHead(200, { 'content-type': 'application/json' });
  response.end(JSON.stringify({ object: 'list', model, data, usage }));
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return JSON.parse(Buffer.concat(pieces).toString());
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await bodyOf(request);
  if (request.url === '/v1/chat/completions') return chat(body as ChatBody, response);
  if (request.url === '/v1/embeddings') return embed(body as EmbedBody, response);
  return refuse(response, 404, 'no such thing');
}

const port = Number(process.argv[2]);
const server = createServer((request, response) => {
  answer(request, response).catch((error: unknown) => {
    // The caller may disconnect in the middle of its request.
    if (!response.headersSent) refuse(response, 400, String(error));
    else response.destroy();
  });
});
server.listen(port, '127.0.0.1', () => process.stderr.write(`listens on ${port}\n`));
