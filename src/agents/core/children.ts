// Child runs: started with deterministic ids, and followed until they end. Accepts signals of a child only from that
// child's own run.
import { hash } from 'node:crypto';
import { errorEnvelope } from '../../contract/error-envelope.ts';
import { ID_PATTERN } from '../../contract/identifiers.ts';
import type { RunOverrides } from '../../contract/run/run.ts';
import { endRun, isAlive } from './lifecycle.ts';
import { type Child, count, emitSignal, type Run } from './run-state.ts';

/** Generations below the first run; a deeper child is not started. */
const MAX_DEPTH = 8;

export interface NewChild {
  agent: string;
  tag: string;
  input: unknown;
  overrides?: RunOverrides;
}

/** Null when the child will be started, else why not. */
export function spawnChild(run: Run, { agent, tag, input, overrides = {} }: NewChild): string | null {
  const depth = (run.spec.parent?.depth ?? 0) + 1;
  if (depth > MAX_DEPTH) return 'too_deep';
  if (run.state.children.some((child) => child.tag === tag && isAlive(child.status))) return 'tag_in_use';
  const nth = count(run, 'named');
  const requestId = childRequestId(run.spec.request_id, nth);
  run.state.children = [...run.state.children, { tag, request_id: requestId, agent, status: 'starting' }];
  run.outbox = [
    ...run.outbox,
    {
      id: `child-${nth}`,
      kind: 'start_child',
      child_request_id: requestId,
      tag,
      agent,
      input,
      overrides,
      depth,
    },
  ];
  return null;
}

/** The same for every repeat of the turn; short enough at any depth. */
function childRequestId(parentId: string, nth: number): string {
  const plain = `${parentId}.c${nth}`;
  if (ID_PATTERN.test(plain)) return plain;
  return `c${nth}-${hash('sha256', plain, 'hex').slice(0, 40)}`;
}

/** The child with this request, if its end was not known yet. */
export function noteExit(run: Run, requestId: string, status: string): Child | null {
  const child = run.state.children.find((known) => known.request_id === requestId);
  if (!child || !isAlive(child.status)) {
    count(run, 'stale');
    return null;
  }
  setStatus(run, requestId, status);
  return child;
}

function setStatus(run: Run, requestId: string, status: string): void {
  run.state.children = run.state.children.map((child) =>
    child.request_id === requestId ? { ...child, status } : child,
  );
}

/** Reports a child once its run is durable; not a child that has ended before. */
export function noteStart(run: Run, requestId: string): void {
  const child = run.state.children.find((known) => known.request_id === requestId);
  if (child?.status !== 'starting') return;
  setStatus(run, requestId, 'running');
  const { tag, agent } = child;
  const data = { tag, child_request_id: requestId, agent, metadata: {} };
  emitSignal(run, { type: 'agent.child.started', data });
}

/** Applies the run's policy for the end of its parent; true: the strategy reads the signal, too. */
export function noteParentExit(run: Run, parentId: string, reason: string): boolean {
  if (run.spec.parent?.request_id !== parentId || run.state.orphan) {
    count(run, 'stale');
    return false;
  }
  const policy = run.agent.policies.parent_death;
  if (policy === 'stop') {
    const error = errorEnvelope('cancelled', 'The parent run has ended', {
      reason: 'parent_exit',
      parent: reason,
    });
    endRun(run, { status: 'cancelled', error, reason: 'parent_exit' });
    return false;
  }
  run.state.orphan = policy === 'orphan';
  return policy === 'orphan';
}
