// The roles that a process has.
// Must never say how a role works, nor load one that its process does not have.

/** Every process sweeps, whatever its roles; of what is due each entry goes to one process. */
export interface Roles {
  api?: boolean;
  engine?: boolean;
  worker?: boolean;
}

export function roleNames({ api = false, engine = false, worker = false }: Roles): string[] {
  return Object.entries({ api, engine, worker }).flatMap(([role, has]) => (has ? [role] : []));
}

/** The modules of the roles of a process. Each has libraries of its own, which take memory and time to load. */
export type RoleModules = Awaited<ReturnType<typeof roleModules>>;

export async function roleModules({ api, engine, worker }: Roles) {
  const [ofApi, ofEngine, ofWorker, ofExecution] = await Promise.all([
    api === true ? import('./api-role.ts') : null,
    engine === true ? import('./engine-role.ts') : null,
    worker === true ? import('./worker-role.ts') : null,
    worker === true ? import('./execution.ts') : null,
  ]);
  return {
    api: ofApi,
    engine: ofEngine,
    worker: ofWorker && ofExecution && { ...ofWorker, ...ofExecution },
  };
}

/** BullMQ's lock at most, and its check. Where workers live too short for the check, the sweeper enqueues when the lease ends. */
export const JOB_LOCK_MS = 5_000;
export const STALLED_CHECK_MS = 2_000;
