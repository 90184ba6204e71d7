// The effects of time: timers fire, approvals expire, the run reaches its deadline. Never fires a timer twice, nor one
// that the same turn has set.
import { errorEnvelope } from '../../contract/error-envelope.ts';
import { expireApprovals } from './approvals.ts';
import { endRun, endWithAnswer } from './lifecycle.ts';
import { emitSignal, type Run } from './run-state.ts';
import { step } from './step.ts';

export function tick(run: Run): void {
  if (run.state.asking_since === undefined && run.now >= run.state.deadline_at) {
    if (endWithAnswer(run, 'deadline_exceeded')) return;
    const ms = run.agent.limits.deadline_ms;
    const error = errorEnvelope('deadline_exceeded', `The run did not end within ${ms} ms`, {
      deadline_ms: ms,
    });
    return endRun(run, { status: 'timeout', error, reason: 'deadline_exceeded' });
  }
  expireApprovals(run);
  if (!run.state.ended) fireTimers(run);
}

function fireTimers(run: Run): void {
  const due = run.state.timers.filter((timer) => timer.due_at <= run.now);
  if (due.length === 0) return;
  run.state.timers = run.state.timers.filter((timer) => timer.due_at > run.now);
  for (const { id, message } of due.toSorted((left, right) => left.due_at - right.due_at)) {
    if (run.state.ended) return;
    const data = { timer_id: id, message, metadata: {} };
    emitSignal(run, { type: 'agent.scheduled', data });
    step(run, { type: 'agent.scheduled', data });
  }
}
