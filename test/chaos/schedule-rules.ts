/** The promises about schedules: each instant has one outcome and fires once, none too early, overlaps as they were chosen.
 *  It must never take the instants from the service. */
import type { ToolExecution } from './executions.ts';
import { notInTime } from './judgement.ts';
import { instantsOf, type PlannedSchedule } from './schedule-plan.ts';
import type { WireFiring } from './wire.ts';

/** The request of an instant, when it was closed. */
export interface FiredRequest {
  readonly acceptedAt: number;
  readonly closedAt: number;
  readonly succeeded: boolean;
}

export interface ScheduleEvidence {
  readonly planned: PlannedSchedule;
  readonly madeAt: number;
  readonly status: string;
  readonly counts: Readonly<Record<string, number>>;
  /** Each that was ever listed. */
  readonly firings: readonly WireFiring[];
  /** By id. */
  readonly requests: ReadonlyMap<string, FiredRequest>;
  readonly executions: readonly ToolExecution[];
}

/** Instants of one clock, each rounded to a millisecond. */
const ROUNDING_MS = 2;
/** `at` is of a process that heard Redis' clock up to so long ago, and may have been slow to hear it (HOLD_MS of firing-loop.ts). */
const CLOCK_LAG_MS = 5_000;

export function scheduleViolationsOf(evidence: ScheduleEvidence): string[] {
  const { planned, status } = evidence;
  const found = status === 'ended' ? [] : [`its status is ${status}`];
  const rules = [checkInstants, checkCounts, checkFired, checkApart, checkSkipped, checkExecutions];
  return [...found, ...rules.flatMap((rule) => rule(evidence))].map((each) => `${planned.id}: ${each}`);
}

/** Of several that were missed in a row there is one entry. */
function instantsIn({ scheduled_at, until, instants }: WireFiring, everyMs: number): number[] {
  const first = Date.parse(scheduled_at);
  const last = until === null ? first : Date.parse(until);
  const all = Array.from({ length: instants }, (_, nth) => first + nth * everyMs);
  return all.at(-1) === last ? all : [first, last];
}

function checkInstants({ planned, madeAt, firings }: ScheduleEvidence): string[] {
  const seen = new Map<number, string[]>();
  for (const firing of firings)
    for (const at of instantsIn(firing, planned.everyMs))
      seen.set(at, [...(seen.get(at) ?? []), firing.outcome]);
  const wanted = new Set(instantsOf(planned, madeAt));
  const named = (at: number): string => new Date(at).toISOString();
  return [
    ...[...wanted].filter((at) => !seen.has(at)).map((at) => `${named(at)} has no outcome`),
    ...[...seen.keys()].filter((at) => !wanted.has(at)).map((at) => `${named(at)} is none of its instants`),
    ...[...seen]
      .filter(([, outcomes]) => outcomes.length > 1)
      .map(([at, outcomes]) => `${named(at)} has the outcomes ${outcomes.join(', ')}`),
  ];
}

function checkCounts({ planned, madeAt, counts }: ScheduleEvidence): string[] {
  const sum = Object.values(counts).reduce((total, count) => total + count, 0);
  const { length } = instantsOf(planned, madeAt);
  return sum === length ? [] : [`it counts ${JSON.stringify(counts)} of ${length} instants`];
}

/** Somebody is always there in time, and what is fired is never refused. */
function checkFired({ planned, firings, requests }: ScheduleEvidence): string[] {
  const allowed =
    planned.overlap === 'skip' || planned.overlap === 'queue_one' ? ['fired', 'skipped'] : ['fired'];
  return firings.flatMap(({ scheduled_at, outcome, reason, request_id }) => {
    if (!allowed.includes(outcome)) {
      const sentence = `${scheduled_at} is ${outcome}: ${reason}`;
      return [outcome === 'missed' ? notInTime(sentence) : sentence];
    }
    if (outcome !== 'fired') return [];
    const acceptedAt = requests.get(request_id ?? '')?.acceptedAt;
    if (acceptedAt === undefined) return [notInTime(`${request_id} was fired, and never seen closed`)];
    const earlyMs = Date.parse(scheduled_at) - acceptedAt;
    return earlyMs > ROUNDING_MS ? [`${request_id} was accepted ${earlyMs} ms too early`] : [];
  });
}

/** With `skip` and `queue_one` one ends before the next one is accepted. */
function checkApart({ planned, requests }: ScheduleEvidence): string[] {
  if (planned.overlap !== 'skip' && planned.overlap !== 'queue_one') return [];
  const inOrder = [...requests].toSorted(([, left], [, right]) => left.acceptedAt - right.acceptedAt);
  return inOrder.flatMap(([id, { acceptedAt }], index) => {
    const [before, { closedAt } = { closedAt: 0 }] = inOrder[index - 1] ?? [];
    return closedAt - acceptedAt > ROUNDING_MS
      ? [`${id} was accepted ${closedAt - acceptedAt} ms before the end of ${before}`]
      : [];
  });
}

/** What is skipped had something in its way. */
function checkSkipped({ firings, requests }: ScheduleEvidence): string[] {
  const skipped = firings.filter(({ outcome }) => outcome === 'skipped');
  const inTheWay = ({ scheduled_at, at, reason }: WireFiring): boolean =>
    [...requests].some(([id, { acceptedAt, closedAt }]) => {
      const seenAt = Date.parse(at) + (reason?.startsWith(`${id} is open`) ? CLOCK_LAG_MS : 0);
      return acceptedAt <= seenAt && closedAt >= Date.parse(scheduled_at);
    });
  return skipped
    .filter((firing) => !inTheWay(firing))
    .map(
      ({ scheduled_at, at, reason }) =>
        `${scheduled_at} was skipped at ${at} (${reason}), and nothing was open: ${openTimes(requests)}`,
    );
}

/** By the tool's own count: no instant is executed that was not fired, and none twice where that matters. */
function checkExecutions({ planned, firings, requests, executions }: ScheduleEvidence): string[] {
  const keys = new Map<string, number>();
  for (const { key } of executions) keys.set(key, (keys.get(key) ?? 0) + 1);
  const found: string[] = [];
  // The list of firings counts: a request may have expired before it was seen closed.
  const fired = new Set(firings.flatMap(({ request_id: id }) => id ?? [])).size;
  if (keys.size > fired) found.push(`${keys.size} instants were executed, ${fired} were fired`);
  const succeeded = [...requests.values()].filter((each) => each.succeeded).length;
  if (succeeded > keys.size) found.push(`${succeeded} instants succeeded, ${keys.size} were executed`);
  const twice = planned.isOnce ? [...keys].filter(([, times]) => times > 1) : [];
  return [...found, ...twice.map(([key, times]) => `${key} was executed ${times} times`)];
}

/** For who looks into a violation. */
function openTimes(requests: ScheduleEvidence['requests']): string {
  const iso = (at: number): string => new Date(at).toISOString();
  return [...requests]
    .map(([id, { acceptedAt, closedAt }]) => `${id} from ${iso(acceptedAt)} to ${iso(closedAt)}`)
    .join(', ');
}
