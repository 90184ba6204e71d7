/** Runs over HTTP: start, input, decisions.
 *  It must never repeat input or a decision that may have arrived; a start is repeatable by its request id or idempotency key. */
import { approvalPath, requestPath } from '../contract/api-path.ts';
import type { RunClient } from '../contract/directive-client.ts';
import type { AcceptedInput, RecordedDecision, StartedRun } from '../contract/run.ts';
import type { Exchanger } from './exchange.ts';
import { submissionHeaders } from './submission-headers.ts';

export function createHttpRuns(exchanger: Exchanger): RunClient {
  return {
    start: async (run, options = {}) =>
      exchanger.json<StartedRun>({
        method: 'POST',
        path: '/v1/requests',
        headers: submissionHeaders(options),
        body: run,
      }),
    input: async (requestId, input) =>
      exchanger.json<AcceptedInput>({ method: 'POST', path: `${requestPath(requestId)}/input`, body: input }),
    decide: async (requestId, callId, decision) =>
      exchanger.json<RecordedDecision>({
        method: 'POST',
        path: approvalPath(requestId, callId),
        body: decision,
      }),
  };
}
