/** /v1/keys: makes, lists and revokes API keys.
 *  It must never show a key but in the answer that makes it. */
import * as z from 'zod';
import {
  accessKeySchema,
  createdKeySchema,
  createKeyBodySchema,
  type AccessClient,
  keyListingSchema,
  type SubmittedKey,
} from '../../contract/access.ts';
import { identifierSchema } from '../../contract/identifiers.ts';
import type { App } from '../app.ts';
import { problems } from '../openapi.ts';
import { noQuery } from '../request-input.ts';

const listSchema = {
  operationId: 'listKeys',
  summary: 'The API keys: what each may do, when it was made and last used; never the keys themselves',
  tags: ['access'],
  querystring: noQuery,
  response: { 200: keyListingSchema, ...problems() },
};

const createSchema = {
  operationId: 'createKey',
  summary: 'Make an API key',
  description:
    'The answer is the only place that shows the key. From the first key on, every call needs one: so the first has the scope `admin`.',
  tags: ['access'],
  querystring: noQuery,
  body: createKeyBodySchema,
  response: { 201: createdKeySchema.describe('The key is durable.'), ...problems(409, 415) },
};

const revokeSchema = {
  operationId: 'revokeKey',
  summary: 'Revoke an API key',
  description:
    'Every API refuses it within 2 s, and ends the streams that it reads. The last key with the scope `admin` that does not expire is kept, unless `force` or ADJUTANT_ADMIN_KEY is set.',
  tags: ['access'],
  params: z.strictObject({ key_id: identifierSchema }),
  querystring: z.strictObject({
    force: z.enum(['true', 'false']).optional().describe('`true`: also the last key that may make keys.'),
  }),
  response: { 200: accessKeySchema.describe('The key as it was.'), ...problems(404, 409) },
};

export function keyRoutes(app: App, keys: AccessClient): void {
  app.get('/v1/keys', { schema: listSchema }, async () => keys.list());
  app.post('/v1/keys', { schema: createSchema }, async ({ body }, reply) =>
    reply.code(201).send(await keys.create(body as SubmittedKey)),
  );
  app.delete('/v1/keys/:key_id', { schema: revokeSchema }, async ({ params, query }) =>
    keys.revoke(params.key_id, { force: query.force === 'true' }),
  );
}
