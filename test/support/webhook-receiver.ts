/** A receiver of webhooks over real HTTP, which verifies each signature and answers as its path says.
 *  It must never accept what is not signed with the secret that the test knows. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import type { EndEvent } from '../../src/contract/signal/webhook-event.ts';

export interface Received {
  readonly path: string;
  readonly id: string;
  readonly headers: IncomingMessage['headers'];
  readonly event: EndEvent;
}

export interface WebhookReceiver {
  readonly url: string;
  /** In the order of their arrival. */
  readonly received: Received[];
  /** Those about a request. */
  about(requestId: string): Received[];
  /** Takes what `/held` was asked, and is asked from now on. */
  answerHeld(): void;
  [Symbol.asyncDispose](): Promise<void>;
}

export type Answer = (response: ServerResponse, nth: number) => void;

/** Of the paths that end so; `nth`: how many of this message came before. */
const ANSWERS: Readonly<Record<string, Answer>> = {
  '/ok': (response) => void response.writeHead(204).end(),
  '/fails-once': (response, nth) => void response.writeHead(nth === 0 ? 500 : 200).end('x'),
  '/fails': (response) => void response.writeHead(500).end('secret of the receiver'),
  '/busy-once': (response, nth) =>
    void response.writeHead(nth === 0 ? 503 : 200, nth === 0 ? { 'retry-after': '1' } : {}).end(),
  '/gone': (response) => void response.writeHead(410).end(),
  '/redirect': (response) => void response.writeHead(302, { location: '/ok' }).end(),
  '/endless': (response) => endless(response.writeHead(200)),
  '/many-headers': (response) =>
    void response.socket?.end(`HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(10_000)}\r\n`),
  '/silent': () => {},
};

function endless(response: ServerResponse): void {
  const more = (): void => void (response.writable && response.write('x'.repeat(16_384), more));
  more();
}

export const newSecret = (): string => `whsec_${randomBytes(32).toString('base64')}`;

export async function startReceiver(secret: string): Promise<WebhookReceiver> {
  const received: Received[] = [];
  const held = Promise.withResolvers<void>();
  const server = createServer((request, response) => void take(request, response));

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const event = new Webhook(secret).verify(body, request.headers as Record<string, string>) as EndEvent;
    const [path, id] = [request.url ?? '', String(request.headers['webhook-id'])];
    const nth = received.filter((each) => each.id === id && each.path === path).length;
    received.push({ path, id, headers: request.headers, event });
    if (path === '/held') await held.promise;
    ANSWERS[path === '/held' ? '/ok' : path]?.(response, nth);
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    about: (requestId) => received.filter(({ event }) => event.data.request_id === requestId),
    answerHeld: held.resolve,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
