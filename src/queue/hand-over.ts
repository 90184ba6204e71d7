// What other processes hand over to this one: a job that is taken for it already, with its claim, for a slot that it has offered.
// Must never be the only way: what is not heard comes back as the work of a process that died.
import { createOwnChannel } from '../store/log/own-channel.ts';
import type { SubscriptionsOptions } from '../store/log/subscriptions.ts';
import type { KeySpace } from '../store/keys.ts';
import type { Startable } from '../platform/lifecycle.ts';
import { newClaimToken } from '../platform/telemetry/identifier.ts';

/** One job for one offered slot. */
export interface Handed {
  slot: string;
  /** Id of the job. */
  name: string;
  /** When it was handed over, milliseconds since the epoch, by the clock of Redis. */
  at: number;
  /** Deadline of the directive, likewise. */
  deadlineAt: number;
  /** The first attempt is to be reported before its call. */
  owesStart: boolean;
  /** JSON, with the body. */
  data: string;
}

export interface HandOver extends Startable {
  /** What the offers of this process are named after. */
  readonly process: string;
  /** Whether what is handed over now would be heard. */
  isHeard(): boolean;
  /** What is for the lane comes to `take` from now on. */
  join(lane: string, take: (handed: Handed) => void): void;
  /** Redis' clock has shown `now` in the answer to what was asked at `askedAt`, by the process' monotonic clock; milliseconds. */
  noteClock(now: number, askedAt: number): void;
  /** The process' monotonic clock when Redis' clock showed `at`, or before that; -Infinity where that cannot be told. */
  instantOf(at: number): number;
}

/** Both clocks are read in whole milliseconds by somebody. */
const UNIT_MS = 2;

export function createHandOver(
  subscription: SubscriptionsOptions & { onError: (error: Error) => void },
  keys: Pick<KeySpace, 'handed'>,
): HandOver {
  const process = newClaimToken();
  const lanes = new Map<string, (handed: Handed) => void>();
  let clock: { now: number; askedAt: number } | undefined;

  function hear(message: string): void {
    const { lane, ...handed } = readHanded(message);
    lanes.get(lane)?.(handed);
  }
  // Whoever offers says so again, and what was missed the sweeper finds.
  const missed = (): void => {};
  const own = createOwnChannel(subscription, keys.handed(process), { hear, missed, unreadable: missed });

  return {
    name: 'hand-over',
    process,
    isHeard: own.isHeard,
    join: (lane, take) => void lanes.set(lane, take),
    noteClock: (now, askedAt) => void (clock = { now, askedAt }),
    instantOf(at) {
      if (clock === undefined) return -Infinity;
      // What Redis did after that answer it did later than it was asked; what it did before, or where its clock was set, nobody can tell.
      const [instant, now] = [clock.askedAt + (at - clock.now), performance.now()];
      return at >= clock.now && instant <= now + UNIT_MS ? Math.min(instant, now) : -Infinity;
    },
    start: own.start,
    stop: own.stop,
  };
}

const HEAD = /^([0-9a-z]{1,12}) (\S{1,300}) (\S{1,300}) (\d{1,15}) (\d{1,15}) ([01])$/;

/** As include-offers.lua writes it. Throws when it cannot be read. */
function readHanded(message: string): Handed & { lane: string } {
  const [head = '', data] = message.split('\n');
  const [, slot = '', lane = '', name = '', at, deadlineAt, owes] = HEAD.exec(head) ?? [];
  if (owes === undefined || data === undefined) throw new Error('nothing that is handed over');
  return {
    slot,
    lane,
    name,
    at: Number(at),
    deadlineAt: Number(deadlineAt),
    owesStart: owes === '1',
    data,
  };
}
