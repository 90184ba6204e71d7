// What a job brings to its attempt where the lane's scripts do more than one step: the claim of its directive, and a way to end both.
// Must never hand a claim out twice, nor take a slot for what brings no claim.
import { randomBytes } from 'node:crypto';
import { EARLY_SLACK_MS } from '../journal/claim-request.ts';
import type { EndWithJob } from '../journal/endings.ts';
import type { ScriptReply } from '../journal/scripts.ts';
import { newShortId } from '../telemetry/identifier.ts';
import type { JobOutcome } from './consume.ts';
import type { Confirm } from './durability.ts';
import type { Handed, HandOver } from './hand-over.ts';
import type { JobData } from './job.ts';
import type { LaneOffers, OffersOptions } from './lane-offers.ts';
import { createRecentIds } from './recent-ids.ts';

/** A lane whose jobs bring the claim of their directive. */
export interface ClaimingLane {
  /** What is asked for with each job: `claimWords`. */
  words: readonly (string | number)[];
  /** The key of the sweep index. */
  sweep: string;
  /** Begun before each take; null = Redis' own durability. */
  confirm: () => Promise<Confirm | null>;
  /** Takes a slot for the attempt that a claim would begin; false: nothing may be claimed now. */
  reserve(): boolean;
  /** Whether another one may be claimed for the slot of an attempt that ends. */
  mayGoOn(): boolean;
  /** Gives a slot back for which no claim came. */
  release(): void;
  /** How its free slots are offered while nothing waits. Default: jobs are only taken. */
  offering?: Offering | undefined;
}

export interface Offering extends Pick<OffersOptions, 'leaseMs' | 'owesStart'> {
  /** Of this process. */
  handOver: HandOver;
  /** What the names of all keys of requests begin with. */
  keyPrefix: string;
  /** Slots that are neither taken nor waited for. */
  freeSlots(): number;
}

/** How directives are claimed as their jobs are taken. */
export interface ClaimOfJobs {
  lane: string;
  leaseMs: number;
  /** With what the names of all keys of requests begin. */
  keyPrefix: string;
  /** Key that is there while the lane runs one call at a time: then nothing is claimed ahead; '' = it never does. */
  serial: string;
  /** The worker reports the first attempt itself, after the claim. */
  owesStart: boolean;
}

export function claimWords({ leaseMs, keyPrefix, lane, serial, owesStart }: ClaimOfJobs) {
  return [leaseMs, EARLY_SLACK_MS, keyPrefix, lane, serial, owesStart ? 1 : 0];
}

/** A job that came with its claim, for a slot that is taken. */
export interface HeldJob extends JobEnd {
  /** Of the claim: asking again with it is the same claim. */
  readonly token: string;
  /** As include-claim.lua answers; null: it is not known to be durable, and is asked for again. */
  readonly reply: ScriptReply | null;
  /** When it was asked for, by the process' monotonic clock, milliseconds. */
  readonly askedAt: number;
}

/** The end of a job together with its directive. */
export interface JobEnd {
  /** Ends both, takes the next job and claims its directive. undefined: the job ends later, on its own. */
  readonly end: EndWithJob | undefined;
  /** The slot of the attempt has gone on to that of the next job. */
  slotPassed(): boolean;
}

/** The job ends on its own, after its directive. */
export const ENDS_LATER: JobEnd = { end: undefined, slotPassed: () => false };

/** What include-take.lua is given, and what came of it. */
export interface Take {
  readonly token: string;
  readonly askedAt: number;
  readonly claims: boolean;
  readonly place: string;
  /** `offers`: as in `PreparedOffers`; '' = no slot is offered. */
  args(offers: string): readonly (string | number)[];
}

/** As include-claim.lua answers for what nobody has claimed before. */
export function firstGrant({
  at,
  deadlineAt,
  owesStart,
}: Pick<Handed, 'at' | 'deadlineAt' | 'owesStart'>): ScriptReply {
  const [now, deadline] = [String(at), String(deadlineAt)];
  return ['granted', '1', 0, 0, 0, deadline, now, '0', '', now, 0, '', 0, '', '', '', owesStart ? 1 : 0];
}

