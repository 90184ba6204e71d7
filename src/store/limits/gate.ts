// The gates of lanes: where directives wait for their turn and for the limits they are under, before they have a job.
// Must never decide by a clock or a count of its own: each step is one script, by the clock of the lane's Redis.
import { hash } from 'node:crypto';
import type { GateWait, Ticket } from '../../contract/directive/flow.ts';
import { TENANT_MARK } from '../../contract/access/tenant.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import type { KeySpace } from '../keys.ts';
import { createLeases } from './leases.ts';
import { prepareScripts, type ScriptReply } from '../scripts.ts';
import { memberOf } from '../refs.ts';

/** A directive of a lane. `requestId`: with its tenant. */
export interface GateRef {
  readonly requestId: string;
  readonly id: string;
}

/** A directive that was released or has lapsed: its job must be checked. */
export interface LetOut extends GateRef {
  readonly digest: string;
}

/** `released`: the caller enqueues them; a lost one is listed once more by `pump`. */
export interface WithReleased<K extends string> {
  readonly kind: K;
  /** Until what sleeps there is due, milliseconds; null: nothing sleeps. */
  readonly dueMs: number | null;
  readonly released: readonly LetOut[];
}

export interface Entering extends LetOut {
  readonly ticket: Ticket;
  /** When it was accepted, milliseconds since the epoch, by the clock of Redis. Default: now. */
  readonly arrivedAt?: number | undefined;
}

/** `ahead`: it is the last that was let out, and its job goes before those that wait in the lane. */
export type Entered = WithReleased<'entered' | 'ahead' | 'there'>;

export type Held = WithReleased<'held' | 'parked' | 'busy' | 'unknown'>;

export interface Pumped {
  /** In the gate, whether they wait or run. */
  readonly size: number;
  /** Until something is due, milliseconds; null: nothing is. */
  readonly dueMs: number | null;
  /** There is more to do at once. */
  readonly more: boolean;
  /** Were let out, and are back in their line: their worker is gone, or they have ended. */
  readonly lapsed: readonly LetOut[];
  /** Were let out a while ago, and have not begun. */
  readonly unbegun: readonly LetOut[];
  readonly released: readonly LetOut[];
}

export interface GateCounts {
  readonly waiting: number;
  /** Let out, and not begun. */
  readonly passed: number;
  readonly running: number;
}

export type Gate = ReturnType<typeof createGate>;

/**
 * A lane is listed while its gate is not empty; without a check, this long after its last use: no directive is open for
 * longer.
 */
const LISTED_MS = 400 * 86_400_000;
/** An empty gate that was used within this time may be about to be used again. */
const IDLE_MS = 60_000;
const TENANT_CHARACTERS = 10;
const TURN_CHARACTERS = 16;

