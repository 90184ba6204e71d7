// Notifies a run: writes a signal to its log and its unread list, then wakes it.
// Must never wake a run before the signal is written.
import { ownId } from '../contract/access/tenant.ts';
import type { SendVerdict, RunJournal } from '../store/run/run-journal.ts';
import type { SweepIndex } from '../store/index/sweep-index.ts';
import { RUN_ENTRY, type WakeRun } from '../queue/run-wake.ts';
import { SHORTEST_LOOK_MS } from '../directives/sweep/sweep-decision.ts';
import { runSignal } from './run-signal.ts';
import type { EmittedSignal } from './turn/transition.ts';

/** The name of a request to end the run. */
export const CANCEL = 'cancel';

export interface Notification {
  /** The same at every repeat. */
  name: string;
  digest: string;
  /** The most inputs that may wait; null: the signal is not an input. */
  limit: number | null;
  signal: EmittedSignal;
}

export interface NotificationOrigin {
  cause: string;
  /** Trace of the sender; absent = the run's own. */
  traceparent?: string;
}

export type RunNotifier = ReturnType<typeof createRunNotifier>;

export function createRunNotifier(runs: RunJournal, wake: WakeRun, index: Pick<SweepIndex, 'lookWithin'>) {
  async function notify(
    requestId: string,
    { signal, ...notification }: Notification,
    { cause, traceparent }: NotificationOrigin,
  ): Promise<SendVerdict> {
    const trace = traceparent ?? (await runs.traceparent(requestId));
    if (trace === null) return { kind: 'unknown' };
    const drafted = runSignal(signal, { requestId, cause, traceparent: trace, now: Date.now() });
    const verdict = await runs.send({ requestId, ...notification, signal: drafted });
    if (verdict.kind === 'sent') await wake(requestId, verdict.version);
    return verdict;
  }

  /** Asks a run to end; false when the request has no run, or it has ended. The first reason stays. */
  async function cancel(requestId: string, reason: string | null): Promise<boolean> {
    const signal: EmittedSignal = {
      type: 'ai.request.cancel_requested',
      data: { request_id: ownId(requestId), reason },
    };
    const notification = { name: CANCEL, digest: '', limit: null, signal };
    const head = await runs.head(requestId);
    // Before its instant no sweeper looks at it: who dies here has it looked at soon.
    if (head?.status === 'pending' && head.begin !== null)
      await index.lookWithin({ requestId, id: RUN_ENTRY }, SHORTEST_LOOK_MS);
    const verdict = await notify(requestId, notification, { cause: ownId(requestId) });
    return verdict.kind === 'sent' || verdict.kind === 'existing';
  }

  return { notify, cancel };
}
