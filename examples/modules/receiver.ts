/** Where the webhooks of this folder go: refuses each message once, and takes it once, however often it comes.
 *  It must never take the same Idempotency-Key for two messages. */
import { createServer } from 'node:http';

const port = Number(process.argv[2] ?? 8099);
const calls = new Map<string, number>();

const server = createServer(async (request, response) => {
  const key = String(request.headers['idempotency-key']);
  let body = '';
  for await (const chunk of request) body += String(chunk);
  const call = (calls.get(key) ?? 0) + 1;
  calls.set(key, call);
  const status = call === 1 ? 503 : 200;
  console.log(`${key} call ${call}: ${status === 503 ? 'not now' : call === 2 ? body : 'known already'}`);
  response.writeHead(status).end(status === 503 ? 'not now' : 'taken');
});

server.listen(port, '127.0.0.1', () => console.log(`receives on http://127.0.0.1:${port}`));
