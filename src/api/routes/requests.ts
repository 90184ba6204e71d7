/** GET /v1/requests/{r}, its trace and its directives: their state, times and results.
 *  It must never change anything. */
import type { DirectiveClient } from '../../contract/directive-client.ts';
import { DirectiveRefused, problem } from '../../contract/problem.ts';
import { requestTraceSchema } from '../../contract/request-trace.ts';
import { directiveViewSchema, requestViewSchema } from '../../contract/request-view.ts';
import type { App } from '../app.ts';
import { problems } from '../openapi.ts';
import { directiveParams, noQuery, requestParams, traceQuery, waitQuery } from '../request-input.ts';
import { endOf, type RequesterSignal } from '../waiting.ts';

export interface RequestRouteOptions {
  readonly client: DirectiveClient;
  readonly requester: RequesterSignal;
}

const requestSchema = {
  operationId: 'getRequest',
  summary: 'A request and its directives',
  tags: ['requests'],
  params: requestParams,
  querystring: noQuery,
  response: { 200: requestViewSchema, ...problems(404) },
};

const directiveSchema = {
  operationId: 'getDirective',
  summary: 'One directive, its state and its result',
  description:
    'With `wait_ms` the answer comes when the directive has ended, or after that time with its current state.',
  tags: ['requests'],
  params: directiveParams,
  querystring: waitQuery,
  response: { 200: directiveViewSchema, ...problems(404) },
};

const traceSchema = {
  operationId: 'traceRequest',
  summary: 'What a request did and when: attempts, waits, turns, children',
  description: 'From the journal alone, whether traces are recorded or not; without arguments and results.',
  tags: ['requests'],
  params: requestParams,
  querystring: traceQuery,
  response: { 200: requestTraceSchema, ...problems(404) },
};

export function requestRoutes(app: App, { client, requester }: RequestRouteOptions): void {
  app.get('/v1/requests/:request_id', { schema: requestSchema }, async ({ params }) => {
    return (await client.request(params.request_id)) ?? notFound(`request ${params.request_id}`);
  });

  app.get('/v1/requests/:request_id/trace', { schema: traceSchema }, async ({ params, query }) =>
    client.trace(params.request_id, query),
  );

  app.get(
    '/v1/requests/:request_id/directives/:directive_id',
    { schema: directiveSchema },
    async (request, reply) => {
      const { request_id: requestId, directive_id: directiveId } = request.params;
      const waitMs = request.query.wait_ms ?? 0;
      if (waitMs > 0) await endOf(client, requestId, directiveId, { waitMs, signal: requester(reply.raw) });
      const view = await client.directive(requestId, directiveId);
      return view ?? notFound(`directive ${directiveId} in request ${requestId}`);
    },
  );
}

function notFound(what: string): never {
  throw new DirectiveRefused(problem('not_found', { detail: `There is no ${what}.` }));
}
