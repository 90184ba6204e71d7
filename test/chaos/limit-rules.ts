/** The promises about limits by key: never more at once, never more within a time, by the tool's own record.
 *  It must never ask the service what ran, nor how many it counted. */
import { type CallLine, callsOf, type LoggedCall, runsAt } from './call-log.ts';
import type { PlannedLimit, Rate } from './flow-plan.ts';
import type { Fault } from './history.ts';

/** A call reaches its tool a while after its start was counted: so much shorter is the time in which they are counted here. */
const ARRIVES_WITHIN_MS = 4_000;
/** After a fault of its worker or of Redis a call may begin so much later than it was counted. */
const AFTERMATH_MS = 8_000;
/** A worker is stopped between its last look at its lease and the call that it sends: it has reached the tool by then. */
const SENT_WITHIN_MS = 500;

export function limitViolationsOf(
  limits: Readonly<Record<string, PlannedLimit>>,
  lines: readonly CallLine[],
  faults: readonly Fault[],
): string[] {
  return Object.entries(limits).flatMap(([name, { concurrency, rate }]) => {
    const calls = callsOf(lines.filter(({ limits: of = [] }) => of.includes(name)));
    return [
      ...(concurrency === undefined ? [] : tooManyAtOnce(name, concurrency, { calls, faults })),
      ...(rate === undefined ? [] : tooManyWithin(name, rate, { calls, faults })),
    ];
  });
}

interface Seen {
  readonly calls: readonly LoggedCall[];
  readonly faults: readonly Fault[];
}

/** What a tool still does for a worker that died or was frozen is not counted; what such a worker begins afterwards is. */
function tooManyAtOnce(name: string, most: number, { calls, faults }: Seen): string[] {
  return calls.flatMap(({ begin }) => {
    // Most do not overlap: with the faults of each pair the judge stood still for minutes, and its receiver of webhooks with it.
    const overlapping = calls.filter((other) => runsAt(other, begin, []));
    if (overlapping.length < most) return [];
    const others = overlapping.filter((other) => runsAt(other, begin, faultsDuring(other, faults)));
    if (others.length < most) return [];
    const labels = others.map((other) => other.begin.label).join(', ');
    return [`${begin.label} began under ${name} (${most} at once) while there ran ${labels}`];
  });
}

function faultsDuring({ begin }: LoggedCall, faults: readonly Fault[]): Fault[] {
  return faults.filter(({ at }) => at >= begin.at - SENT_WITHIN_MS);
}

function tooManyWithin(name: string, { max, per_ms: perMs }: Rate, { calls, faults }: Seen): string[] {
  const starts = calls.filter((call) => !isLate(call, faults)).map(({ begin }) => begin);
  return starts.flatMap(({ at, label }, index) => {
    const first = starts[index - max];
    const withinMs = at - (first?.at ?? -Infinity);
    return withinMs < perMs - ARRIVES_WITHIN_MS
      ? [`${label} is the start number ${max + 1} under ${name} within ${withinMs} ms of ${perMs}`]
      : [];
  });
}

/** Whether it may have begun long after it was counted. */
function isLate({ begin }: LoggedCall, faults: readonly Fault[]): boolean {
  return faults.some(
    ({ kind, pid, at, overAt }) =>
      (kind === 'redis killed' || pid === begin.workerPid || pid === begin.pid) &&
      at <= begin.at &&
      (overAt ?? Infinity) >= begin.at - AFTERMATH_MS,
  );
}
