// Loads the modules of the roles of a process.
// Must never load one that its process does not have; the types of packages must not reach these modules.
import type { Roles } from './roles.ts';

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
