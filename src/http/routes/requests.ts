/** Requests and their directives where a call needs more than the client's method: waits, statuses, what does not exist. */
import { type Cancellation, cancelBodySchema } from '../../contract/directive/cancellation.ts';
import type { DirectiveClient } from '../../contract/directive/directive-client.ts';
import { priorityBodySchema } from '../../contract/directive/flow.ts';
import { DirectiveRefused, problem } from '../../contract/problem.ts';
import { readInput } from '../../contract/json/read-input.ts';
import { MOST_TRACED } from '../../contract/request/request-trace.ts';
import { timelineOf } from '../../contract/request/timeline-view.ts';
import type { App } from '../app.ts';
import { serve } from '../served-operation.ts';
import { endOf, type RequesterSignal } from '../waiting.ts';

export function requestRoutes(app: App, client: DirectiveClient, requester: RequesterSignal): void {
  serve(app, 'request', async ({ params }) => {
    return (await client.request(params.request_id)) ?? notFound(`request ${params.request_id}`);
  });
  serve(app, 'directive', async ({ params, query }, reply) => {
    const { request_id: requestId, directive_id: directiveId } = params;
    const waitMs = query.wait_ms ?? 0;
    if (waitMs > 0) await endOf(client, requestId, directiveId, { waitMs, signal: requester(reply.raw) });
    const view = await client.directive(requestId, directiveId);
    return view ?? notFound(`directive ${directiveId} in request ${requestId}`);
  });
  serve(app, 'payload', async ({ params }) => ({
    payload: await client.payload(params.request_id, params.directive_id),
  }));
  serve(app, 'timeline', async ({ params, query }) =>
    timelineOf(await client.trace(params.request_id, { limit: query.limit ?? MOST_TRACED })),
  );
  serve(app, 'cancel', async ({ params, body }, reply) => {
    const cancelled = await client.cancel(params.request_id, undefined, reasonIn(body));
    return reply.code(statusOf(cancelled)).send(cancelled);
  });
  serve(app, 'cancelDirective', async ({ params, body }, reply) => {
    const cancelled = await client.cancel(params.request_id, params.directive_id, reasonIn(body));
    return reply.code(statusOf(cancelled)).send(cancelled);
  });
  serve(app, 'prioritize', async ({ params, body }) => {
    const { priority } = readInput(priorityBodySchema, body ?? {}, 'invalid_body');
    return client.prioritize(params.request_id, params.directive_id, priority);
  });
}

function notFound(what: string): never {
  throw new DirectiveRefused(problem('not_found', { detail: `There is no ${what}.` }));
}

/** An absent body is a cancellation without a reason. */
function reasonIn(body: unknown): { reason?: string } {
  const { reason } = readInput(cancelBodySchema, body ?? {}, 'invalid_body');
  return reason === undefined ? {} : { reason };
}

function statusOf({ directives }: Cancellation): 200 | 202 {
  return directives.some(({ status }) => status === 'requested') ? 202 : 200;
}
