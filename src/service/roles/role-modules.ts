// Loads the modules of the roles of a process.
// Must never load one that its process does not have; the types of packages must not reach these modules.
import type { Roles } from './roles.ts';

/** The modules of the roles of a process. Each has libraries of its own, which take memory and time to load. */
export type RoleModules = Awaited<ReturnType<typeof roleModules>>;

export async function roleModules({ api, engine, worker }: Roles) {
  const [ofApi, ofEngine, ofWorker] = await Promise.all([
    api === true ? import('./api-role.ts') : null,
    engine === true ? import('./engine-role.ts') : null,
    worker === true ? modulesOfWorker() : null,
  ]);
  return { api: ofApi, engine: ofEngine, worker: ofWorker };
}

/** The role, and the clients of tool servers and models, which the other roles do not load. */
async function modulesOfWorker() {
  const [role, execution, { createAdapters }, { runtimeServing }, { personalLoginsOn }] = await Promise.all([
    import('./worker-role.ts'),
    import('./execution.ts'),
    import('../adapters.ts'),
    import('../runtime-servers.ts'),
    import('../personal-logins.ts'),
  ]);
  return { ...role, ...execution, createAdapters, runtimeServing, personalLoginsOn };
}
