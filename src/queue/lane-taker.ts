// Takes and ends the jobs of a lane by our scripts, with the claims of their directives where the worker claims as it takes.
// Must never let a repeat of a take, after a lost connection, be another take than it was.
import type { EndWithJob } from '../journal/endings.ts';
import type { RunScript, ScriptReply } from '../journal/scripts.ts';
import type { Handed } from './hand-over.ts';
import type { JobData } from './job.ts';
import type { KnownEmpty } from './known-empty.ts';
import { firstGrant, hasClaim, type JobEnd, type LaneClaims, type Take } from './lane-claims.ts';
import { createLaneTakes } from './lane-takes.ts';
import { createLockNames } from './lock-names.ts';
import { createSeveralJobs } from './several-jobs.ts';

export interface LaneTakerOptions {
  /** Of the lane's keys. */
  base: string;
  run: RunScript;
  lockMs: number;
  known: KnownEmpty;
  /** null: what is taken is not claimed. */
  claims: LaneClaims | null;
}

export type LaneTaker = ReturnType<typeof createLaneTaker>;

/** A job whose directive is dealt with. `failure`: type and message of the error in which it ended. */
interface EndedJob {
  id: string;
  failure?: string;
}

/** What is taken is a job as include-job.lua says it, or why there is none. */
export function createLaneTaker({ base, run, lockMs, known, claims }: LaneTakerOptions) {
  const locks = createLockNames();
  const takes = createLaneTakes({ lockMs, known, claims, endOf });
  const several = createSeveralJobs({ base, run, lockMs, claims, endOf });

  /** `isOne`: no more than one, as where nobody would ask for the others soon. */
  async function take(token: string, isOne = false): Promise<ScriptReply> {
    const lock = locks.of(token);
    if (claims === null)
      return takes.taking(lock, (asked) => run('job-take', [base], [...asked.args(''), 1]));
    while (claims.ready.isArriving()) await claims.ready.arrived();
    const ready = claims.ready.next();
    if (ready?.isHanded) return locks.rename(token, ready.lock, ready.reply);
    if (ready !== undefined) return several.asked(ready, lock, claims);
    return claims.ready.during(async (jobs, mayBeMore) =>
      takes.taking(lock, async (asked, confirm) => {
        const mayOffer = confirm === null;
        const areMore = !isOne && mayOffer && asked.claims && mayBeMore();
        return several.take(asked, lock, { mayBeMore: areMore, mayOffer, ready: jobs });
      }),
    );
  }

  /** Ends a job whose directive is dealt with. */
  async function done(
    token: string,
    { id, failure = '' }: EndedJob,
    takesNext: boolean,
  ): Promise<ScriptReply> {
    const lock = locks.of(token);
    if (!takesNext || claims?.ready.isNear()) {
      const reply = await run('job-done', [base], [id, failure, 0, ...takes.takeBy(lock, '', null).args('')]);
      return takesNext && reply[0] === 'done' ? take(token, true) : reply;
    }
    const next = async (asked: Take, mayOffer: boolean): Promise<ScriptReply> =>
      takes.offering(mayOffer, async (offered) =>
        run('job-done', [base], [id, failure, 1, ...asked.args(offered)]),
      );
    const taking = (): Promise<ScriptReply> =>
      takes.taking(lock, async (asked, confirm) => next(asked, confirm === null && asked.claims));
    return claims === null ? taking() : claims.ready.during(taking);
  }

  /** However often it is asked for, it is one end, and takes one job. */
  function endOf(lock: string, id: string): JobEnd {
    let next: Take | undefined;
    let answer: ScriptReply | undefined;
    let slotPassed = false;
    async function end(...[keys, args, { texts, failure }]: Parameters<EndWithJob>): Promise<ScriptReply> {
      if (answer !== undefined) return answer;
      next ??= takes.takeBy(lock, takes.places.take(), claims?.mayGoOn() ? claims : null);
      claims?.noteEnding(id);
      const learn = known.asked();
      const asked = next;
      let verdict: ScriptReply = [];
      const taken = await takes.offering(asked.claims, async (offered) => {
        const given = [...args, id, failure, asked.claims ? 1 : 0, ...asked.args(offered), ...texts];
        const [ended = [], then = []] = pairOf(await run('job-end', [...keys, base], given));
        verdict = ended;
        return then;
      });
      takes.places.release(asked.place);
      answer = verdict;
      if (taken[0] === 'kept' || taken[0] === 'lost') return verdict;
      claims?.noteEnded(id, learn(taken));
      if (hasClaim(taken)) await takes.hold(lock, taken, asked, null);
      slotPassed = hasClaim(taken);
      return verdict;
    }
    return { end, slotPassed: () => slotPassed };
  }

  return {
    take,
    done,
    takeHanded: async (handed: Handed) => claims && takeHanded({ claims, run, base, endOf }, handed),
    /** Resolves when a job was handed over. */
    handed: async (): Promise<void> => claims?.ready.added() ?? new Promise(() => {}),
    /** The lock that a job has, by the token of BullMQ's worker. */
    lockOf: locks.of,
    /** The worker has no job under the token any more. */
    forgetLock: locks.forget,
    /** Whether a take is answered at once. */
    hasReady: (): boolean => claims?.ready.any() ?? false,
    /** The same, once those have come that are on their way. */
    willHaveReady: async (): Promise<boolean> => claims?.ready.anySoon() ?? false,
    /** What was taken when a job ended together with its directive; undefined: it has not. */
    endedWith: (id: string): ScriptReply | undefined => claims?.endedWith(id),
  };
}

/**
 * Begins at once, and is what BullMQ's worker asks for next, which then waits for its end. Where no slot is free for it, another worker
 * takes it.
 */
async function takeHanded({ claims, run, base, endOf }: HandedParts, handed: Handed): Promise<void> {
  const { offers, offering } = claims;
  if (offers === null || offering === undefined) return;
  offers.used(handed);
  const lock = `${offers.process}.${handed.slot}`;
  const job = JSON.parse(handed.data) as JobData;
  if (claims.mayGoOn() && claims.reserve()) {
    const asked = { token: lock, askedAt: offers.instantOf(handed.at) };
    claims.begin(handed.name, job, { ...asked, reply: firstGrant(handed), ...endOf(lock, handed.name) });
    return claims.ready.add({ lock, reply: takenOf(handed, job), isHanded: true });
  }
  await run('offer-return', [base], [handed.name, lock, offering.keyPrefix, job.request_id, job.id]);
}

interface HandedParts extends Pick<LaneTakerOptions, 'run' | 'base'> {
  claims: LaneClaims;
  endOf(lock: string, id: string): JobEnd;
}

/** As if it had been taken, without its body: it has begun. */
function takenOf({ name, at }: Handed, job: JobData): ScriptReply {
  const { envelope: _envelope, ...data } = job;
  return ['job', name, 'directive', JSON.stringify(data), '{}', at, 0, -1];
}

/** As job-end.lua answers: what became of the directive, and what was taken. */
function pairOf(reply: ScriptReply): readonly ScriptReply[] {
  return reply as unknown as readonly ScriptReply[];
}
