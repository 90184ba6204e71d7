/** A small HTTP listener for a process without the API: its metrics, and whether it lives and can work.
 *  It must never serve anything that changes the service, nor keep a stop waiting. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Startable } from '../platform/lifecycle.ts';
import { METRICS_TYPE, type Readiness } from './routes/probes.ts';

export interface ProbeListenerOptions {
  readonly host: string;
  /** 0: any free one. */
  readonly port: number;
  /** null: metrics are off. */
  readonly scrape: (() => Promise<string>) | null;
  readonly ready: () => Promise<Readiness>;
  readonly version: string;
}

export interface ProbeListener extends Startable {
  /** null until it listens. */
  url(): string | null;
}

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** A probe sends a few hundred bytes, and reads a few thousand. */
const LONGEST_REQUEST_MS = 10_000;

export function createProbeListener(options: ProbeListenerOptions): ProbeListener {
  const server = createServer({ requestTimeout: LONGEST_REQUEST_MS }, (request, response) => {
    answerTo(request, options).then(
      (answer) => send(response, answer),
      () => send(response, problemAnswer(500, 'internal_error')),
    );
  });
  let url: string | null = null;
  return {
    name: 'probe listener',
    url: () => url,
    async start() {
      server.listen(options.port, options.host);
      await once(server, 'listening');
      url = urlOf(server.address() as AddressInfo);
    },
    async stop() {
      if (url === null) return;
      url = null;
      server.close();
      server.closeAllConnections();
    },
  };
}

function urlOf({ address, port, family }: AddressInfo): string {
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}

async function answerTo(
  { method, url = '' }: IncomingMessage,
  { scrape, ready, version }: ProbeListenerOptions,
): Promise<Answer> {
  if (method !== 'GET' && method !== 'HEAD') return problemAnswer(405, 'method_not_allowed');
  const path = url.split('?', 1)[0];
  if (path === '/healthz') return jsonAnswer(200, { status: 'ok', version });
  if (path === '/readyz') {
    const { ok, checks } = await ready();
    return jsonAnswer(ok ? 200 : 503, { ok, checks });
  }
  if (path === '/metrics' && scrape !== null)
    return { status: 200, type: METRICS_TYPE, body: await scrape() };
  return problemAnswer(404, 'not_found');
}

function jsonAnswer(status: number, value: unknown): Answer {
  return { status, type: 'application/json; charset=utf-8', body: JSON.stringify(value) };
}

function problemAnswer(status: number, code: string): Answer {
  const { body } = jsonAnswer(status, { status, code });
  return { status, type: 'application/problem+json; charset=utf-8', body };
}

function send(response: ServerResponse, { status, type, body }: Answer): void {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) }).end(body);
}