/** What a job is as the scripts answer: kind, id, name, data, options, timestamp, attempts made, left. Its claim follows. */
const JOB_FIELDS = 8;

const CLAIMS_NOTHING = ['', '', '', '', '', ''];

/** What the lane is taken from with, beside what is claimed. */
export interface TakeBy {
  /** Token of the job's lock. */
  lock: string;
  lockMs: number;
  /** Where it is remembered what was taken; '' = nothing is taken. */
  place: string;
  /** The key of the sweep index, which an end writes to as well; '' = neither ends nor claims a directive. */
  sweep: string;
}

export function takeOf({ lock, lockMs, place, sweep }: TakeBy, claiming: ClaimingLane | null): Take {
  const token = newShortId();
  const claim = claiming === null ? CLAIMS_NOTHING : claiming.words;
  const words = [lock, lockMs, Date.now(), token, ...claim, sweep];
  const args: Take['args'] = (offers) => [...words, offers, place];
  return { token, askedAt: performance.now(), claims: claiming !== null, place, args };
}

/** Names for takes under way, as few as there are at once. */
export function createTakePlaces() {
  const own = randomBytes(9).toString('base64url');
  const free: string[] = [];
  let made = 0;
  return {
    take: (): string => free.pop() ?? `${own}.${(made += 1)}`,
    release: (place: string): void => void free.push(place),
  };
}

/** The take of its n-th job, from the second on: with a claim token of its own, as job-take.lua has it. */
export function nthTake(take: Take, nth: number): Take {
  return { ...take, token: `${take.token}.${nth}` };
}

/** The lock of the n-th job of a take: the tokens that BullMQ's worker gives out end in a number, and the next is one higher. */
export function nthLock(lock: string, nth: number): string {
  const at = lock.lastIndexOf(':') + 1;
  return nth === 1 ? lock : `${lock.slice(0, at)}${Number(lock.slice(at)) + nth - 1}`;
}

/** Longer than BullMQ holds a job that has ended. */
const RECENT_MS = 10_000;

export type LaneClaims = ReturnType<typeof createLaneClaims>;

export interface ConsumerParts {
  /** null = no slots are offered. */
  offers: LaneOffers | null;
  /** Handles a job that BullMQ's worker has not asked for yet. */
  handle(job: JobData, held: HeldJob): Promise<JobOutcome>;
  onError(error: Error): void;
}

const TAKES_ONLY: ConsumerParts = {
  offers: null,
  handle: async () => ({ kind: 'done' }),
  onError: () => {},
};

/** The jobs of one consumer that were claimed and are not begun, those that were handed over, and the answers for those that have ended. */
export function createLaneClaims(claiming: ClaimingLane, parts: ConsumerParts = TAKES_ONLY) {
  const { offers, handle, onError } = parts;
  const begun = new Map<string, Promise<JobOutcome>>();
  const held = new Map<string, HeldJob>();
  const ended = new Map<string, ScriptReply>();
  const ending = createRecentIds(RECENT_MS);
  const ready = createReadyJobs();

  /** Of a job that came with its claim; the slot for it is taken. */
  function hold(
    reply: ScriptReply,
    { token, askedAt }: Pick<Take, 'token' | 'askedAt'>,
    end: JobEnd,
    isDurable: boolean,
  ): void {
    const claim = isDurable ? reply.slice(JOB_FIELDS) : null;
    held.set(String(reply[1]), { token, askedAt, reply: claim, ...end });
  }

  return {
    ...claiming,
    offers,
    onError,
    hold,
    /** Without BullMQ's worker; the slot for it is taken. */
    begin(id: string, job: JobData, of: HeldJob): void {
      const outcome = handle(job, of);
      // Who asks for it hears of that.
      outcome.catch(() => {});
      begun.set(id, outcome);
    },
    /** Of a job that was handed over. Once; undefined: it was not. */
    begunJob(id: string): Promise<JobOutcome> | undefined {
      const outcome = begun.get(id);
      begun.delete(id);
      return outcome;
    },
    ready,
    holdAgain: (id: string, job: HeldJob): void => void held.set(id, job),
    /** Once for each; null: its directive is to be claimed. */
    heldJob(id: string): HeldJob | null {
      const job = held.get(id) ?? null;
      held.delete(id);
      return job;
    },
    /** From here on its lock may be gone: BullMQ renews it until it hears of the end. */
    noteEnding: ending.add,
    isEnding: ending.has,
    /** The job has ended together with its directive; `reply`: what was taken then. */
    noteEnded: (id: string, reply: ScriptReply): void => void ended.set(id, reply),
    hasEnded: (id: string): boolean => ended.has(id),
    /** undefined: it has not ended. */
    endedWith(id: string): ScriptReply | undefined {
      const reply = ended.get(id);
      ended.delete(id);
      return reply;
    },
  };
}

