// Takes and ends the jobs of a lane by our scripts, with the claims of their directives where the worker claims as it takes.
// Must never let a repeat of a take, after a lost connection, be another take than it was.
import type { EndWithJob } from '../journal/endings.ts';
import type { RunScript, ScriptReply } from '../journal/scripts.ts';
import type { Confirm } from './durability.ts';
import {
  createTakePlaces,
  ENDS_LATER,
  hasClaim,
  type JobEnd,
  type LaneClaims,
  type Take,
  takeOf,
} from './lane-claims.ts';
import { createSeveralJobs } from './several-jobs.ts';

export interface LaneTakerOptions {
  /** Of the lane's keys. */
  base: string;
  run: RunScript;
  lockMs: number;
  known: ReturnType<typeof createKnownEmpty>;
  /** null: what is taken is not claimed. */
  claims: LaneClaims | null;
}

export type LaneTaker = ReturnType<typeof createLaneTaker>;

/** What is taken is a job as include-job.lua says it, or why there is none. */
export function createLaneTaker({ base, run, lockMs, known, claims }: LaneTakerOptions) {
  const places = createTakePlaces();
  const several = createSeveralJobs({ base, run, lockMs, claims, endOf });

  /** `isOne`: no more than one, as where nobody would ask for the others soon. */
  async function take(lock: string, isOne = false): Promise<ScriptReply> {
    if (claims === null) return taking(lock, ({ args }) => run('job-take', [base], [...args, 1]));
    while (claims.ready.isArriving()) await claims.ready.arrived();
    const ready = claims.ready.next();
    if (ready !== undefined) return several.asked(ready, lock, claims);
    return claims.ready.during(async (jobs, mayBeMore) =>
      taking(lock, async (take, confirm) => {
        const areMore = !isOne && confirm === null && take.claims && mayBeMore();
        return several.take(take, lock, { mayBeMore: areMore, ready: jobs });
      }),
    );
  }

  /** Ends a job whose directive is dealt with. */
  async function done(lock: string, id: string, takesNext: boolean): Promise<ScriptReply> {
    if (!takesNext || claims?.ready.isNear()) {
      const reply = await run('job-done', [base], [id, 0, ...takeBy(lock, '', null).args]);
      return takesNext && reply[0] === 'done' ? take(lock, true) : reply;
    }
    const next = (): Promise<ScriptReply> =>
      taking(lock, async ({ args }) => run('job-done', [base], [id, 1, ...args]));
    return claims === null ? next() : claims.ready.during(next);
  }

  /** With a slot for what is claimed, which is given back where no claim comes. */
  async function taking(
    lock: string,
    send: (take: Take, confirm: Confirm | null) => Promise<ScriptReply>,
  ): Promise<ScriptReply> {
    const claiming = claims?.reserve() ? claims : null;
    const place = places.take();
    let isHeld = false;
    try {
      const asked = takeBy(lock, place, claiming);
      const confirm = (await claiming?.confirm()) ?? null;
      const learn = known.asked();
      const reply = learn(await send(asked, confirm));
      if (hasClaim(reply)) await hold(lock, reply, asked, confirm);
      isHeld = hasClaim(reply);
      return reply;
    } finally {
      places.release(place);
      if (!isHeld) claiming?.release();
    }
  }

  function takeBy(lock: string, place: string, claiming: LaneClaims | null): Take {
    return takeOf({ lock, lockMs, place, sweep: claims?.sweep ?? '' }, claiming);
  }

  /** An end that has to be confirmed may be repeated for minutes: the job keeps its lock so long, and no other is taken for it. */
  async function hold(lock: string, reply: ScriptReply, asked: Take, confirm: Confirm | null): Promise<void> {
    const end = confirm === null ? endOf(lock, String(reply[1])) : ENDS_LATER;
    claims?.hold(reply, asked, end, confirm === null || (await isConfirmed(confirm)));
  }

  /** However often it is asked for, it is one end, and takes one job. */
  function endOf(lock: string, id: string): JobEnd {
    let next: Take | undefined;
    let answer: ScriptReply | undefined;
    let slotPassed = false;
    async function end(...[keys, args, signals]: Parameters<EndWithJob>): Promise<ScriptReply> {
      if (answer !== undefined) return answer;
      next ??= takeBy(lock, places.take(), claims?.mayGoOn() ? claims : null);
      claims?.noteEnding(id);
      const learn = known.asked();
      const given = [...args, id, next.claims ? 1 : 0, ...next.args, ...signals];
      const [verdict = [], taken = []] = pairOf(await run('job-end', [...keys, base], given));
      places.release(next.place);
      answer = verdict;
      if (taken[0] === 'kept' || taken[0] === 'lost') return verdict;
      claims?.noteEnded(id, learn(taken));
      if (hasClaim(taken)) await hold(lock, taken, next, null);
      slotPassed = hasClaim(taken);
      return verdict;
    }
    return { end, slotPassed: () => slotPassed };
  }

  return {
    take,
    done,
    /** Whether a take is answered at once. */
    hasReady: (): boolean => claims?.ready.any() ?? false,
    /** The same, once those have come that are on their way. */
    willHaveReady: async (): Promise<boolean> => claims?.ready.anySoon() ?? false,
    /** What was taken when a job ended together with its directive; undefined: it has not. */
    endedWith: (id: string): ScriptReply | undefined => claims?.endedWith(id),
  };
}

/** As job-end.lua answers: what became of the directive, and what was taken. */
function pairOf(reply: ScriptReply): readonly ScriptReply[] {
  return reply as unknown as readonly ScriptReply[];
}

async function isConfirmed(confirm: Confirm): Promise<boolean> {
  return confirm().then(
    () => true,
    () => false,
  );
}

/**
 * Whether the last take left nothing behind: BullMQ's worker asks for another job at once, and is answered from here. What is
 * added later sets the marker, so it is right until a marker was seen, also for takes that were asked before and answer after.
 */
export function createKnownEmpty() {
  let dueAt: number | null = null;
  let seen = 0;
  return {
    /** When the next delayed job is due, 0 = there is none; null: it is not known that nothing waits. Said once. */
    take(): number | null {
      const said = dueAt;
      dueAt = null;
      return said;
    },
    /** Before a script is asked; its result takes the reply and returns it. */
    asked() {
      const before = seen;
      return (reply: ScriptReply): ScriptReply => {
        const left = reply[0] === 'job' && before === seen ? Number(reply[7]) : -1;
        dueAt = left < 0 ? null : left;
        return reply;
      };
    },
    /** A marker was seen: something was added. */
    forget(): void {
      seen += 1;
      dueAt = null;
    },
  };
}
