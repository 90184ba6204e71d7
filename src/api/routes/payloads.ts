/** GET …/directives/{id}/payload: the whole payload of a directive whose signal holds a preview.
 *  It must never return the preview as the whole. */
import * as z from 'zod';
import type { DirectiveClient } from '../../contract/directive-client.ts';
import type { App } from '../app.ts';
import { problems } from '../openapi.ts';
import { directiveParams, noQuery } from '../request-input.ts';

const schema = {
  operationId: 'getPayload',
  summary: 'The whole payload of a successful directive',
  description:
    'A result whose payload is marked `truncated` names this place. 404 when it does not exist, or no longer.',
  tags: ['requests'],
  params: directiveParams,
  querystring: noQuery,
  response: {
    200: z.object({ payload: z.unknown() }).describe('The payload, any JSON.'),
    ...problems(404),
  },
};

export function payloadRoutes(app: App, client: DirectiveClient): void {
  app.get('/v1/requests/:request_id/directives/:directive_id/payload', { schema }, async ({ params }) => ({
    payload: await client.payload(params.request_id, params.directive_id),
  }));
}
