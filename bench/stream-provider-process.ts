/** A provider of the benchmarks of streams and agents: OpenAI's chat shape over HTTP, each piece with the instant it was written.
 *  It must use nothing of the product. Arguments: port, pieces of an answer, milliseconds between two pieces and before the first;
 *  without the last one no two answers keep step. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { monotonicMs } from './monotonic-clock.ts';

const [port, pieces, paceMs, thinkingMs] = process.argv.slice(2).map(Number);

/** As with real models, each first piece comes at another moment of a second. */
const MOST_THINKING_MS = 1_000;
let answers = 0;

interface Question {
  readonly messages: readonly { readonly role: string }[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
}

/** The calls of each turn of an agent, as places in its list of tools. The turn after the last one is text alone. */
const CALLS: readonly (readonly number[])[] = [[0], [1, 2], [0], [1]];

const server = createServer((request, response) => void answer(request, response));
server.listen(port, '127.0.0.1', () => console.log('ready'));
process.once('SIGTERM', () => {
  server.closeAllConnections();
  server.close();
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const question = (await json(request)) as Question;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  answers += 1;
  setTimeout(write, thinkingMs ?? (answers * 137) % MOST_THINKING_MS, response, callsIn(question), 0);
}

function callsIn({ messages, tools = [] }: Question): readonly object[] {
  const turn = messages.filter(({ role }) => role === 'assistant').length;
  const places = tools.length === 0 ? [] : (CALLS[turn] ?? []);
  return places.map((place, index) => ({
    index,
    id: `call-${turn}-${index}`,
    type: 'function',
    function: { name: tools[place]?.function.name, arguments: JSON.stringify({ turn }) },
  }));
}

/** The pace is kept over the whole answer: a late piece does not make the next one late. */
function write(
  response: ServerResponse,
  calls: readonly object[],
  index: number,
  startedAt = performance.now(),
): void {
  if (response.destroyed) return;
  if (index === pieces) return end(response, calls);
  response.write(frame([{ index: 0, delta: { role: 'assistant', content: `${monotonicMs()} ` } }]));
  const due = startedAt + (index + 1) * (paceMs ?? 0) - performance.now();
  setTimeout(write, Math.max(0, due), response, calls, index + 1, startedAt);
}

function end(response: ServerResponse, calls: readonly object[]): void {
  const tokens = pieces ?? 0;
  const [delta, finish_reason] = calls.length === 0 ? [{}, 'stop'] : [{ tool_calls: calls }, 'tool_calls'];
  response.write(frame([{ index: 0, delta, finish_reason }]));
  response.write(frame([], { prompt_tokens: 1, completion_tokens: tokens, total_tokens: tokens + 1 }));
  response.end('data: [DONE]\n\n');
}

function frame(choices: readonly object[], usage?: object): string {
  const chunk = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'bench', choices };
  return `data: ${JSON.stringify(usage ? { ...chunk, usage } : chunk)}\n\n`;
}