/** A job that was taken with others, under the lock with which BullMQ's worker asks for it. */
export interface ReadyJob {
  readonly lock: string;
  /** Others that it may have: it was asked for with each, and no answer came. */
  readonly tried?: readonly string[];
  /** It was handed over, under a lock of its own, and has begun. Default: it was taken. */
  readonly isHanded?: boolean;
  readonly reply: ScriptReply;
}

/** Jobs that were taken before BullMQ's worker asked for each of them: it asks at once, while it has free slots. */
function createReadyJobs() {
  const jobs: ReadyJob[] = [];
  let takes = 0;
  /** A take of several that is under way. */
  let arriving: Promise<void> | null = null;
  let waiting: (() => void)[] = [];
  let onAdded: PromiseWithResolvers<void> | undefined;

  function changed(): void {
    if (arriving !== null || jobs.length > 0) return;
    for (const resolve of waiting) resolve();
    waiting = [];
  }

  return {
    /**
     * What `take` resolves to is the first; the others, which it adds to `taken`, are ready from then on. `mayBeMore`: asked right before;
     * never beside another take, whose job may come without a claim: it would wait for a slot that the others have, where BullMQ's
     * worker has no place for them.
     */
    async during(
      take: (taken: ReadyJob[], mayBeMore: () => boolean) => Promise<ScriptReply>,
    ): Promise<ScriptReply> {
      takes += 1;
      const { promise, resolve } = Promise.withResolvers<void>();
      const mayBeMore = (): boolean => {
        if (takes === 1) arriving = promise;
        return takes === 1;
      };
      try {
        return await take(jobs, mayBeMore);
      } finally {
        takes -= 1;
        if (arriving === promise) arriving = null;
        resolve();
        changed();
      }
    },
    /** Until a take of several has ended. Whoever takes meanwhile would take more than there is room for. */
    async arrived(): Promise<void> {
      await arriving;
    },
    isArriving: (): boolean => arriving !== null,
    isNear: (): boolean => arriving !== null || jobs.length > 0,
    async anySoon(): Promise<boolean> {
      while (arriving !== null) await arriving;
      return jobs.length > 0;
    },
    next(): ReadyJob | undefined {
      const job = jobs.shift();
      if (job !== undefined) changed();
      return job;
    },
    /** Nobody has asked for it. */
    add(job: ReadyJob): void {
      jobs.push(job);
      onAdded?.resolve();
      onAdded = undefined;
    },
    /** Resolves when the next one is added. */
    added: (): Promise<void> => (onAdded ??= Promise.withResolvers<void>()).promise,
    /** It is the next one again. */
    putBack: (job: ReadyJob): void => void jobs.unshift(job),
    any: (): boolean => jobs.length > 0,
    /** Resolves when each has been asked for, and none is on its way. */
    async none(): Promise<void> {
      if (arriving !== null || jobs.length > 0)
        await new Promise<void>((resolve) => void waiting.push(resolve));
    },
  };
}

export function hasClaim(reply: ScriptReply): boolean {
  return reply[0] === 'job' && reply.length > JOB_FIELDS;
}
