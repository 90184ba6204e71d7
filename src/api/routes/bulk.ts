/** POST /v1/requests/cancel, /v1/requests/redrive and /v1/reindex: what concerns many requests at once.
 *  It must never take an absent body for all requests. */
import {
  type BulkCancelBody,
  bulkCancelBodySchema,
  bulkCancellationSchema,
  type BulkRedriveBody,
  bulkRedriveBodySchema,
  bulkRedriveSchema,
  reindexBodySchema,
  reindexStepSchema,
} from '../../contract/bulk.ts';
import type { DirectiveClient } from '../../contract/directive-client.ts';
import type { App } from '../app.ts';
import { problems } from '../openapi.ts';
import { noQuery } from '../request-input.ts';
import type { RequesterSignal } from '../waiting.ts';

const cancelSchema = {
  operationId: 'cancelRequests',
  summary: 'Cancel the requests that a filter chooses',
  description:
    'Those that have not ended, the newest first, up to `limit`; `next` is the `cursor` of the call that goes on. With `dry_run` they are named, and nothing is done. ' +
    'The filter is that of `GET /v1/requests`; without one, `all` has to be set.',
  tags: ['requests'],
  querystring: noQuery,
  body: bulkCancelBodySchema,
  response: { 200: bulkCancellationSchema, ...problems(409, 415) },
};

const redriveSchema = {
  operationId: 'redriveRequests',
  summary: 'Redrive the dead letters of the requests that a filter chooses',
  description:
    'Of requests that have failed, unless the filter names a status. Each gets a new id in the same request, as with ' +
    '`POST /v1/dead-letters/redrive`; `next` is the `cursor` of the call that goes on. With `dry_run` they are named, and nothing is done.',
  tags: ['requests'],
  querystring: noQuery,
  body: bulkRedriveBodySchema,
  response: { 200: bulkRedriveSchema, ...problems(409, 415) },
};

const reindexSchema = {
  operationId: 'reindex',
  summary: 'Build the list of requests anew, step by step',
  description:
    'The first step, without `cursor`, has the service begin. Repeat with `next` until it is null: then the list is complete. Who stops asking does not stop it.',
  tags: ['requests'],
  querystring: noQuery,
  body: reindexBodySchema,
  response: { 200: reindexStepSchema, ...problems(409, 415) },
};

export interface BulkRouteOptions {
  readonly client: DirectiveClient;
  /** Who has gone wants no more of it. */
  readonly requester: RequesterSignal;
}

/** The client validates the bodies and names their faults. */
export function bulkRoutes(app: App, { client, requester }: BulkRouteOptions): void {
  app.post('/v1/requests/cancel', { schema: cancelSchema }, async ({ body }, reply) =>
    client.cancelAll((body ?? {}) as BulkCancelBody, { signal: requester(reply.raw) }),
  );
  app.post('/v1/requests/redrive', { schema: redriveSchema }, async ({ body }, reply) =>
    client.redriveAll((body ?? {}) as BulkRedriveBody, { signal: requester(reply.raw) }),
  );
  app.post('/v1/reindex', { schema: reindexSchema }, async ({ body }) =>
    client.reindex((body ?? {}) as { cursor?: string }),
  );
}
