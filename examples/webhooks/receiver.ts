/** Receives notices of ends: verifies each signature and prints one line, once for each id.
 *  It must not answer before it has verified. Run it: WEBHOOK_SECRET=whsec_… node examples/webhooks/receiver.ts 8080 */
import { createServer, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';

const webhook = new Webhook(process.env['WEBHOOK_SECRET'] ?? '');
const seen = new Set<string>();

async function take(request: IncomingMessage): Promise<void> {
  const event = webhook.verify(await text(request), request.headers as Record<string, string>);
  const id = String(request.headers['webhook-id']);
  if (!seen.has(id)) console.log(id, JSON.stringify(event));
  seen.add(id);
}

const server = createServer((request, response) => {
  const answer = (status: number): void => void response.writeHead(status).end();
  take(request).then(
    () => answer(204),
    () => answer(401),
  );
});
const port = Number(process.argv[2] ?? 0);
server.listen(port, '127.0.0.1', () => {
  const address = server.address() as { port: number };
  console.log(`receives on http://127.0.0.1:${address.port}`);
});
