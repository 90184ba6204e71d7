/** A length of time in a few words, and an instant without what nobody reads.
 *  It must never show more digits than a person reads. */

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

export function timeText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < MINUTE_MS) return `${(ms / 1_000).toFixed(1)} s`;
  if (ms < HOUR_MS) return `${Math.floor(ms / MINUTE_MS)} min ${Math.floor((ms % MINUTE_MS) / 1_000)} s`;
  return `${Math.floor(ms / HOUR_MS)} h ${Math.floor((ms % HOUR_MS) / MINUTE_MS)} min`;
}

/** RFC 3339, UTC, as `2027-01-31 12:00:00`; `to` minutes without the seconds. */
export function instantText(instant: string, to: 'seconds' | 'minutes' = 'seconds'): string {
  return instant.slice(0, to === 'seconds' ? 19 : 16).replace('T', ' ');
}

/** The same instant on the clocks of a time zone; null: where it is known here only by another name, or is UTC. */
export function zonedText(instant: string, zone: string): string | null {
  if (zone === 'UTC') return null;
  try {
    const form = { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' } as const;
    return `${new Intl.DateTimeFormat('sv-SE', form).format(new Date(instant))} in ${zone}`;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}