export function createGate(connection: RedisConnection, keys: KeySpace) {
  const run = prepareScripts(connection);
  const keysOf = (lane: string): string[] => [keys.gate(lane)];

  /** `room`: how many may be out at once; so in all that follows. */
  async function enter(lane: string, entering: Entering, room: number): Promise<Entered> {
    const { ticket, digest, arrivedAt = 0 } = entering;
    const [tenant, turn] = turnOf(ticket.turn);
    const whose = [tenant, turn, ticket.weight, ticket.priority];
    const args = [memberOf(entering), digest, ...whose, arrivedAt, room, ...limitsOf(ticket)];
    const reply = await run('gate-enter', keysOf(lane), args);
    return withReleased(reply);
  }

  /** Right before an attempt. Asking again with the same token is the same. */
  async function hold(
    lane: string,
    ref: GateRef,
    { token, leaseMs, room }: { token: string; leaseMs: number; room: number },
  ): Promise<Held> {
    return withReleased(await run('gate-hold', keysOf(lane), [memberOf(ref), token, leaseMs, room]));
  }

  /** `againInMs`: when it is due again; null: it is over. */
  async function leave(
    lane: string,
    ref: GateRef,
    { token, againInMs, room }: { token: string; againInMs: number | null; room: number },
  ): Promise<WithReleased<'left' | 'stale'>> {
    const again = againInMs === null ? '' : Math.max(0, Math.ceil(againInMs));
    return withReleased(await run('gate-leave', keysOf(lane), [memberOf(ref), token, again, room]));
  }

  async function pump(lane: string, room: number): Promise<Pumped> {
    const [size, dueMs, more, lapsed, unbegun, ...rest] = await run('gate-pump', keysOf(lane), [room]);
    const [first, second] = [Number(lapsed), Number(lapsed) + Number(unbegun)];
    const known = letOut(rest.slice(0, 2 * second));
    return {
      size: Number(size),
      dueMs: Number(dueMs) < 0 ? null : Number(dueMs),
      more: more === '1',
      lapsed: known.slice(0, first),
      unbegun: known.slice(first),
      released: letOut(rest.slice(2 * second + 1)),
    };
  }

  /** `out`: it was let out, and keeps its place. */
  async function change(
    lane: string,
    ref: GateRef,
    { priority, room }: { priority: number; room: number },
  ): Promise<WithReleased<'changed' | 'out' | 'unknown'>> {
    return withReleased(await run('gate-change', keysOf(lane), [memberOf(ref), priority, room]));
  }

  /** Removes waiting entries; running ones stay. */
  async function remove(
    lane: string,
    ref: GateRef,
    room: number,
  ): Promise<WithReleased<'changed' | 'out' | 'unknown'>> {
    return withReleased(await run('gate-change', keysOf(lane), [memberOf(ref), '', room]));
  }

  async function look(lane: string, ref: GateRef): Promise<GateWait> {
    return waitOf(await run('gate-look', keysOf(lane), [memberOf(ref)]));
  }

  async function counts(lane: string): Promise<GateCounts> {
    const [waiting, passed, running] = await run('gate-look', keysOf(lane), ['']);
    return { waiting: Number(waiting), passed: Number(passed), running: Number(running) };
  }

  async function list(noted: string, dropped: string): Promise<string[]> {
    return (await run('gate-list', [keys.gates], [noted, LISTED_MS, dropped, IDLE_MS])).map(String);
  }

  /** The lanes whose gate is in use, with `noted`, which is used now. */
  const lanes = (noted = ''): Promise<string[]> => list(noted, '');

  /** An empty lane is no longer listed, unless it was used since. */
  const drop = async (lane: string): Promise<void> => void (await list('', lane));

  const { extendPass: extend } = createLeases(run, keys);
  return { enter, hold, extend, leave, pump, change, remove, look, counts, lanes, drop };
}

function letOut(list: ScriptReply): LetOut[] {
  return Array.from({ length: list.length / 2 }, (_, position) => {
    const member = String(list[2 * position]);
    const slash = member.indexOf('/');
    return {
      requestId: member.slice(0, slash),
      id: member.slice(slash + 1),
      digest: String(list[2 * position + 1]),
    };
  });
}

function withReleased<K extends string>([kind, due, ...members]: ScriptReply): WithReleased<K> {
  return { kind: kind as K, dueMs: due === '' ? null : Number(due), released: letOut(members) };
}

/** Any text as a few characters without a meaning for the scripts. */
function turnOf(turn: string): [tenant: string, turn: string] {
  const [tenant = ''] = turn.split(TENANT_MARK, 1);
  return [shortOf(tenant, TENANT_CHARACTERS), shortOf(turn, TURN_CHARACTERS)];
}

function shortOf(text: string, characters: number): string {
  return hash('sha256', text, 'base64url').slice(0, characters);
}

function limitsOf({ limits }: Ticket): (string | number)[] {
  return limits.flatMap(({ name, concurrency, rate }) => [
    name,
    concurrency ?? '',
    rate?.max ?? '',
    rate?.per_ms ?? '',
  ]);
}

function waitOf(reply: ScriptReply): GateWait {
  const [, , , kind = '', name = '', running, most, until, place] = reply.map(String);
  const [before, untilAt] = [Number(place), Number(until)];
  const waits: Readonly<Record<string, GateWait>> = {
    passed: { kind: 'passed' },
    running: { kind: 'running' },
    later: { kind: 'later', untilAt },
    turn: { kind: 'turn', before },
    limit: { kind: 'limit', name, running: Number(running), limit: Number(most), before },
    rate: { kind: 'rate', name, untilAt, before },
  };
  return waits[kind] ?? { kind: 'none' };
}
