/** Where the webhooks of this folder go: refuses each message once, and takes it once, however often it comes.
 *  It must never take the same Idempotency-Key for two messages. */
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';

const port = Number(process.argv[2] ?? 8099);
const calls = new Map<string, number>();

function answer(key: string, body: string): number {
  const call = (calls.get(key) ?? 0) + 1;
  calls.set(key, call);
  const said = call === 1 ? 'not now' : call === 2 ? body : 'known already';
  console.log(`${key} call ${call}: ${said}`);
  return call === 1 ? 503 : 200;
}

const server = createServer((request, response) => {
  void text(request).then((body) => {
    const status = answer(String(request.headers['idempotency-key']), body);
    response.writeHead(status).end(status === 200 ? 'taken' : 'not now');
  });
});

server.listen(port, '127.0.0.1', () => console.log(`receives on http://127.0.0.1:${port}`));
