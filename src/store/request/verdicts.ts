// The replies of the journal's scripts, as values. Never decides anything: a verdict is what the script did or refused.
import { identifierAt } from '../../platform/telemetry/identifier.ts';
import { type AskedRound, askedRound } from './asked-round.ts';
import { namedIn, type ScriptReply } from '../scripts.ts';

export type EndStatus = 'succeeded' | 'failed';

export type AcceptVerdict =
  /** `run`: of the run that has the end of an immediate one to read; null = there is none. */
  | { kind: 'ok'; acceptedAt: number; run: number | null; verdicts: ('accepted' | 'existing')[] }
  | { kind: 'conflict'; id: string; storedDigest: string }
  /** `bytes`: what the request holds already. */
  | { kind: 'no_room'; bytes: number };

/** The claim of a worker that died. */
export interface LostClaim {
  fence: number;
  /** Milliseconds since the epoch, by the clock of that worker; null: unknown. */
  claimedAt: number | null;
  /** The end of its lease, by the clock of Redis. */
  until: number;
}

export type ClaimVerdict =
  | {
      kind: 'granted';
      fence: number;
      failures: number;
      redeliveries: number;
      /** An attempt may have been under way, and its worker is gone. */
      lost: boolean;
      deadlineAt: number;
      now: number;
      /** Claims before this one that were no attempts. */
      released: number;
      /** As the last `retry` with a move left it; '' before the first. */
      stage: string;
      /** When the attempt could have begun, by the clock of Redis. */
      dueAt: number;
      /** null: no worker died. Of one that died before its attempt began, too: then nothing is `lost`. */
      lostClaim: LostClaim | null;
      /** The reasons of its waits since its last claim, as far as they were noted. */
      waits: readonly string[];
      /** As `keepTask` left it, for the attempt to ask for its end; null: the call is to be made. */
      task: string | null;
      /** The questions of its tool in an earlier attempt; null: none. */
      asked: AskedRound | null;
      /** The claim came with its job, and the first attempt is to be reported with `reportStart`. */
      owesStart: boolean;
    }
  | { kind: 'held' | 'wait'; until: number }
  /** `lost` and `lostClaim`: as above. */
  | { kind: 'cancelled'; lost: boolean; lostClaim: LostClaim | null; task: string | null }
  /** `isTooLate`: it was to begin by an instant that has passed; else its deadline has. */
  | { kind: 'expired'; isTooLate: boolean; lost: boolean; lostClaim: LostClaim | null; task: string | null }
  /** It waits or runs in another lane. */
  | { kind: 'moved'; lane: string }
  /** `run`: of the run that has not read this end yet; null = there is none. */
  | { kind: 'ended'; run: number | null; task: string | null }
  | { kind: 'unknown' | 'stale_body' };

/** `run`: the version of the run that goes on from this end; null = there is none. */
export type FinishVerdict =
  | { kind: 'ended'; sequence: number; closed: boolean; run: number | null }
  | { kind: 'already'; status: EndStatus; terminal: number; run: number | null }
  /** Size of the request: a small end is written in any case. */
  | { kind: 'no_room'; bytes: number }
  | { kind: 'stale' | 'unknown' };

export type RetryVerdict =
  | { kind: 'waiting'; nextAttemptAt: number }
  | { kind: 'cancelled' | 'ended' | 'stale' | 'unknown' };

export type CancelVerdict =
  | { kind: 'ended'; run: number | null }
  /** `running`: an attempt is under way, and was to be spared. `changed`: it is no longer as it was seen, and has not ended. */
  | { kind: 'requested' | 'running' | 'changed' | 'unknown' }
  | { kind: 'already'; status: EndStatus };

export function acceptVerdict([kind, first, second, ...verdicts]: ScriptReply): AcceptVerdict {
  if (kind === 'conflict') return { kind, id: String(first), storedDigest: String(second) };
  if (kind === 'no_room') return { kind, bytes: Number(first) };
  const run = runVersion(second);
  return { kind: 'ok', acceptedAt: Number(first), run, verdicts: verdicts as ('accepted' | 'existing')[] };
}

export function claimVerdict(reply: ScriptReply): ClaimVerdict {
  const { text, number, flag } = namedIn(reply);
  const kind = text('kind');
  const lost = number('lost');
  const lostClaim = lost > 0 ? lostClaimIn(reply) : null;
  const task = text('task') || null;
  switch (kind) {
    case 'granted':
      return {
        kind,
        fence: number('fence'),
        failures: number('failures'),
        redeliveries: number('redeliveries'),
        lost: lost === 1,
        deadlineAt: number('deadline_at'),
        now: number('now'),
        released: number('released'),
        stage: text('stage'),
        dueAt: number('due_at'),
        lostClaim,
        waits: waitsBefore(number('fence'), text('waits')),
        task,
        asked: askedRound(text('asked')),
        owesStart: flag('owes_start'),
      };
    case 'held':
    case 'wait':
      return { kind, until: number('until') };
    case 'cancelled':
    case 'expired':
      return { kind, isTooLate: flag('too_late'), lost: lost === 1, lostClaim, task };
    case 'moved':
      return { kind, lane: text('lane') };
    case 'ended':
      return { kind, run: runVersion(number('run')), task };
    default:
      return { kind: kind as 'unknown' | 'stale_body' };
  }
}

function lostClaimIn(reply: ScriptReply): LostClaim {
  const { text, number } = namedIn(reply);
  return {
    fence: number('lost_fence'),
    claimedAt: identifierAt(text('lost_token')),
    until: number('lost_until'),
  };
}

const WAITS = /^(\d+) (\S+) \S+ (\S*)$/;

/** `stored`: as include-wait.lua writes it. The reasons are not kept by claim: before the first one each is of this wait. */
function waitsBefore(fence: number, stored: string): string[] {
  const [, at, last = '', said = ''] = WAITS.exec(stored) ?? [];
  if (at === undefined || Number(at) !== fence - 1) return [];
  return fence === 1 ? said.split(',').filter((reason) => reason !== '') : [last];
}

/** The version of a run as scripts answer it; -1 represents none. */
export function runVersion(value: string | number | undefined): number | null {
  return value === undefined || Number(value) < 0 ? null : Number(value);
}

export function finishVerdict(reply: ScriptReply): FinishVerdict {
  const { text, number, flag } = namedIn(reply);
  const kind = text('kind');
  const run = flag('woken') ? null : runVersion(number('run'));
  if (kind === 'ended') return { kind, sequence: number('sequence'), closed: flag('closed'), run };
  if (kind === 'already')
    return { kind, status: text('status') as EndStatus, terminal: number('terminal'), run };
  if (kind === 'no_room') return { kind, bytes: number('bytes') };
  return { kind: kind as 'stale' | 'unknown' };
}
