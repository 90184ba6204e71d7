// How long a receiver asks to be left alone.
// Must never be longer than an hour: a receiver may not put its own deliveries off until they are too late.

const LONGEST_MS = 3_600_000;

/** Seconds or a date, as HTTP has it; null: it asks for nothing, or for something that cannot be read. */
export function retryAfterMs(header: string | null, now: number): number | null {
  if (header === null) return null;
  const ms = /^\d{1,10}$/.test(header.trim()) ? Number(header) * 1_000 : Date.parse(header) - now;
  return ms > 0 ? Math.min(ms, LONGEST_MS) : null;
}
