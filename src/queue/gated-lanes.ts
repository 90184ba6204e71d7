// The passage through the gates of lanes: a waiting directive gets its job when it is released, by whichever process
// finds it. Never enqueues one that was not released; the next check of the gate completes what this process leaves
// undone.
import type { Ticket, Tickets } from '../contract/directive/flow.ts';
import { ticketIn } from './flow/ticket.ts';
import type { Journal } from '../store/request/journal.ts';
import type { Entered, Gate, GateRef, LetOut, WithReleased } from '../store/limits/gate.ts';
import { createGateNotes, type GateNews } from './gate-news.ts';
import { type JobData, jobInJournal } from './job.ts';
import type { LaneRoom } from './lane-room.ts';
import type { Lanes } from './lanes.ts';

export interface GatedLanesParts {
  gate: Gate;
  lanes: Pick<Lanes, 'enqueue' | 'enqueueOpen' | 'enqueueFirst'>;
  /** A released directive gets the job that it has in the journal by then. */
  journal: Pick<Journal, 'directive' | 'envelope'>;
  roomIn: LaneRoom;
  /** The announcements of the process. */
  news: GateNews;
}

/** The hold of an attempt in a lane's gate. */
export interface Pass {
  readonly lane: string;
  readonly token: string;
}

export type GatedLanes = ReturnType<typeof createGatedLanes>;

export function createGatedLanes({ gate, lanes, journal, roomIn, news }: GatedLanesParts) {
  const note = createGateNotes(gate, news);
  const { follow, followEntered } = followers(lanes, journal, news);

  /** Whether it is let out itself. */
  async function enter(
    lane: string,
    data: JobData,
    { ticket, arrivedAt }: { ticket: Ticket; arrivedAt?: number | undefined },
  ): Promise<boolean> {
    const { request_id: requestId, id, digest } = data;
    const room = await roomIn(lane);
    note(lane);
    const entered = await gate.enter(lane, { requestId, id, digest, ticket, arrivedAt }, room);
    await followEntered(lane, entered);
    return entered.released.some((each) => isSame(each, { requestId, id }));
  }

  /** Into the gate where it has a ticket there; else its job into the lane. */
  async function enqueue(lane: string, data: JobData, tickets: Tickets): Promise<void> {
    const ticket = ticketIn(tickets, lane);
    await (ticket === null ? lanes.enqueue(lane, data) : enter(lane, data, { ticket }));
  }

  async function hold({ lane, token }: Pass, ref: GateRef, leaseMs: number) {
    const held = await gate.hold(lane, ref, { token, leaseMs, room: await roomIn(lane) });
    await follow(lane, held);
    return held.kind;
  }

  const extend = ({ lane, token }: Pass, ref: GateRef, leaseMs: number): Promise<boolean> =>
    gate.extend(lane, ref, { token, leaseMs });

  /** `againInMs`: when it is due again; null: it is over. Whether it is let out again at once. */
  async function leave({ lane, token }: Pass, ref: GateRef, againInMs: number | null): Promise<boolean> {
    const left = await gate.leave(lane, ref, { token, againInMs, room: await roomIn(lane) });
    await follow(lane, left);
    return left.released.some((each) => isSame(each, ref));
  }

  /**
   * Removes an ended directive. Never rejects: one that stays leaves with its next attempt, or at the sweeper's next
   * check.
   */
  async function remove(lane: string, ref: GateRef): Promise<void> {
    try {
      await follow(lane, await gate.remove(lane, ref, await roomIn(lane)));
    } catch {
      // It has ended all the same.
    }
  }

  /** As `remove`, wherever this process knows of a gate. */
  async function removeEnded(lane: string, ref: GateRef): Promise<void> {
    if (news.isGated(lane)) await remove(lane, ref);
  }

  /** How many wait there for their job. */
  async function waiting(lane: string): Promise<number> {
    return news.isGated(lane) ? (await gate.counts(lane)).waiting : 0;
  }

  async function change(
    lane: string,
    ref: GateRef,
    priority: number,
  ): Promise<'changed' | 'out' | 'unknown'> {
    const changed = await gate.change(lane, ref, { priority, room: await roomIn(lane) });
    await follow(lane, changed);
    return changed.kind;
  }

  return {
    enter,
    enqueue,
    hold,
    extend,
    leave,
    remove,
    removeEnded,
    waiting,
    change,
    look: gate.look,
    counts: gate.counts,
    note,
    follow,
    roomIn,
    gate,
  };
}

function followers(lanes: GatedLanesParts['lanes'], journal: GatedLanesParts['journal'], news: GateNews) {
  /** Enqueues what was let out. What fails of it is listed as unbegun a second later. */
  async function follow(
    lane: string,
    { released, dueMs }: Pick<WithReleased<string>, 'released' | 'dueMs'>,
  ): Promise<void> {
    if (dueMs !== null) news.due(lane, dueMs);
    if (released.length > 0) await enqueueReleased(lane, released).catch(() => {});
  }

  /** Likewise; one that goes ahead is the last that was let out. */
  async function followEntered(lane: string, entered: Entered): Promise<void> {
    const ahead = entered.kind === 'ahead' ? entered.released.at(-1) : undefined;
    if (ahead === undefined) return follow(lane, entered);
    const first = enqueueAhead(lane, ahead).catch(() => {});
    await Promise.all([first, follow(lane, { ...entered, released: entered.released.slice(0, -1) })]);
  }

  async function enqueueReleased(lane: string, released: readonly LetOut[]): Promise<void> {
    const jobs = await Promise.all(released.map(({ requestId, id }) => jobInJournal(journal, requestId, id)));
    await lanes.enqueueOpen(
      lane,
      jobs.filter((job) => job !== null),
    );
  }

  async function enqueueAhead(lane: string, { requestId, id }: LetOut): Promise<void> {
    const job = await jobInJournal(journal, requestId, id);
    if (job !== null) await lanes.enqueueFirst(lane, job);
  }

  return { follow, followEntered };
}

export function isSame(one: GateRef, other: GateRef): boolean {
  return one.id === other.id && one.requestId === other.requestId;
}
