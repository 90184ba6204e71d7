/** POST /v1/directives: takes a submission, returns its acceptance (or, after a wait, its results).
 *  It must never answer 2xx before every directive is durable. */
import type * as z from 'zod';
import type { DirectiveClient, SubmitOptions } from '../../contract/directive-client.ts';
import { type SubmittedDirective, submissionBodySchema } from '../../contract/directive.ts';
import { refusedAt } from '../../contract/field-sentence.ts';
import { TRACEPARENT_PATTERN } from '../../contract/signal-envelope.ts';
import { submissionSchema } from '../../contract/submission.ts';
import type { App } from '../app.ts';
import { problems } from '../openapi.ts';
import { submissionHeaders, waitQuery } from '../request-input.ts';
import type { RequesterSignal } from '../waiting.ts';

export interface DirectiveRouteOptions {
  readonly client: DirectiveClient;
  readonly requester: RequesterSignal;
}

const schema = {
  operationId: 'submitDirectives',
  summary: 'Submit one directive or several; all are accepted or none',
  description:
    'With `Idempotency-Key` a repeated submission is the same submission. With `wait_ms` the answer is 200 and ' +
    'holds the results when every directive ended in time, and 202 otherwise.',
  tags: ['directives'],
  headers: submissionHeaders,
  querystring: waitQuery,
  body: submissionBodySchema,
  response: {
    200: submissionSchema.describe('Every directive has ended; each holds its result.'),
    202: submissionSchema.describe('Every directive is durable and will end.'),
    ...problems(404, 409, 413, 415, 429),
  },
};

export function directiveRoutes(app: App, { client, requester }: DirectiveRouteOptions): void {
  app.post('/v1/directives', { schema }, async (request, reply) => {
    const waitMs = request.query.wait_ms;
    const waiting = waitMs === undefined ? {} : { waitMs, signal: requester(reply.raw) };
    const answer = await client.submit(submissionOf(request.body), {
      ...submitOptions(request.headers),
      ...waiting,
    });
    const ended = waitMs !== undefined && answer.directives.every(({ result }) => result !== undefined);
    return reply
      .code(ended ? 200 : 202)
      .header('location', answer.links.request)
      .send(answer);
  });
}

/** The client validates the body and names its faults; but it would accept a bare list. */
function submissionOf(body: unknown): SubmittedDirective {
  if (!Array.isArray(body)) return body as SubmittedDirective;
  const message = 'must be a directive or {"directives": [...]}';
  throw refusedAt('invalid_body', [{ path: '', message }]);
}

function submitOptions(headers: z.output<typeof submissionHeaders>): SubmitOptions {
  const { 'idempotency-key': idempotencyKey, traceparent } = headers;
  return {
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(traceparent !== undefined && TRACEPARENT_PATTERN.test(traceparent) ? { traceparent } : {}),
  };
}
