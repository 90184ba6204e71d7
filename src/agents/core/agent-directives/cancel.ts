// cancel: cancels another request, or the agent's own run.
// Must never wait for the other request to end.
import { errorEnvelope } from '../../../contract/error-envelope.ts';
import type { Executed } from '../directive-exec.ts';
import { endRun } from '../lifecycle.ts';
import { count, type Run } from '../run-state.ts';
import type { AgentDirectiveOf } from './agent-executor.ts';

const REASON = 'cancelled by an agent';

export function cancel({ request_id }: AgentDirectiveOf<'cancel'>, run: Run): Executed<Run> {
  if (request_id === run.spec.request_id) {
    const error = errorEnvelope('cancelled', 'The agent cancelled its own run');
    endRun(run, { status: 'cancelled', error, reason: 'cancelled' });
    return { ok: true, state: run };
  }
  const id = `cancel-${count(run, 'named')}`;
  run.outbox = [...run.outbox, { id, kind: 'cancel_request', request_id, reason: REASON, asked_at: run.now }];
  return { async: true, ref: id, state: run };
}
