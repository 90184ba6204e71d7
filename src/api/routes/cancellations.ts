/** POST …/cancel: cancels one directive, or all of a request.
 *  It must never answer "cancelled" for a directive whose attempt still runs. */
import type { DirectiveClient } from '../../contract/directive-client.ts';
import { type Cancellation, cancelBodySchema, cancellationSchema } from '../../contract/cancellation.ts';
import type { App } from '../app.ts';
import { problems } from '../openapi.ts';
import { directiveParams, noQuery, requestParams } from '../request-input.ts';
import { readInput } from '../../contract/read-input.ts';

const description =
  '`cancelled`: ended by this call; no further attempt starts. `requested`: an attempt runs and is being aborted; ' +
  'its terminal signal reports what really happened. `ended`: it had ended before. Where one directive is named, `result` is the signal that ended it. ' +
  '200 when nothing is running, 202 otherwise.';

const answers = {
  200: cancellationSchema.describe('Every directive has ended.'),
  202: cancellationSchema.describe('Some attempts are being aborted.'),
  ...problems(404, 415),
};

const requestSchema = {
  operationId: 'cancelRequest',
  summary: 'Cancel every open directive of a request',
  description,
  tags: ['requests'],
  params: requestParams,
  querystring: noQuery,
  response: answers,
};

const directiveSchema = {
  operationId: 'cancelDirective',
  summary: 'Cancel one directive',
  description,
  tags: ['requests'],
  params: directiveParams,
  querystring: noQuery,
  response: answers,
};

export function cancellationRoutes(app: App, client: DirectiveClient): void {
  app.post('/v1/requests/:request_id/cancel', { schema: requestSchema }, async (request, reply) => {
    const cancelled = await client.cancel(request.params.request_id, undefined, readBody(request.body));
    return reply.code(statusOf(cancelled)).send(cancelled);
  });

  app.post(
    '/v1/requests/:request_id/directives/:directive_id/cancel',
    { schema: directiveSchema },
    async (request, reply) => {
      const { request_id: requestId, directive_id: directiveId } = request.params;
      const cancelled = await client.cancel(requestId, directiveId, readBody(request.body));
      return reply.code(statusOf(cancelled)).send(cancelled);
    },
  );
}

/** An absent body is a cancellation without a reason. */
function readBody(body: unknown): { reason?: string } {
  const { reason } = readInput(cancelBodySchema, body ?? {}, 'invalid_body');
  return reason === undefined ? {} : { reason };
}

function statusOf({ directives }: Cancellation): 200 | 202 {
  return directives.some(({ status }) => status === 'requested') ? 202 : 200;
}
