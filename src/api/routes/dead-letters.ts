/** /v1/dead-letters: lists and counts directives that ended in an error, and redrives them.
 *  It must never redrive what was not asked for. */
import * as z from 'zod';
import type { DirectiveClient } from '../../contract/directive-client.ts';
import {
  deadLetterGroupsSchema,
  deadLetterPageSchema,
  type RedriveBody,
  redriveBodySchema,
  redriveSchema,
} from '../../contract/dead-letter.ts';
import { instantSchema } from '../../contract/identifiers.ts';
import type { App } from '../app.ts';
import { problems } from '../openapi.ts';
import { noQuery, wholeNumber } from '../request-input.ts';
import type { RequesterSignal } from '../waiting.ts';

const LARGEST_PAGE = 1_000;

const listQuery = z.strictObject({
  lane: z.string().max(128).optional().describe('Only of this lane.'),
  error_type: z.string().max(128).optional().describe('Only with this type of error.'),
  since: instantSchema.optional().describe('Only those that were listed from then on.'),
  until: instantSchema.optional().describe('Only those that were listed before then.'),
  after: z
    .string()
    .regex(/^\d{1,15}$/, 'must be the `next` of a page')
    .optional()
    .describe('The `next` of the page before.'),
  limit: wholeNumber(1, LARGEST_PAGE, 'How many a page holds at most. Default: 100.').optional(),
});

const listSchema = {
  operationId: 'listDeadLetters',
  summary: 'Directives that ended in an error, oldest first',
  tags: ['dead letters'],
  querystring: listQuery,
  response: { 200: deadLetterPageSchema, ...problems() },
};

const groupsSchema = {
  operationId: 'countDeadLetters',
  summary: 'Dead letters by lane, type of error and hour',
  tags: ['dead letters'],
  querystring: noQuery,
  response: { 200: deadLetterGroupsSchema, ...problems() },
};

const redriveRouteSchema = {
  operationId: 'redriveDeadLetters',
  summary: 'Make new directives from dead letters',
  description:
    'Each gets a new id in the same request, and `metadata.redrive_of` names the old one. ' +
    'Name directives, give a filter, or set `all`. With `dry_run` nothing is done: `found` says what would be redriven. ' +
    'After 20 s the answer says what was done; `left` counts the rest.',
  tags: ['dead letters'],
  querystring: noQuery,
  body: redriveBodySchema,
  response: { 200: redriveSchema, ...problems(415) },
};

export interface DeadLetterRouteOptions {
  readonly client: DirectiveClient;
  readonly requester: RequesterSignal;
}

export function deadLetterRoutes(app: App, { client, requester }: DeadLetterRouteOptions): void {
  app.get('/v1/dead-letters', { schema: listSchema }, async ({ query }) => {
    const { lane, error_type, since, until, after, limit } = query;
    return client.deadLetters({
      ...(lane === undefined ? {} : { lane }),
      ...(error_type === undefined ? {} : { error_type }),
      ...(since === undefined ? {} : { since }),
      ...(until === undefined ? {} : { until }),
      ...(after === undefined ? {} : { after }),
      ...(limit === undefined ? {} : { limit }),
    });
  });

  app.get('/v1/dead-letters/groups', { schema: groupsSchema }, async () => client.deadLetterGroups());

  // The client validates the body and names its faults.
  app.post('/v1/dead-letters/redrive', { schema: redriveRouteSchema }, async ({ body }, reply) =>
    client.redrive((body ?? {}) as RedriveBody, { signal: requester(reply.raw) }),
  );
}
