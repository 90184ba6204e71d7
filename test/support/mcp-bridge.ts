/** Serves an MCP handler, which answers web requests, on Node's server: each call with a signal that tells when its client has gone.
 *  It must never bound what it reads: the other side of these tests is the service. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';

export interface WebHandler {
  fetch(request: Request): Promise<Response>;
}

export function bridge(handler: WebHandler): (incoming: IncomingMessage, outgoing: ServerResponse) => void {
  return (incoming, outgoing) => {
    const gone = new AbortController();
    outgoing.once('close', () => gone.abort());
    const request = new Request(`http://127.0.0.1${incoming.url}`, {
      method: incoming.method ?? 'GET',
      headers: incoming.headers as Record<string, string>,
      signal: gone.signal,
      ...(incoming.method === 'POST' ? { body: Readable.toWeb(incoming), duplex: 'half' } : {}),
    } as RequestInit);
    void handler.fetch(request).then((response) => {
      outgoing.writeHead(response.status, Object.fromEntries(response.headers));
      if (response.body === null) outgoing.end();
      else
        Readable.fromWeb(response.body as ReadableStream)
          .on('error', () => {})
          .pipe(outgoing);
    });
  };
}
