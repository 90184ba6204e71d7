// What is asked of the scripts that take jobs of a lane and claim their directives, and what they answer.
// Must never read a reply by its places, nor let a job come twice for one ask.
import { EARLY_SLACK_MS } from '../store/request/claim-request.ts';
import type { EndWithJob } from '../store/request/endings.ts';
import { namedIn, type ScriptReply } from '../store/scripts.ts';
import { type ClaimVerdict, claimVerdict } from '../store/request/verdicts.ts';
import { newClaimToken } from '../platform/telemetry/identifier.ts';
import type { Confirm } from './durability.ts';
import type { Handed } from './hand-over.ts';

/** How the directives of a lane are claimed as their jobs are taken. */
export interface ClaimingLane {
  leaseMs: number;
  /** The names of all keys of requests begin with it. */
  keyPrefix: string;
  /** Key that exists while the lane runs one call at a time: then nothing is claimed with its job; '' = it never does. */
  serial: string;
  /** The worker reports the first attempt itself, after the claim. */
  owesStart: boolean;
  /** The key of the sweep index. */
  sweep: string;
  /** Begun before each take; null = Redis' own durability. */
  confirm: () => Promise<Confirm | null>;
  /** Whether anything may be claimed now. */
  mayClaim(): boolean;
}

/** A job that came with its claim. */
export interface HeldJob {
  /** Of the claim: asking again with it is the same claim. */
  readonly token: string;
  /** null: it is not known to be durable, and is asked for again. */
  readonly verdict: ClaimVerdict | null;
  /** When it was asked for, by the process' monotonic clock, milliseconds. */
  readonly askedAt: number;
  /** Ends the directive and its job, and takes the next one. undefined: the job ends later, on its own. */
  readonly end: EndWithJob | undefined;
}

/** One ask for jobs. Sent again, it is the same ask. */
export interface Ask {
  readonly askedAt: number;
  readonly claims: boolean;
  /** As `ask_at` of include-take.lua reads them. `offers`: as in `PreparedOffers`; '' = no slot is offered. */
  words(offers: string): readonly (string | number)[];
}

export function askFor(
  { lane, lockMs, sweep }: { lane: string; lockMs: number; sweep: string },
  claiming: ClaimingLane | null,
): Ask {
  const claim =
    claiming === null
      ? ['', '', '', '', '', '']
      : [
          claiming.leaseMs,
          EARLY_SLACK_MS,
          claiming.keyPrefix,
          lane,
          claiming.serial,
          claiming.owesStart ? 1 : 0,
        ];
  const words = [newClaimToken(), lockMs, Date.now(), ...claim, sweep];
  return {
    askedAt: performance.now(),
    claims: claiming !== null,
    words: (offers) => [...words, offers],
  };
}

/** A job as it was taken. */
export interface JobFound {
  id: string;
  /** Token of its lock, and of its claim. */
  lock: string;
  /** JSON. */
  data: string;
  /** null: it came without one. */
  claim: ClaimVerdict | null;
}

/**
 * `slow`: BullMQ's own script decides. `none`: the lane is empty until `dueAt`, when a delayed job is due (0: there is none);
 * `offeredAt`: slots are offered since, by the clock of Redis, milliseconds. `done`: nothing was asked for. `kept`, `lost`: the job
 * did not end with its directive; another worker may have it.
 */
export type Found =
  | { kind: 'jobs'; jobs: JobFound[] }
  | { kind: 'none'; dueAt: number; offeredAt: number | null }
  | { kind: 'slow' | 'done' | 'kept' | 'lost' };

/** As include-take.lua answers. */
export function foundIn(reply: ScriptReply): Found {
  const { text, number, list } = namedIn(reply);
  const kind = text('kind') as Found['kind'];
  if (kind === 'jobs') return { kind, jobs: (list('jobs') as unknown as ScriptReply[]).map(jobIn) };
  if (kind === 'none') return { kind, dueAt: number('due_at'), offeredAt: number('offered_at') || null };
  return { kind };
}

function jobIn(reply: ScriptReply): JobFound {
  const { text, list } = namedIn(reply);
  const claim = list('claim');
  return { id: text('id'), lock: text('lock'), data: text('data'), claim: claim && claimVerdict(claim) };
}

/** The claim that came with a pushed job: the first of its directive. */
export function pushedClaim({ at, deadlineAt, owesStart }: Handed): ClaimVerdict {
  return {
    kind: 'granted',
    fence: 1,
    failures: 0,
    redeliveries: 0,
    lost: false,
    deadlineAt,
    now: at,
    released: 0,
    stage: '',
    dueAt: at,
    lostClaim: null,
    waits: [],
    task: null,
    asked: null,
    owesStart,
  };
}
