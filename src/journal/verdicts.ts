// What the journal's scripts answer, as values.
// Must never decide anything: a verdict says what the script did or refused.
import type { ScriptReply } from './scripts.ts';

export type EndStatus = 'succeeded' | 'failed';

export type AcceptVerdict =
  | { kind: 'ok'; acceptedAt: number; verdicts: ('accepted' | 'existing')[] }
  | { kind: 'conflict'; id: string; storedDigest: string };

export type ClaimVerdict =
  | {
      kind: 'granted';
      fence: number;
      failures: number;
      redeliveries: number;
      lost: boolean;
      deadlineAt: number;
      now: number;
      /** Claims before this one that were no attempts. */
      released: number;
      /** As the last `retry` with a move left it; '' before the first. */
      stage: string;
    }
  | { kind: 'held' | 'wait'; until: number }
  | { kind: 'cancelled'; lost: boolean }
  /** It waits or runs in another lane. */
  | { kind: 'moved'; lane: string }
  | { kind: 'expired' | 'unknown' | 'ended' | 'stale_body' };

export type FinishVerdict =
  | { kind: 'ended'; sequence: number; closed: boolean }
  | { kind: 'already'; status: EndStatus; terminal: number }
  | { kind: 'stale' | 'unknown' };

export type RetryVerdict =
  | { kind: 'waiting'; nextAttemptAt: number }
  | { kind: 'cancelled' | 'ended' | 'stale' | 'unknown' };

export type CancelVerdict =
  | { kind: 'ended' | 'requested' | 'unknown' }
  | { kind: 'already'; status: EndStatus };

export function claimVerdict(reply: ScriptReply): ClaimVerdict {
  const [kind, first, second, third, fourth, fifth, sixth, seventh, eighth] = reply;
  if (kind === 'granted') {
    return {
      kind,
      fence: Number(first),
      failures: Number(second),
      redeliveries: Number(third),
      lost: fourth === 1,
      deadlineAt: Number(fifth),
      now: Number(sixth),
      released: Number(seventh),
      stage: String(eighth),
    };
  }
  if (kind === 'held' || kind === 'wait') return { kind, until: Number(first) };
  if (kind === 'cancelled') return { kind, lost: first === 1 };
  if (kind === 'moved') return { kind, lane: String(first) };
  return { kind: kind as 'expired' | 'unknown' | 'ended' | 'stale_body' };
}

export function finishVerdict(reply: ScriptReply): FinishVerdict {
  if (reply[0] === 'ended') return { kind: 'ended', sequence: Number(reply[1]), closed: reply[2] === 1 };
  if (reply[0] === 'already')
    return { kind: 'already', status: reply[1] as EndStatus, terminal: Number(reply[2]) };
  return { kind: reply[0] as 'stale' | 'unknown' };
}
