/** Reports each answered request: its time, and the line about a refusal.
 *  It must never delay an answer, nor name a request by anything but its route. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Problem } from '../contract/problem.ts';
import { withoutKeys } from '../contract/json/secret-text.ts';
import type { FailureLog } from '../platform/telemetry/failure-log.ts';
import type { Meters } from '../platform/telemetry/metrics/meters.ts';
import { isTraceparent } from '../platform/telemetry/traces/trace-context.ts';
import type { App } from './app.ts';

export interface RequestReports {
  readonly meters: Pick<Meters, 'answered' | 'refused'>;
  readonly failures: Pick<FailureLog, 'refused'>;
}

/** The refusal in an answer, by its reply. */
const refusals = new WeakMap<FastifyReply, Problem>();

export function noteRefusal(reply: FastifyReply, refusal: Problem): void {
  refusals.set(reply, refusal);
}

export function reportRequests(app: App, { meters, failures }: RequestReports): void {
  app.addHook('onResponse', (request, reply, done) => {
    const refusal = refusals.get(reply);
    if (refusal !== undefined) {
      meters.refused(refusal.code);
      failures.refused(refusedRequest(request, refusal));
    }
    if (isStream(request)) return done();
    const route = request.routeOptions.url ?? null;
    const { method } = request;
    meters.answered({ method, route, status: reply.statusCode, durationMs: reply.elapsedTime });
    done();
  });
}

/** It lasts as long as its reader likes. */
function isStream({ headers }: FastifyRequest): boolean {
  return headers.accept?.includes('text/event-stream') === true;
}

function refusedRequest({ method, url, params, headers }: FastifyRequest, { status, code, detail }: Problem) {
  const { request_id: requestId } = Object(params) as { request_id?: unknown };
  const { traceparent } = headers;
  // A sentence with a question mark is left as it is, unless it may repeat a query.
  const text = url.includes('?') ? withoutQueryValues(detail ?? '') : (detail ?? '');
  return {
    method,
    path: withoutKeys(withoutQueryValues(url)),
    status,
    code,
    detail: text,
    requestId: typeof requestId === 'string' ? requestId : null,
    traceparent: isTraceparent(traceparent) ? traceparent : null,
  };
}

const QUERY = /\?\S+/g;
const VALUE = /(?<=[?&])(?<name>[^=&]*=)?[^&]*/g;

/** An address, or a text that repeats one, without the values of its query. */
export function withoutQueryValues(text: string): string {
  return text.replaceAll(QUERY, (query) => query.replaceAll(VALUE, '$<name>…'));
}
