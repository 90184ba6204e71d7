// The steps around the decision about a submission under a key, of directives and of runs alike: its capacity before,
// its changes after. Never refuses for lack of capacity a submission that another one under the key may represent.
import { DirectiveRefused } from '../contract/problem.ts';
import type { SweepIndex } from '../store/index/sweep-index.ts';
import { leaveNothing, type LeaveTenant } from '../store/limits/tenant-room.ts';
import { FIRST_LOOK_MS } from '../queue/entrance.ts';
import { noticeRef } from './sweep/notice.ts';
import type { OnceAccepted } from './once-answer.ts';
import { BEHIND_LOOK_MS } from './sweep/sweep-decision.ts';

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
