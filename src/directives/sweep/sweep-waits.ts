// Says of a directive that is due, or a run that has something to read, and was not taken why that is so, in its log.
// Must never say it of a whole long lane at once, nor keep the sweeper from its work.
import type { Envelope } from '../../store/request/envelope.ts';
import type { Journal } from '../../store/request/journal.ts';
import type { DirectiveRecord } from '../../store/request/records.ts';
import { tenantOf } from '../../contract/access/tenant.ts';
import { lostWait, type WaitFacts } from '../../contract/request/waiting.ts';
import type { RunJournal } from '../../store/run/run-journal.ts';
import { runWaitSignal, waitSignal } from '../../store/request/wait-note.ts';
import { newTraceparent } from '../../platform/telemetry/traces/trace-context.ts';
import { RUN_ENTRY, RUN_LANE } from '../../queue/run-wake.ts';
import { gateWait } from '../../queue/flow/gate-wait.ts';
import { ticketIn } from '../../queue/flow/ticket.ts';
import type { GatedLanes } from '../../queue/gated-lanes.ts';
import type { LaneWaits } from '../../queue/lane-waits.ts';

/** Never rejects: it is reported at a later check instead. */
export type SayWait = (record: DirectiveRecord, envelope: Envelope) => Promise<void>;

/** Most directives of one lane, by one process. The others of a long lane are reported at a later check. */
export const MOST_SAID = 20;
const PERIOD_MS = 500;

export interface WaitSayerParts {
  journal: Pick<Journal, 'noteWait'>;
  waits: Pick<LaneWaits, 'of'>;
  /** Default: what waits in the gate of its lane is not told from what waits in the lane. */
  gated?: Pick<GatedLanes, 'look'>;
  /** Milliseconds on a clock that only goes forward. */
  now?: () => number;
}

export function createWaitSayer({
  journal,
  waits,
  gated,
  now = () => performance.now(),
}: WaitSayerParts): SayWait {
  const mayBeSaid = createBudget(now);

  /** A directive that waits at a gate has no job, so it does not wait for its lane. */
  async function waitOfOne(
    { id, lane }: DirectiveRecord & { lane: string },
    envelope: Envelope,
  ): Promise<WaitFacts | null> {
    const wait = await waits.of(lane);
    const ticket = ticketIn(envelope, lane);
    if (ticket === null || gated === undefined || (wait !== null && !FROM_LOAD.has(wait.reason))) return wait;
    const { request_id: requestId } = envelope.directive;
    return gateWait(ticket, await gated.look(lane, { requestId, id }), tenantOf(requestId)) ?? wait;
  }

  async function say(record: DirectiveRecord, envelope: Envelope): Promise<void> {
    const { directive, traceparent } = envelope;
    const { id, lane } = record;
    if (lane === null) return;
    const wait = presentWait(record, lane, await waitOfOne({ ...record, lane }, envelope));
    if (wait === null || isKnown(record, wait) || !mayBeSaid(lane)) return;
    const requestId = directive.request_id;
    const signal = waitSignal(directive, lane, wait, { requestId, causationId: id, traceparent });
    await journal.noteWait(requestId, record, signal);
  }

  return (record, envelope) => say(record, envelope).catch(() => {});
}

/** State of a lane caused by running directives. */
const FROM_LOAD: ReadonlySet<string> = new Set(['concurrency', 'limit_reached']);

/** Reports the wait of a run with unread signals, or one that has not begun. Never rejects, like `SayWait`. */
export type SayRunWait = (requestId: string, status: string) => Promise<void>;

export interface RunWaitSayerParts extends WaitSayerParts {
  runs: Pick<RunJournal, 'traceparent'>;
}

export function createRunWaitSayer({ journal, runs, waits }: RunWaitSayerParts): SayRunWait {
  async function say(requestId: string, status: string): Promise<void> {
    const wait = await waits.of(RUN_LANE);
    // Where engines work, its turn comes.
    if (wait?.reason !== 'no_worker') return;
    const traceparent = (await runs.traceparent(requestId)) ?? newTraceparent();
    const signal = runWaitSignal(RUN_LANE, wait, { requestId, traceparent });
    await journal.noteWait(requestId, { id: RUN_ENTRY, status, fence: 0 }, signal);
  }

  return (requestId, status) => say(requestId, status).catch(() => {});
}

/** One that runs was lost with its worker: where another serves the lane, its next claim says so. */
function presentWait(
  { status, leaseUntil }: DirectiveRecord,
  lane: string,
  wait: WaitFacts | null,
): WaitFacts | null {
  if (status === 'accepted' || status === 'waiting') return wait;
  return leaseUntil === null || wait?.reason !== 'no_worker' ? null : lostWait(lane, leaseUntil, wait);
}

/** An instant that has passed is replaced by the next one. */
function isKnown(
  { waits }: DirectiveRecord,
  { reason, untilAt }: Pick<WaitFacts, 'reason' | 'untilAt'>,
): boolean {
  if (waits?.reason !== reason) return false;
  return untilAt === null || (waits.untilAt ?? 0) >= Date.now();
}

function createBudget(now: () => number): (lane: string) => boolean {
  let said = new Map<string, number>();
  let endsAt = 0;
  return (lane) => {
    if (now() >= endsAt) [said, endsAt] = [new Map(), now() + PERIOD_MS];
    const count = (said.get(lane) ?? 0) + 1;
    said.set(lane, count);
    return count <= MOST_SAID;
  };
}
