// The schedules that fire late, fail, wait for capacity, or were paused by the service. A schedule that a person has
// paused is no fault.
import type { ListedSchedule } from '../../contract/schedule/schedule.ts';
import { fault, fine, type Finding } from './finding.ts';

/** Instants are polled four times a second; beyond this no process polls, or this machine's clock is wrong. */
const LATE_MS = 60_000;
const MOST_NAMED = 3;
const LONGEST_REASON = 160;

/** Nothing where there are none. `now`: milliseconds since the epoch. */
export function scheduleFindings(schedules: readonly ListedSchedule[], now: number): Finding[] {
  if (schedules.length === 0) return [];
  const faults = schedules.flatMap((schedule) => {
    const wrong = faultOf(schedule, now);
    return wrong === null ? [] : [{ id: schedule.id, ...wrong }];
  });
  const [first] = faults;
  if (first === undefined) return [fine(SUBJECT, allText(schedules))];
  const named = faults.slice(0, MOST_NAMED).map(({ id, says }) => `${id} ${says}`);
  const more = faults.length > MOST_NAMED ? `; and ${faults.length - MOST_NAMED} more` : '';
  return [fault(SUBJECT, `${named.join('; ')}${more}`, first.fix(first.id))];
}

const SUBJECT = 'schedules';

interface Wrong {
  readonly says: string;
  readonly fix: (id: string) => string;
}

/** Fault of a schedule; null: none, or paused by a person. */
function faultOf(schedule: ListedSchedule, now: number): Wrong | null {
  const { paused, waiting, last, failures_in_a_row: failures } = schedule;
  const hasFailed = last?.outcome === 'failed';
  if (paused !== null)
    return paused.by === null && hasFailed && paused.note === last.reason
      ? { says: `has paused itself: ${shortened(paused.note)}`, fix: RESUME }
      : null;
  if (waiting !== null)
    return { says: `waits since ${waiting.since}: ${shortened(waiting.reason)}`, fix: ROOM };
  if (isLate(schedule, now)) return { says: `is late: its instant was ${schedule.next_at}`, fix: CLOCK };
  if (failures > 0) {
    const times = failures === 1 ? 'has failed' : `has failed ${failures} times in a row`;
    return { says: `${times}: ${shortened(hasFailed ? last.reason : null)}`, fix: SHOW };
  }
  return last?.outcome === 'missed'
    ? { says: `has missed ${last.instants} ${last.instants === 1 ? 'instant' : 'instants'}`, fix: SHOW }
    : null;
}

function isLate(
  { status, next_at: next, jitter_ms: jitter, queued_at: queued }: ListedSchedule,
  now: number,
) {
  return status === 'active' && queued === null && next !== null && now - Date.parse(next) > jitter + LATE_MS;
}

const RESUME = (id: string): string =>
  `With a key that may submit it: \`adjutant schedule resume ${id}\`, which lends it that key.`;
const ROOM = (id: string): string =>
  `Free the lane or raise the budget that is named; \`adjutant schedule show ${id}\` says until when it is tried.`;
const CLOCK = (): string =>
  'Search the log of the service for `schedules`; if it fires all the same, the clock of this machine or of Redis is wrong.';
const SHOW = (id: string): string =>
  `\`adjutant schedule show ${id}\` says why; \`adjutant schedule update ${id}\` changes it, \`adjutant schedule pause ${id}\` stops it.`;

function shortened(reason: string | null): string {
  return (reason ?? 'its history says why').slice(0, LONGEST_REASON);
}

function allText(schedules: readonly ListedSchedule[]): string {
  const active = schedules.filter(({ status }) => status === 'active').length;
  return `${schedules.length}, of which ${active} ${active === 1 ? 'fires' : 'fire'}`;
}
