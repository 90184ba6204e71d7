/** The span of a POST: `POST {route}`, under the caller's. What the request causes continues its context.
 *  It must never be made for a request that is not recorded, nor show a body. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { randomHex } from '../platform/telemetry/random-pool.ts';
import { ATTRIBUTE } from '../platform/telemetry/traces/semantic-names.ts';
import type { Attributes, SpanRecord } from '../platform/telemetry/traces/span.ts';
import { traceparentOf } from '../platform/telemetry/traces/span-place.ts';
import type { Spans } from '../platform/telemetry/traces/spans.ts';
import { isTraceparent, newTraceparent } from '../platform/telemetry/traces/trace-context.ts';
import { REPLAYED_HEADER, RUN_HEADER } from '../contract/run/foreign-run.ts';
import type { App } from './app.ts';

/** The routes read the context from the header, whether the caller sent one or not. */
export function traceRequests(app: App, spans: Spans): void {
  app.addHook('onRequest', (request, reply, done) => {
    if (request.method === 'POST' && !isTracedByRun(request)) traceRequest(request, reply, spans);
    done();
  });
}

/** A call of a run that another program leads belongs to the trace of the run, which its route reads, unless its caller names one. */
function isTracedByRun({ url, headers }: FastifyRequest): boolean {
  return (
    headers['traceparent'] === undefined && (url.startsWith('/runs/') || headers[RUN_HEADER] !== undefined)
  );
}

function traceRequest(request: FastifyRequest, reply: FastifyReply, spans: Spans): void {
  const { traceparent } = request.headers as { traceparent?: unknown };
  const context = spans.decided(isTraceparent(traceparent) ? traceparent : newTraceparent());
  const parent = spans.under(context);
  const place = parent && { traceId: parent.traceId, parentId: parent.spanId, spanId: randomHex(8) };
  request.headers['traceparent'] = place === null ? context : traceparentOf(place);
  if (place === null) return;
  const startedAt = spans.now();
  const begun = { place, startedAt, endedAt: startedAt, ...entered(request) };
  spans.begin(begun);
  // Also where the caller is gone before it is answered.
  reply.raw.once('close', () => spans.report({ ...begun, endedAt: spans.now(), ...left(begun, reply) }));
}

function entered(request: FastifyRequest): Omit<SpanRecord, 'place' | 'startedAt' | 'endedAt'> {
  const { params, routeOptions } = request;
  const { request_id: requestId, schedule_id: schedule } = (params ?? {}) as Record<string, string>;
  const attributes: Attributes = {
    [ATTRIBUTE.httpMethod]: 'POST',
    [ATTRIBUTE.httpRoute]: routeOptions.url,
    [ATTRIBUTE.urlPath]: request.url.split('?')[0],
    [ATTRIBUTE.urlScheme]: 'http',
    [ATTRIBUTE.request]: requestId,
    [ATTRIBUTE.schedule]: schedule,
  };
  return { name: `POST ${routeOptions.url ?? ''}`.trimEnd(), kind: 'server', attributes, error: null };
}

/** A caller that did not wait has got no status; that is not the service's error. */
function left(
  { attributes: entered }: Pick<SpanRecord, 'attributes'>,
  reply: FastifyReply,
): Pick<SpanRecord, 'attributes' | 'error'> {
  const { statusCode, raw } = reply;
  const isReplayed = reply.getHeader(REPLAYED_HEADER) === 'true';
  const attributes = isReplayed ? { ...entered, [ATTRIBUTE.replayed]: true } : entered;
  if (!raw.writableFinished) return { attributes, error: null };
  const error = statusCode >= 500 ? String(statusCode) : null;
  return { attributes: { ...attributes, [ATTRIBUTE.httpStatus]: statusCode }, error };
}
