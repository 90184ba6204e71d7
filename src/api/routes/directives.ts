/** POST /v1/directives: a submission in, its acceptance (or, after a wait, its results) out.
 *  It must never answer 2xx before every directive is durable. */
import type * as z from 'zod';
import type { DirectiveClient, SubmitOptions } from '../../contract/directive-client.ts';
import { type ParsedDirective, parseSubmission, submissionBodySchema } from '../../contract/directive.ts';
import { TRACEPARENT_PATTERN } from '../../contract/signal-envelope.ts';
import { type Submission, submissionSchema } from '../../contract/submission.ts';
import type { App } from '../app.ts';
import { problems } from '../openapi.ts';
import { refusedAt } from '../refusal.ts';
import { submissionHeaders, waitQuery } from '../request-input.ts';
import { endOf, requesterSignal, type WaitOptions } from '../waiting.ts';

export interface DirectiveRouteOptions {
  readonly client: DirectiveClient;
  /** The most directives of one submission. */
  readonly batch: number;
  readonly stop: AbortSignal;
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
    ...problems(400, 404, 409, 413, 415, 429, 503),
  },
};

export function directiveRoutes(app: App, { client, batch, stop }: DirectiveRouteOptions): void {
  app.post('/v1/directives', { schema }, async (request, reply) => {
    const directives = readSubmission(request.body, batch);
    const submission = await client.submit(directives, submitOptions(request.headers));
    const waitMs = request.query.wait_ms;
    const answer =
      waitMs === undefined
        ? submission
        : await withResults(client, submission, { waitMs, signal: requesterSignal(reply.raw, stop) });
    const ended = waitMs !== undefined && answer.directives.every(({ result }) => result !== undefined);
    return reply
      .code(ended ? 200 : 202)
      .header('location', answer.links.request)
      .send(answer);
  });
}

function readSubmission(body: unknown, batch: number): ParsedDirective[] {
  const parsed = parseSubmission(body, { maxDirectives: batch });
  if (parsed.ok) return parsed.directives;
  throw refusedAt('invalid_body', parsed.errors);
}

function submitOptions(headers: z.output<typeof submissionHeaders>): SubmitOptions {
  const { 'idempotency-key': idempotencyKey, traceparent } = headers;
  return {
    ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    ...(traceparent !== undefined && TRACEPARENT_PATTERN.test(traceparent) ? { traceparent } : {}),
  };
}

async function withResults(
  client: DirectiveClient,
  submission: Submission,
  wait: WaitOptions,
): Promise<Submission> {
  const directives = submission.directives.map(async (entry) => {
    if (entry.result !== undefined) return entry;
    const result = await endOf(client, submission.request_id, entry.id, wait);
    return result === null ? entry : { ...entry, result };
  });
  return { ...submission, directives: await Promise.all(directives) };
}
