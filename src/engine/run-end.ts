// The end of a run as receivers of webhooks are notified of it.
// Must never show the strategy's inner state, nor wait for the end.
import { RUN_TYPE } from '../contract/end-notices.ts';
import { ownId, tenantOf } from '../contract/tenant.ts';
import { endPath, type EndStatusWord, type OnEnd, type RunEnded } from '../contract/webhook.ts';
import type { RunView } from '../contract/run.ts';
import type { EndState } from '../queue/notify.ts';
import { viewOf } from './run-client.ts';
import { NO_SIGNALS, type RunStore, type StoredRun } from './run-store.ts';
import type { EngineCore } from './transition.ts';

export function createRunEnds(store: Pick<RunStore, 'read'>, view: EngineCore['view']) {
  return async (requestId: string): Promise<EndState> => {
    const run = await store.read(requestId, NO_SIGNALS);
    if (run === null) return { kind: 'missing' };
    const { endedAt, begin, now } = run;
    if (endedAt === null) return { kind: 'open', since: begin?.at ?? now, beginsAt: begin?.at ?? null };
    const event = endedEvent(run, endedAt, viewOf(view, run));
    return { kind: 'ended', end: { type: RUN_TYPE, agent: run.agent, onEnd: namedBy(run), event } };
  };
}

/** [] stands for those of the rules. */
function namedBy({ spec: { on_end: onEnd } }: StoredRun): OnEnd | undefined {
  return Array.isArray(onEnd) && onEnd.length === 0 ? undefined : (onEnd as OnEnd | undefined);
}

function endedEvent({ requestId, traceparent }: StoredRun, endedAt: number, view: RunView): RunEnded {
  const ended_at = new Date(endedAt).toISOString();
  const { run_id, agent, conversation_id, termination_reason, iterations, tool_calls, usage, cost } = view;
  return {
    type: 'run.ended',
    timestamp: ended_at,
    data: {
      tenant: tenantOf(requestId),
      request_id: ownId(requestId),
      run_id,
      agent,
      status: statusOf(view.status),
      result: view.result ?? null,
      error: view.error ?? null,
      url: endPath(ownId(requestId), null),
      conversation_id,
      termination_reason,
      iterations,
      tool_calls,
      usage,
      cost,
      started_at: view.started_at,
      ended_at,
      traceparent,
    },
  };
}

function statusOf(status: RunView['status']): EndStatusWord {
  if (status === 'completed') return 'succeeded';
  return status === 'cancelled' ? 'cancelled' : 'failed';
}
