// Ids that were heard a moment ago, without a timer for each.
// Must never forget one sooner than it was told to, but for the oldest of more than it holds.

/** `forMs`: how long each is known. `most`: the oldest of more are forgotten. Default: there is no bound but time. */
export function createRecentIds(forMs: number, most = Infinity) {
  // The oldest come first.
  const instants = new Map<string, number>();
  return {
    add(id: string): void {
      const now = performance.now();
      instants.delete(id);
      instants.set(id, now);
      for (const [oldest, at] of instants) {
        if (instants.size <= most && now - at <= forMs) break;
        instants.delete(oldest);
      }
    },
    has(id: string): boolean {
      const at = instants.get(id);
      return at !== undefined && performance.now() - at <= forMs;
    },
  };
}
