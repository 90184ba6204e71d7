// A submission under a key, of a directive or a run, around the script that decides: the bounds before it, its answer and
// the changes after it. Must never refuse because of bounds what another submission under the key may represent, nor show
// an id as another tenant knows it.
import { ownId } from '../contract/access/tenant.ts';
import type { Once, OnceAnswer } from '../contract/directive/once.ts';
import { DirectiveRefused, type FieldError, type Problem, problem } from '../contract/problem.ts';
import type { OnceRef, OnceVerdict } from '../store/request/once.ts';
import type { SweepIndex } from '../store/index/sweep-index.ts';
import { leaveNothing, type LeaveTenant } from '../store/limits/tenant-room.ts';
import { FIRST_LOOK_MS } from '../queue/entrance.ts';
import { instant } from '../queue/instant.ts';
import { RUN_ENTRY } from '../queue/run-wake.ts';
import { noticeRef } from './sweep/notice.ts';
import { BEHIND_LOOK_MS } from './sweep/sweep-decision.ts';

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

/** `full`: why it may not begin; what counts under its key may stand for it all the same. */
export interface Room {
  readonly full: unknown;
  readonly leave: LeaveTenant;
}

export async function roomOrReason(reserved: Promise<LeaveTenant>): Promise<Room> {
  try {
    return { full: null, leave: await reserved };
  } catch (error) {
    if (!(error instanceof DirectiveRefused)) throw error;
    return { full: error, leave: leaveNothing };
  }
}

/** Work that the sweeper would do later. `noticed`: a receiver may be notified of the end of the submission. */
export async function followDecision(
  index: Pick<SweepIndex, 'announce' | 'lookWithin'>,
  { of, outcome, waits, replaces }: OnceAccepted,
  noticed: boolean,
  cancel: (replaced: NonNullable<OnceAccepted['replaces']>) => Promise<unknown>,
): Promise<void> {
  // In steps: the content that took the place may be the first one of which somebody is notified.
  if (noticed && waits && outcome === 'debounced')
    await index.announce([noticeRef(of.requestId, of.id)], FIRST_LOOK_MS);
  if (waits) await index.lookWithin(of, BEHIND_LOOK_MS).catch(() => {});
  if (replaces) await cancel(replaces).catch(() => {});
}
