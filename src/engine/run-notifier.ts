// Tells a run something: a signal in its log and its inbox, and a ring.
// Must never ring before the signal is written.
import type { SendVerdict, RunJournal } from '../journal/run-journal.ts';
import type { WakeRun } from '../queue/run-wake.ts';
import { runSignal } from './run-signal.ts';
import type { EmittedSignal } from './transition.ts';

export interface Notification {
  /** The same at every repeat. */
  name: string;
  digest: string;
  /** The most inputs that may wait; null: it is no input. */
  limit: number | null;
  signal: EmittedSignal;
}

export interface NotificationOrigin {
  cause: string;
  /** Of who tells it; absent = the run's own. */
  traceparent?: string;
}

export type RunNotifier = ReturnType<typeof createRunNotifier>;

export function createRunNotifier(runs: RunJournal, wake: WakeRun) {
  async function notify(
    requestId: string,
    { signal, ...telling }: Notification,
    { cause, traceparent }: NotificationOrigin,
  ): Promise<SendVerdict> {
    const trace = traceparent ?? (await runs.traceparent(requestId));
    if (trace === null) return { kind: 'unknown' };
    const drafted = runSignal(signal, { requestId, cause, traceparent: trace, now: Date.now() });
    const verdict = await runs.send({ requestId, ...telling, signal: drafted });
    if (verdict.kind === 'sent') await wake(requestId, verdict.version);
    return verdict;
  }

  /** Asks a run to end; false when the request has no run that could. The first reason stands. */
  async function cancel(requestId: string, reason: string | null): Promise<boolean> {
    const signal: EmittedSignal = {
      type: 'ai.request.cancel_requested',
      data: { request_id: requestId, reason },
    };
    const telling = { name: 'cancel', digest: '', limit: null, signal };
    const told = await notify(requestId, telling, { cause: requestId });
    return told.kind === 'sent' || told.kind === 'existing';
  }

  return { notify, cancel };
}
