/** A provider of the stream benchmark: OpenAI's chat shape over HTTP, each piece with the instant it was written.
 *  It must use nothing of the product. Arguments: port, pieces of an answer, milliseconds between two pieces. */
import { createServer, type ServerResponse } from 'node:http';
import { monotonicMs } from './monotonic-clock.ts';

const [port, pieces, paceMs] = process.argv.slice(2).map(Number);

/** No two answers keep step, as those of real models do not: each first piece comes at another moment of a second. */
const MOST_THINKING_MS = 1_000;
let answers = 0;

const server = createServer((request, response) => {
  request.resume();
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  answers += 1;
  setTimeout(write, (answers * 137) % MOST_THINKING_MS, response, 0);
});
server.listen(port, '127.0.0.1', () => console.log('ready'));
process.once('SIGTERM', () => {
  server.closeAllConnections();
  server.close();
});

/** The pace is kept over the whole answer: a late piece does not make the next one late. */
function write(response: ServerResponse, index: number, startedAt = performance.now()): void {
  if (response.destroyed) return;
  if (index === pieces) return end(response);
  response.write(frame([{ index: 0, delta: { role: 'assistant', content: `${monotonicMs()} ` } }]));
  const due = startedAt + (index + 1) * (paceMs ?? 0) - performance.now();
  setTimeout(write, Math.max(0, due), response, index + 1, startedAt);
}

function end(response: ServerResponse): void {
  const tokens = pieces ?? 0;
  response.write(frame([{ index: 0, delta: {}, finish_reason: 'stop' }]));
  response.write(frame([], { prompt_tokens: 1, completion_tokens: tokens, total_tokens: tokens + 1 }));
  response.end('data: [DONE]\n\n');
}

function frame(choices: readonly object[], usage?: object): string {
  const chunk = { id: 'c', object: 'chat.completion.chunk', created: 1, model: 'bench', choices };
  return `data: ${JSON.stringify(usage ? { ...chunk, usage } : chunk)}\n\n`;
}
