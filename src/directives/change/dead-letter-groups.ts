// Counts dead letters by lane, type of error and hour: what an operator sees before looking at single ones.
// Must never read a journal: the index alone says enough.
import type { DeadLetterGroup, DeadLetterGroups } from '../../contract/directive/dead-letter.ts';
import type { DeadEntry } from '../../store/index/dead-letter-index.ts';
import { instant } from '../../queue/instant.ts';

/** A tool may name any type of error. */
const MOST_GROUPS = 200;
/** The newest of each group: a week. */
const MOST_HOURS = 168;
const HOUR_MS = 3_600_000;
/** Entries between two pauses, so that other callers do not wait. */
const REST_EVERY = 5_000;

interface Counted {
  lane: string | null;
  errorType: string;
  count: number;
  firstAt: number;
  lastAt: number;
  /** Counts by the beginning of the hour. */
  hours: Map<number, number>;
}

/** The largest groups first. */
export async function groupDeadLetters(entries: AsyncIterable<DeadEntry>): Promise<DeadLetterGroups> {
  const groups = new Map<string, Counted>();
  let total = 0;
  for await (const entry of entries) {
    countIn(groups, entry);
    total += 1;
    if (total % REST_EVERY === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  const sorted = [...groups.values()].toSorted((one, other) => other.count - one.count);
  return {
    total,
    groups: sorted.slice(0, MOST_GROUPS).map(shownGroup),
    groups_left_out: Math.max(0, sorted.length - MOST_GROUPS),
  };
}

function countIn(groups: Map<string, Counted>, { lane, errorType, endedAt }: DeadEntry): void {
  const key = `${lane ?? ''}\t${errorType}`;
  let group = groups.get(key);
  if (group === undefined) {
    group = { lane, errorType, count: 0, firstAt: endedAt, lastAt: endedAt, hours: new Map() };
    groups.set(key, group);
  }
  group.count += 1;
  group.firstAt = Math.min(group.firstAt, endedAt);
  group.lastAt = Math.max(group.lastAt, endedAt);
  const hour = endedAt - (endedAt % HOUR_MS);
  group.hours.set(hour, (group.hours.get(hour) ?? 0) + 1);
}

function shownGroup({ lane, errorType, count, firstAt, lastAt, hours }: Counted): DeadLetterGroup {
  const newest = [...hours].toSorted(([one], [other]) => other - one).slice(0, MOST_HOURS);
  return {
    lane,
    error_type: errorType,
    count,
    first_at: instant(firstAt),
    last_at: instant(lastAt),
    hours: newest.map(([from, letters]) => ({ from: instant(from), count: letters })),
  };
}
