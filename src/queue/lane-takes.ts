// The takes of a lane's jobs: each with a slot for the claim that may come with it, and with offers for where nothing comes.
// Must never keep a slot for which no claim came.
import type { ScriptReply } from '../store/scripts.ts';
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
import type { KnownEmpty } from './known-empty.ts';

interface LaneTakesOptions {
  lockMs: number;
  known: KnownEmpty;
  /** null: what is taken is not claimed. */
  claims: LaneClaims | null;
  /** How a job ends together with its directive. */
  endOf(lock: string, id: string): JobEnd;
}

/** Asks a script of ours; `offered`: as in `Take`. */
type Ask = (offered: string) => Promise<ScriptReply>;

export function createLaneTakes({ lockMs, known, claims, endOf }: LaneTakesOptions) {
  const places = createTakePlaces();
  const offers = claims?.offers ?? null;

  function takeBy(lock: string, place: string, claiming: LaneClaims | null): Take {
    return takeOf({ lock, lockMs, place, sweep: claims?.sweep ?? '' }, claiming);
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

  /** With offers, for where it finds nothing: the slot of the take is free then. */
  async function offering(mayOffer: boolean, ask: Ask): Promise<ScriptReply> {
    const prepared = mayOffer ? (offers?.prepare(1, false) ?? null) : null;
    let reply: ScriptReply | undefined;
    try {
      reply = await ask(prepared?.text ?? '');
      return reply;
    } finally {
      prepared?.settle(reply);
    }
  }

  /** An end that has to be confirmed may be repeated for minutes: the job keeps its lock so long, and no other is taken for it. */
  async function hold(lock: string, reply: ScriptReply, asked: Take, confirm: Confirm | null): Promise<void> {
    const end = confirm === null ? endOf(lock, String(reply[1])) : ENDS_LATER;
    claims?.hold(reply, asked, end, confirm === null || (await isConfirmed(confirm)));
  }

  return { places, takeBy, taking, offering, hold };
}

async function isConfirmed(confirm: Confirm): Promise<boolean> {
  return confirm().then(
    () => true,
    () => false,
  );
}
