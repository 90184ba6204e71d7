// Says why a collector takes nothing, and what to do: for the line of the log, and for the doctor.
// Must never show user, password or query of an address.
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { ClientRequest, IncomingMessage } from 'node:http';

export type Exported = 'traces' | 'metrics';

export interface ExportFault {
  /** Where they are posted. */
  readonly collector: string;
  readonly error: string;
  readonly fix: string;
}

export function shownCollector(url: string): string {
  const { origin = url, pathname = '' } = URL.parse(url) ?? {};
  return `${origin}${pathname}`;
}

export function exportFault(what: Exported, url: string, error: Error): ExportFault {
  const { message, code } = error as Error & { code?: unknown };
  const collector = shownCollector(url);
  const status = typeof code === 'number' ? `${code} ` : '';
  return { collector, error: `${status}${message || String(code)}`, fix: fixFor(what, collector, error) };
}

/** The collector has no place for it: Jaeger takes no metrics. */
export function isNotServed(error: Error | null): boolean {
  return (error as { code?: unknown } | null)?.code === 404;
}

function fixFor(what: Exported, collector: string, error: Error): string {
  const signal = what.toUpperCase();
  const whole = `OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`;
  const path = `/v1/${what}`;
  const doubled = /(?<given>\/v1\/(traces|metrics))\/v1\/(traces|metrics)$/.exec(collector)?.groups?.[
    'given'
  ];
  if (doubled !== undefined)
    return `Take ${doubled} off the endpoint: ${path} is added. ${whole} takes the whole address.`;
  if (error instanceof WebPage)
    return `Name the port of OTLP over HTTP instead: 4318, unless it was changed.`;
  if (isNotServed(error))
    return what === 'metrics'
      ? 'Set OTEL_METRICS_EXPORTER=none if it is Jaeger, which takes no metrics; else correct the path.'
      : `Correct the endpoint: ${path} is added to it. ${whole} takes the whole address.`;
  const { code } = error as { code?: unknown };
  if (code === 401 || code === 403) return 'Set its key in OTEL_EXPORTER_OTLP_HEADERS.';
  if (error.message.startsWith('Parse Error'))
    return 'Name the port of OTLP over HTTP: 4318, unless it was changed. 4317 is the one for gRPC.';
  if (/timed out/i.test(error.message)) return 'It does not answer within 3 s: check its log and its load.';
  return 'Start the collector, or correct the endpoint.';
}

/** A web page answered instead of a collector. */
class WebPage extends Error {
  override readonly name = 'WebPage';
}

export interface AnswerWatch {
  /** The fault of an export that the SDK takes for a success, since its status was 200. */
  fault(): Error | null;
  close(): void;
}

const CHANNEL = 'http.client.response.finish';

/** The SDK shows neither type nor content of an answer, and a web page answers 200 to whatever is posted to it. */
export function watchAnswers(url: string): AnswerWatch {
  const asked = URL.parse(url);
  let last: Error | null = null;
  const note = (message: unknown): void => {
    const { request, response } = message as Partial<{ request: Asked; response: IncomingMessage }>;
    if (request === undefined || response === undefined || !isFor(asked, request)) return;
    const type = response.headers['content-type'] ?? '';
    last = /^text\/html\b/i.test(type) ? new WebPage('it answers with a web page (text/html)') : null;
  };
  subscribe(CHANNEL, note);
  return { fault: () => last, close: () => void unsubscribe(CHANNEL, note) };
}

type Asked = Pick<ClientRequest, 'method' | 'path' | 'getHeader'>;

function isFor(url: URL | null, request: Asked): boolean {
  if (url === null || request.method !== 'POST' || request.path !== `${url.pathname}${url.search}`)
    return false;
  return request.getHeader('host') === url.host;
}
