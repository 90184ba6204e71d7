// The parts that a process makes for each tenant when it is first needed, and keeps: clients, MCP endpoints. Never
// grows with names from callers: a key or the configuration names a tenant, and the oldest are removed.

const MOST_KEPT = 1_000;

export interface TenantParts<T> {
  of(tenant: string): T;
  all(): readonly T[];
}

/** `dispose`: called for an evicted entry. Default: no-op. */
export function createTenantParts<T>(
  make: (tenant: string) => T,
  dispose: (part: T) => void = () => {},
): TenantParts<T> {
  const kept = new Map<string, T>();

  function makeRoom(): void {
    const [oldest] = kept;
    if (kept.size < MOST_KEPT || oldest === undefined) return;
    kept.delete(oldest[0]);
    dispose(oldest[1]);
  }

  return {
    of(tenant) {
      const known = kept.get(tenant);
      if (known !== undefined) return known;
      makeRoom();
      const made = make(tenant);
      kept.set(tenant, made);
      return made;
    },
    all: () => [...kept.values()],
  };
}
