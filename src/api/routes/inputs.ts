/** POST /v1/requests/{r}/inputs/{i}: the answer to a question that a tool asks.
 *  It must never answer 2xx before the answer is durable, nor log what was answered. */
import type { DirectiveClient } from '../../contract/directive-client.ts';
import {
  type InputAnswerBody,
  inputAnswerBodySchema,
  recordedAnswerSchema,
} from '../../contract/tool-question.ts';
import type { App } from '../app.ts';
import { problems } from '../openapi.ts';
import { inputParams, noQuery } from '../request-input.ts';

const answerSchema = {
  operationId: 'answerQuestion',
  summary: 'Answer a question that a tool asks',
  description:
    'The question is in `ai.tool.input_requested`, and in `inputs` of its directive while it is open. `content` of an accepted form ' +
    'fits its schema; absent members get the defaults of the schema. The first answer counts: the same again changes nothing, ' +
    'another one is refused (409) with who answered.',
  tags: ['directives'],
  params: inputParams,
  querystring: noQuery,
  body: inputAnswerBodySchema,
  response: {
    200: recordedAnswerSchema.describe('The answer is durable, and goes to the tool.'),
    ...problems(404, 409, 413, 415),
  },
};

export function inputRoutes(app: App, client: Pick<DirectiveClient, 'answer'>): void {
  app.post('/v1/requests/:request_id/inputs/:input_id', { schema: answerSchema }, async ({ params, body }) =>
    client.answer(params.request_id, params.input_id, body as InputAnswerBody),
  );
}
