// Several jobs of a lane that are taken with one script, as many as there are slots for: BullMQ's worker asks for one after the other.
// Must never take one without its own lock, claim and slot, nor keep the slot of one that did not come.
import type { RunScript, ScriptReply } from '../store/scripts.ts';
import {
  hasClaim,
  type JobEnd,
  type LaneClaims,
  nthLock,
  nthTake,
  type ReadyJob,
  type Take,
} from './lane-claims.ts';

interface SeveralJobsOptions {
  /** Of the lane's keys. */
  base: string;
  run: RunScript;
  lockMs: number;
  claims: LaneClaims | null;
  /** How a job ends together with its directive. */
  endOf(lock: string, id: string): JobEnd;
}

/** Of one script: Redis does nothing else meanwhile, and other workers may be idle too. */
const MOST_TAKEN = 16;

/** Of a job whose lock Redis did not answer for. One that is left out with its lock comes back when that has run out. */
const MOST_TRIED = 16;

const NOTHING: ScriptReply = ['none', 0];

export function createSeveralJobs({ base, run, lockMs, claims, endOf }: SeveralJobsOptions) {
  /** The first is for the slot of the take itself; the others, into `ready`, are held with slots of their own. */
  async function take(
    asked: Take,
    lock: string,
    { ready, ...may }: { mayBeMore: boolean; mayOffer: boolean; ready: ReadyJob[] },
  ): Promise<ScriptReply> {
    const [first, ...others] = await taken(asked, lock, may);
    ready.push(...others.flatMap((job) => job ?? []));
    return first?.reply ?? NOTHING;
  }

  /** null: somebody else has it. Where nothing waits, slots are offered. */
  async function taken(
    asked: Take,
    lock: string,
    { mayBeMore, mayOffer }: { mayBeMore: boolean; mayOffer: boolean },
  ): Promise<(ReadyJob | null)[]> {
    let slots = mayBeMore ? reserveMore() : 0;
    const offered = mayOffer ? (claims?.offers?.prepare(asked.claims ? 1 + slots : 0, true) ?? null) : null;
    let reply: ScriptReply | undefined;
    try {
      reply = await run('job-take', [base], [...asked.args(offered?.text ?? ''), 1 + slots]);
      return jobsOf(reply).map((reply, index) => {
        if (reply === null) return null;
        const own = nthLock(lock, index + 1);
        if (index > 0 && hasClaim(reply)) {
          claims?.hold(reply, nthTake(asked, index + 1), endOf(own, String(reply[1])), true);
          slots -= 1;
        }
        return { lock: own, reply };
      });
    } finally {
      for (; slots > 0; slots -= 1) claims?.release();
      offered?.settle(reply);
    }
  }

  function reserveMore(): number {
    let slots = 0;
    while (slots < MOST_TAKEN - 1 && claims?.reserve()) slots += 1;
    return slots;
  }

  /** BullMQ's worker asks for it: with its token, as was to be expected, or with another, as after a pause, when it counts anew. */
  async function asked(ready: ReadyJob, lock: string, by: LaneClaims): Promise<ScriptReply> {
    if (ready.lock === lock && ready.tried === undefined) return ready.reply;
    const id = String(ready.reply[1]);
    const isOurs = await relocked(ready, lock, by);
    const held = by.heldJob(id);
    if (held && isOurs) by.holdAgain(id, { ...held, ...endOf(lock, id) });
    else if (held) by.release();
    return isOurs ? ready.reply : NOTHING;
  }

  /** Where Redis does not say whether it has, the job stays ready: with whatever lock it has then, whoever asks next gets it. */
  async function relocked(ready: ReadyJob, lock: string, by: LaneClaims): Promise<boolean> {
    const locks = [ready.lock, ...(ready.tried ?? [])];
    try {
      const [isOurs] = await run('job-relock', [base], [String(ready.reply[1]), lock, lockMs, ...locks]);
      return isOurs === 1;
    } catch (error) {
      by.ready.putBack({ ...ready, tried: [...locks.slice(1), lock].slice(-MOST_TRIED) });
      throw error;
    }
  }

  return { take, asked };
}

/** As job-take.lua answers: one, or each of some. */
function jobsOf(reply: ScriptReply): readonly (ScriptReply | null)[] {
  return reply[0] === 'jobs' ? (reply.slice(1) as unknown as (ScriptReply | null)[]) : [reply];
}
