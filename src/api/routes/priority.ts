/** POST …/priority: how urgent a directive is that waits for its turn.
 *  It must never change one that runs. */
import type { DirectiveClient } from '../../contract/directive-client.ts';
import { prioritizedSchema, priorityBodySchema } from '../../contract/flow.ts';
import { readInput } from '../../contract/read-input.ts';
import type { App } from '../app.ts';
import { problems } from '../openapi.ts';
import { directiveParams, noQuery } from '../request-input.ts';

const schema = {
  operationId: 'prioritizeDirective',
  summary: 'Change the priority of a directive that waits',
  description:
    'Each step up is a head start of 30 seconds before others with the same fairness key. 409 `not_waiting` when it runs, has ' +
    'ended, takes no turn, or a rule fixes its priority.',
  tags: ['requests'],
  params: directiveParams,
  querystring: noQuery,
  body: priorityBodySchema,
  response: { 200: prioritizedSchema.describe('It waits with this priority.'), ...problems(404, 409, 415) },
};

export function priorityRoutes(app: App, client: DirectiveClient): void {
  app.post(
    '/v1/requests/:request_id/directives/:directive_id/priority',
    { schema },
    async ({ params, body }) => {
      const { priority } = readInput(priorityBodySchema, body ?? {}, 'invalid_body');
      return client.prioritize(params.request_id, params.directive_id, priority);
    },
  );
}
