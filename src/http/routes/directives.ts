/** POST /v1/directives: takes a submission, returns its acceptance (or, after a wait, its results).
 *  Never answers 2xx before every directive is durable. */
import type { DirectiveClient } from '../../contract/directive/directive-client.ts';
import type { SubmittedDirective } from '../../contract/directive/directive.ts';
import { refusedAt } from '../../contract/json/field-error.ts';
import type { App } from '../app.ts';
import { serve, submissionOptions } from '../served-operation.ts';
import type { RequesterSignal } from '../waiting.ts';

export function directiveRoutes(app: App, client: DirectiveClient, requester: RequesterSignal): void {
  serve(app, 'submit', async (request, reply) => {
    const waitMs = request.query.wait_ms;
    const waiting = waitMs === undefined ? {} : { waitMs, signal: requester(reply.raw) };
    const answer = await client.submit(submissionOf(request.body), {
      ...submissionOptions(request.headers),
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
