// An instant of the journal as readers see it.
// Must never read a clock.

/** `at` in milliseconds since the epoch; RFC 3339. */
export function instant(at: number): string {
  return new Date(at).toISOString();
}

export function instantOrNull(at: number | null): string | null {
  return at === null ? null : instant(at);
}
