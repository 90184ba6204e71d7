/** The span of a POST: `POST {route}`, under the caller's. What the request causes continues its context.
 *  It must never be made for a request that is not recorded, nor show a body. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { randomHex } from '../telemetry/random-pool.ts';
import { ATTRIBUTE } from '../telemetry/semantic-names.ts';
import type { Attributes, SpanPlace } from '../telemetry/span.ts';
import { traceparentOf } from '../telemetry/span-place.ts';
import type { Spans } from '../telemetry/spans.ts';
import { isTraceparent, newTraceparent } from '../telemetry/trace-context.ts';
import type { App } from './app.ts';

interface Entered {
  readonly place: SpanPlace;
  readonly startedAt: number;
}

/** The routes read the context from the header, whether the caller sent one or not. */
export function traceRequests(app: App, spans: Spans): void {
  const entered = new WeakMap<FastifyRequest, Entered>();
  app.addHook('onRequest', async (request) => {
    if (request.method !== 'POST') return;
    const { traceparent } = request.headers as { traceparent?: unknown };
    const context = spans.decided(isTraceparent(traceparent) ? traceparent : newTraceparent());
    const parent = spans.under(context);
    const place = parent && { traceId: parent.traceId, parentId: parent.spanId, spanId: randomHex(8) };
    request.headers['traceparent'] = place === null ? context : traceparentOf(place);
    if (place !== null) entered.set(request, { place, startedAt: spans.now() });
  });
  app.addHook('onResponse', async (request, reply) => {
    const entry = entered.get(request);
    if (entry === undefined) return;
    const name = `POST ${request.routeOptions.url ?? ''}`.trimEnd();
    const error = reply.statusCode >= 500 ? String(reply.statusCode) : null;
    const attributes = attributesOf(request, reply);
    spans.report({ ...entry, name, kind: 'server', attributes, endedAt: spans.now(), error });
  });
}

function attributesOf(request: FastifyRequest, { statusCode }: FastifyReply): Attributes {
  const { params, routeOptions } = request;
  const { request_id: requestId } = (params ?? {}) as { request_id?: string };
  return {
    [ATTRIBUTE.httpMethod]: 'POST',
    [ATTRIBUTE.httpRoute]: routeOptions.url,
    [ATTRIBUTE.urlPath]: request.url.split('?')[0],
    [ATTRIBUTE.urlScheme]: 'http',
    [ATTRIBUTE.httpStatus]: statusCode,
    [ATTRIBUTE.request]: requestId,
  };
}
