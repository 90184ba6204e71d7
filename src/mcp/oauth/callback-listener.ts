/** Waits on 127.0.0.1 for the browser to come back from a login.
 *  It must never repeat what the address holds, nor end a login because of a request with another state. */
import { timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface CallbackListener {
  readonly redirectUrl: string;
  /** The parameters of the first request with this state. */
  answer(state: string, signal: AbortSignal): Promise<URLSearchParams>;
  close(): Promise<void>;
}

const HOST = '127.0.0.1';
const PATH = '/callback';
const MAX_CONNECTIONS = 16;

/** Rejects when the port is taken. 0: any free one. */
export async function listenForCallback(port: number): Promise<CallbackListener> {
  const server = createServer({ headersTimeout: 10_000, requestTimeout: 10_000, maxHeaderSize: 32_768 });
  server.maxConnections = MAX_CONNECTIONS;
  server.listen(port, HOST);
  await once(server, 'listening');
  const origin = `http://${HOST}:${(server.address() as AddressInfo).port}`;
  return {
    redirectUrl: `${origin}${PATH}`,
    answer: (state, signal) => answerOn(server, { origin, state, signal }),
    async close() {
      server.closeAllConnections();
      if (server.listening) await new Promise((resolve) => void server.close(resolve));
    },
  };
}

interface Awaited {
  readonly origin: string;
  readonly state: string;
  readonly signal: AbortSignal;
}

function answerOn(server: Server, { origin, state, signal }: Awaited): Promise<URLSearchParams> {
  const { promise, resolve, reject } = Promise.withResolvers<URLSearchParams>();
  const stop = (): void => reject(signal.reason as Error);
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const params = paramsOf(request, origin);
    if (params === null) return reply(response, 404, 'There is nothing here.');
    if (!isSame(params.get('state') ?? '', state))
      return reply(response, 400, 'This login was begun elsewhere, or is over. Begin it again.');
    reply(response, 200, 'The login goes on in the terminal. This window can be closed.');
    resolve(params);
  });
  return promise.finally(() => signal.removeEventListener('abort', stop));
}

/** null: it is not the browser of this machine on its way back. */
function paramsOf({ method, url = '', headers }: IncomingMessage, origin: string): URLSearchParams | null {
  if (method !== 'GET' || `http://${headers.host}` !== origin || !URL.canParse(url, origin)) return null;
  const { pathname, searchParams } = new URL(url, origin);
  return pathname === PATH ? searchParams : null;
}

function isSame(given: string, expected: string): boolean {
  const [left, right] = [Buffer.from(given), Buffer.from(expected)];
  return left.length === right.length && timingSafeEqual(left, right);
}

function reply(response: ServerResponse, status: number, text: string): void {
  response
    .writeHead(status, {
      'content-type': 'text/plain; charset=utf-8',
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      connection: 'close',
    })
    .end(`${text}\n`);
}
