/** GET /v1/requests and /v1/approvals, GET /v1/requests/{r}, its trace and its directives: their state, times and results.
 *  It must never change anything. */
import * as z from 'zod';
import { approvalListingSchema, approvalQuerySchema } from '../../contract/approval-listing.ts';
import type { DirectiveClient } from '../../contract/directive-client.ts';
import { DirectiveRefused, problem } from '../../contract/problem.ts';
import {
  CURSOR_PATTERN,
  DEFAULT_LISTING,
  LARGEST_LISTING,
  requestFilterSchema,
  requestListingSchema,
} from '../../contract/request-listing.ts';
import { requestTimelineSchema } from '../../contract/request-timeline.ts';
import { MOST_TRACED, requestTraceSchema } from '../../contract/request-trace.ts';
import { directiveViewSchema, requestViewSchema } from '../../contract/request-view.ts';
import { timelineOf } from '../../contract/timeline-view.ts';
import type { App } from '../app.ts';
import { problems } from '../openapi.ts';
import {
  directiveParams,
  noQuery,
  requestParams,
  traceQuery,
  waitQuery,
  wholeNumber,
} from '../request-input.ts';
import { endOf, type RequesterSignal } from '../waiting.ts';

export interface RequestRouteOptions {
  readonly client: DirectiveClient;
  readonly requester: RequesterSignal;
}

const listQuery = requestFilterSchema.extend({
  cursor: z
    .string()
    .regex(CURSOR_PATTERN, 'must be the `next` of a page')
    .optional()
    .describe('The `next` of the page before.'),
  limit: wholeNumber(
    1,
    LARGEST_LISTING,
    `How many a page holds at most. Default: ${DEFAULT_LISTING}.`,
  ).optional(),
});

const listSchema = {
  operationId: 'listRequests',
  summary: 'Requests, newest first',
  description:
    'All filters that are given have to fit. What changed within the last second may not be there yet: `lag_ms` says how far behind ' +
    'the list is. A search stops after a while; then `searched_until` says how far it came, and `next` goes on.',
  tags: ['requests'],
  querystring: listQuery,
  response: { 200: requestListingSchema, ...problems(409) },
};

const approvalsSchema = {
  operationId: 'listApprovals',
  summary: 'What people are asked: approvals of calls and budgets, questions of tools',
  description:
    'Of all requests that wait for a person, the newest first. Decide with `POST /v1/requests/{r}/approvals/{call_id}`, answer a ' +
    'question with `POST /v1/requests/{r}/inputs/{input_id}`; `GET /v1/requests/{r}` shows the form that a question asks for.',
  tags: ['requests'],
  querystring: approvalQuerySchema,
  response: { 200: approvalListingSchema, ...problems(409) },
};

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

const timelineSchema = {
  operationId: 'requestTimeline',
  summary: 'When a request waited and worked: attempts and waits as intervals',
  description: `Made of its trace: at most ${MOST_TRACED} directives and 5,000 spans, with a count of the rest. Unknown instants are null.`,
  tags: ['requests'],
  params: requestParams,
  querystring: traceQuery,
  response: { 200: requestTimelineSchema, ...problems(404) },
};

export function requestRoutes(app: App, { client, requester }: RequestRouteOptions): void {
  app.get('/v1/requests', { schema: listSchema }, async ({ query }) => client.requests(query));

  app.get('/v1/approvals', { schema: approvalsSchema }, async ({ query }) => client.approvals(query));

  app.get('/v1/requests/:request_id', { schema: requestSchema }, async ({ params }) => {
    return (await client.request(params.request_id)) ?? notFound(`request ${params.request_id}`);
  });

  app.get('/v1/requests/:request_id/trace', { schema: traceSchema }, async ({ params, query }) =>
    client.trace(params.request_id, query),
  );

  app.get('/v1/requests/:request_id/timeline', { schema: timelineSchema }, async ({ params, query }) =>
    timelineOf(await client.trace(params.request_id, { limit: query.limit ?? MOST_TRACED })),
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
