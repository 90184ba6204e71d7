/** POST /v1/requests, and what callers send to a run under way: input, decisions.
 *  It must never answer 2xx before the data is durable. */
import type { DirectiveClient, StartOptions } from '../../contract/directive-client.ts';
import {
  acceptedInputSchema,
  type ApprovalDecisionBody,
  approvalDecisionBodySchema,
  recordedDecisionSchema,
  type RunInputBody,
  runInputBodySchema,
  startedRunSchema,
  startRunBodySchema,
  type SubmittedRun,
} from '../../contract/run.ts';
import type { App } from '../app.ts';
import { problems } from '../openapi.ts';
import {
  callParams,
  noQuery,
  requestParams,
  type SubmissionHeaders,
  submissionHeaders,
  traceOf,
} from '../request-input.ts';

const startSchema = {
  operationId: 'startRun',
  summary: 'Start a run of an agent',
  description:
    'The answer comes when the run is durable; its signals report the progress, and `GET /v1/requests/{r}` shows it. ' +
    'The same `request_id` with the same content is the same run. With `dedupe`, `debounce` or `singleton` the answer names the run ' +
    'that stands for it, and says in `once` what became of this one; `replace` needs the scope `cancel`.',
  tags: ['runs'],
  headers: submissionHeaders,
  querystring: noQuery,
  body: startRunBodySchema,
  response: {
    202: startedRunSchema.describe('The run is durable and will end.'),
    ...problems(404, 409, 413, 415),
  },
};

const inputSchema = {
  operationId: 'giveInput',
  summary: 'Send input to a run under way',
  description:
    'The run reads it before its next model call, in the order of arrival. The same `input_id` is the same input. ' +
    '409 once the run has taken its last input.',
  tags: ['runs'],
  params: requestParams,
  querystring: noQuery,
  body: runInputBodySchema,
  response: {
    202: acceptedInputSchema.describe('The input is durable and will be read.'),
    ...problems(404, 409, 413, 415, 429),
  },
};

const decisionSchema = {
  operationId: 'decideCall',
  summary: 'Approve or deny a tool call that waits for it',
  description:
    'The model reads a denied call as an error. `arguments` approves the call with these instead. ' +
    'With the id of a budget, the decision is about going on beyond it.',
  tags: ['runs'],
  params: callParams,
  querystring: noQuery,
  body: approvalDecisionBodySchema,
  response: {
    200: recordedDecisionSchema.describe('The decision is durable.'),
    ...problems(404, 409, 413, 415),
  },
};

/** The client validates the bodies and names their faults. */
export function runRoutes(app: App, { runs }: Pick<DirectiveClient, 'runs'>): void {
  app.post('/v1/requests', { schema: startSchema }, async (request, reply) => {
    const started = await runs.start(request.body as SubmittedRun, optionsOf(request.headers));
    return reply.code(202).header('location', started.links.request).send(started);
  });

  app.post('/v1/requests/:request_id/input', { schema: inputSchema }, async (request, reply) => {
    const accepted = await runs.input(request.params.request_id, request.body as RunInputBody);
    return reply.code(202).send(accepted);
  });

  app.post(
    '/v1/requests/:request_id/approvals/:call_id',
    { schema: decisionSchema },
    async ({ params, body }) => runs.decide(params.request_id, params.call_id, body as ApprovalDecisionBody),
  );
}

function optionsOf({ 'idempotency-key': idempotencyKey, traceparent }: SubmissionHeaders): StartOptions {
  return {
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...traceOf(traceparent),
  };
}
