// The roles that a process has.
// Must never say how a role works, nor load its modules.

/** Every process sweeps, whatever its roles; of what is due each entry goes to one process. */
export interface Roles {
  api?: boolean;
  engine?: boolean;
  worker?: boolean;
}

export function roleNames({ api = false, engine = false, worker = false }: Roles): string[] {
  return Object.entries({ api, engine, worker }).flatMap(([role, has]) => (has ? [role] : []));
}

/** BullMQ's lock at most, and its check. Where workers live too short for the check, the sweeper enqueues when the lease ends. */
export const JOB_LOCK_MS = 5_000;
export const STALLED_CHECK_MS = 2_000;
