// The answer to a submission under a key, of directives and of runs alike. Never shows an id as another tenant knows
// it.
import { ownId } from '../contract/access/tenant.ts';
import type { Once, OnceAnswer } from '../contract/directive/once.ts';
import { type FieldError, type Problem, problem } from '../contract/problem.ts';
import type { OnceRef, OnceVerdict } from '../store/request/once.ts';
import { instant } from '../queue/instant.ts';
import { RUN_ENTRY } from '../queue/run-wake.ts';

export type OnceAccepted = Extract<OnceVerdict, { kind: 'ok' }>;

/** Why one is cancelled that is replaced. */
export const REPLACED = 'replaced: another one was submitted under its key';

/** Within its window, what counts can be read. */
export function keptErrors(once: Once, keptMs: number): FieldError[] {
  if (once.kind !== 'dedupe' || once.windowMs <= keptMs) return [];
  const message = `must be at most ${keptMs}: so long an answer is kept (retention.closed_ms)`;
  return [{ path: 'dedupe.window_ms', message }];
}

export function answerOf({ outcome, untilAt, replaces }: OnceAccepted): OnceAnswer {
  return {
    outcome,
    until: instant(untilAt),
    ...(replaces === null ? {} : { replaces: shown(replaces) }),
  };
}

/** A run has the id of its request. */
function shown({ requestId, id }: OnceRef): { request_id: string; id: string } {
  const request_id = ownId(requestId);
  return { request_id, id: id === RUN_ENTRY ? request_id : id };
}

export function openProblem({ of, deadlineAt }: Extract<OnceVerdict, { kind: 'open' }>): Problem {
  const open = shown(of);
  const until = instant(deadlineAt);
  const name = of.id === RUN_ENTRY ? `the run ${open.request_id}` : `${open.request_id}/${open.id}`;
  const detail = `${name} is open under this key, until ${until} at most; nothing was accepted`;
  return problem('singleton_open', { detail, open, until });
}

export function keyConflict(): Problem {
  const detail = 'this idempotency key was used with other content; nothing was accepted';
  return problem('idempotency_conflict', { detail });
}
