// stop_child: ends a child run; its exit is reported like any other.
// Must never fail when there is no such child: it may just have ended.
import type { Executed } from '../directive-exec.ts';
import { isAlive } from '../lifecycle.ts';
import { count, type Run } from '../run-state.ts';
import type { AgentDirectiveOf } from './agent-executor.ts';

export function stopChild({ tag, reason }: AgentDirectiveOf<'stop_child'>, run: Run): Executed<Run> {
  const child = run.state.children.find((known) => known.tag === tag && isAlive(known.status));
  if (!child) return { ok: true, state: run };
  const id = `stop-${count(run, 'named')}`;
  const { request_id } = child;
  run.outbox = [...run.outbox, { id, kind: 'cancel_request', request_id, reason, asked_at: run.now }];
  return { async: true, ref: id, state: run };
}
