// The end of a run as receivers of webhooks are notified of it.
// Must never show the strategy's inner state, nor wait for the end.
import { RUN_TYPE } from '../../contract/signal/end-notices.ts';
import { ownId, tenantOf } from '../../contract/access/tenant.ts';
import { runEndedEvent } from '../../contract/signal/webhook-event.ts';
import type { EndState } from '../../directives/sweep/notify.ts';
import type { RunJournal } from '../../store/run/run-journal.ts';
import { viewOf } from '../run-client.ts';
import { NO_SIGNALS, type RunStore } from './run-store.ts';
import type { EngineCore } from './transition.ts';

/** `runs`: what is open is known without its document. */
export function createRunEnds(
  runs: Pick<RunJournal, 'head'>,
  store: Pick<RunStore, 'read'>,
  view: EngineCore['view'],
) {
  return async (requestId: string): Promise<EndState> => {
    const head = await runs.head(requestId);
    if (head !== null && !head.ended)
      return { kind: 'open', since: head.changedAt, beginsAt: head.begin?.at ?? null };
    const run = head && (await store.read(requestId, NO_SIGNALS));
    if (run === null || run.endedAt === null) return { kind: 'missing' };
    const { endedAt } = run;
    const event = runEndedEvent(viewOf(view, run), {
      requestId: ownId(requestId),
      tenant: tenantOf(requestId),
      ended_at: new Date(endedAt).toISOString(),
      traceparent: run.traceparent,
    });
    return { kind: 'ended', end: { type: RUN_TYPE, agent: run.agent, onEnd: run.spec.on_end, event } };
  };
}
