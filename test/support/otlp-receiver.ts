/** A collector of a test: receives OTLP over HTTP as protobuf on a real socket, and keeps the spans.
 *  It must not share code with the SDK that sends them. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type ReceivedMetric, readMetrics } from './otlp-metrics.ts';
import { type ReceivedSpan, readSpans } from './otlp-spans.ts';

export interface OtlpReceiver {
  /** As OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly url: string;
  /** In the order of their arrival. */
  spans(): readonly ReceivedSpan[];
  metrics(): readonly ReceivedMetric[];
  /** Requests, answered or not. */
  requests(): number;
  /** What the next requests get: 200, another status, no answer, or 200 with a page as of a program that is no collector. */
  answer(with_: number | 'nothing' | 'web page'): void;
  /** Resolves when `condition` holds for the spans. */
  until(condition: (spans: readonly ReceivedSpan[]) => boolean): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const metrics: ReceivedMetric[] = [];
  /** Read when they are asked for: a sender waits 3 s for the answer, and may share the processor with this. */
  const unread: Buffer[] = [];
  const watchers = new Set<() => void>();
  let answered: number | 'nothing' | 'web page' = 200;
  let requests = 0;
  async function receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    requests += 1;
    const body = await bodyOf(request);
    if (answered === 200 && request.url === '/v1/metrics') metrics.push(...readMetrics(body));
    else if (answered === 200) unread.push(body);
    for (const look of watchers) look();
    if (answered === 'web page') response.writeHead(200, { 'content-type': 'text/html' }).end('<html>');
    else if (answered !== 'nothing')
      response.writeHead(answered, { 'content-type': 'application/x-protobuf' }).end();
  }
  const spansNow = (): readonly ReceivedSpan[] => {
    for (const body of unread.splice(0)) spans.push(...readSpans(body));
    return spans;
  };
  // A sender may leave in the middle of its request.
  const server = createServer((request, response) => void receive(request, response).catch(() => {}));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    spans: spansNow,
    metrics: () => metrics,
    requests: () => requests,
    answer: (status) => void (answered = status),
    until: (condition) => watched(watchers, () => condition(spansNow())),
    [Symbol.asyncDispose]: () => closed(server),
  };
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

function watched(watchers: Set<() => void>, condition: () => boolean): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const look = (): void => {
    if (!condition()) return;
    watchers.delete(look);
    resolve();
  };
  watchers.add(look);
  look();
  return promise;
}

async function closed(server: Server): Promise<void> {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
}
