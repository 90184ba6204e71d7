// The outcome of a claimed directive whose last worker died with its claim. Never reports that a call may have happened
// that provably did not begin.
import type { JobOutcome } from '../../queue/consume.ts';
import { reportLostBefore } from './attempt-spans.ts';
import { type AttemptParts, type Claimed, repeatPolicyOf } from './claimed.ts';
import { lostAttemptError } from './outcome.ts';
import { recordLost } from '../record/record.ts';

/** null: no worker died, or another attempt is made. */
export async function endLost(parts: AttemptParts, claimed: Claimed): Promise<JobOutcome | null> {
  const { lost, lostClaim, redeliveries, task } = claimed.granted;
  if (lostClaim === null) return null;
  reportLostBefore(parts, claimed);
  const repeatPolicy = await repeatPolicyOf(claimed);
  // @guard known-task
  const error = lostAttemptError(repeatPolicy, redeliveries, task !== null, lost);
  return error && recordLost(parts, claimed, error, repeatPolicy);
}
