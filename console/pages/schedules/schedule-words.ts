/** A schedule in a few words: when it fires, and what became of an instant.
 *  It must never compute an instant: the service does. */
import type { Firing, ListedSchedule, Overlap } from '../../../src/contract/schedule/schedule.ts';
import { clockText, durationText } from '../../data/shown.ts';

export function whenWords({ cron, time_zone: zone, every_ms: every, jitter_ms: jitter }: ListedSchedule) {
  const late = jitter > 0 ? `, up to ${lengthWords(jitter)} later` : '';
  return cron === null ? `every ${lengthWords(every ?? 0)}${late}` : `${cron} · ${zone ?? 'UTC'}${late}`;
}

/** Without parts that are zero: `6 h`, `90 s` as `1 m 30 s`. */
export function lengthWords(ms: number): string {
  return durationText(ms)
    .replace(/\.0 s$/, ' s')
    .replace(/ 0 [hms]$/, '');
}

export function outcomeWords({ outcome, instants, until }: Firing): string {
  if (outcome !== 'missed' || instants < 2) return outcome;
  return `${instants} missed${until === null ? '' : `, the last at ${clockText(until)}`}`;
}

/** Handling of an instant while a request of an earlier firing is open. */
export const OVERLAP_WORDS: Readonly<Record<Overlap, string>> = {
  skip: 'skip the instant',
  queue_one: 'queue one instant',
  allow: 'fire anyway',
  cancel_running: 'cancel the open one',
};

/** The outcomes that there were, the most telling first. */
export function countWords({ counts }: ListedSchedule): string {
  const said = Object.entries(counts).filter(([, count]) => count > 0);
  return said.map(([outcome, count]) => `${count} ${outcome}`).join(', ') || 'nothing yet';
}
