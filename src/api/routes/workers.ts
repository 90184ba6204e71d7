/** GET /v1/workers, POST /v1/workers/{id}/drain and …/resume: the processes, and which of them take work.
 *  It must never wait for a process to obey. */
import * as z from 'zod';
import type { DirectiveClient } from '../../contract/directive-client.ts';
import { identifierSchema } from '../../contract/identifiers.ts';
import { workerDrainSchema, workerListingSchema } from '../../contract/worker-listing.ts';
import type { App } from '../app.ts';
import { problems } from '../openapi.ts';
import { noQuery } from '../request-input.ts';

const listSchema = {
  operationId: 'listWorkers',
  summary: 'The processes of the installation: their roles, the lanes they serve, their load',
  tags: ['service'],
  querystring: noQuery,
  response: { 200: workerListingSchema, ...problems() },
};

const params = z.strictObject({ worker_id: identifierSchema });

const answers = {
  202: workerDrainSchema.describe('The process reads it within some seconds.'),
  ...problems(404),
};

const drainSchema = {
  operationId: 'drainWorker',
  summary: 'Ask a process to take no more work',
  description:
    'What it has goes on to its end. The process then stays idle until it is stopped, or told to work again; a new one in its ' +
    'place works. The wish is kept while the process is silent. Refused for an API alone, which takes no work.',
  tags: ['service'],
  params,
  querystring: noQuery,
  response: answers,
};

const resumeSchema = {
  operationId: 'resumeWorker',
  summary: 'Ask a drained process to work again',
  tags: ['service'],
  params,
  querystring: noQuery,
  response: answers,
};

export function workerRoutes(app: App, client: DirectiveClient): void {
  app.get('/v1/workers', { schema: listSchema }, async () => client.workers());
  app.post('/v1/workers/:worker_id/drain', { schema: drainSchema }, async (request, reply) =>
    reply.code(202).send(await client.drainWorker(request.params.worker_id)),
  );
  app.post('/v1/workers/:worker_id/resume', { schema: resumeSchema }, async (request, reply) =>
    reply.code(202).send(await client.drainWorker(request.params.worker_id, false)),
  );
}
