// Joins remote directive types with the stores of a process: their executors, and the routes of the programs that do their work.
// Must never open a connection where no remote type is configured.
import { remoteTypes } from '../agents/core/directive-exec.ts';
import type { Modules } from '../agents/modules/modules.ts';
import { remoteDefinition } from '../features/remote-types/remote-definition.ts';
import { remoteWorkRoutes } from '../features/remote-types/routes.ts';
import { createWorkStore, type WorkStore } from '../features/remote-types/work-store.ts';
import type { ApiFeature } from '../http/api.ts';
import type { RedisConnection } from '../platform/redis/connection.ts';
import { createSubscriptions } from '../store/log/subscriptions.ts';
import type { DirectiveDefinition } from '../worker/executors/definition.ts';
import type { Store } from './store.ts';

export interface RemoteTypesOptions {
  readonly modules: Modules;
  readonly onError: (error: Error) => void;
}

/** `listening`: opens a connection for subscriptions only. */
export function remoteDefinitionsOf(
  store: Store,
  listening: () => RedisConnection,
  { modules, onError }: RemoteTypesOptions,
): DirectiveDefinition[] {
  const types = remoteTypes(modules.directives);
  if (types.length === 0) return [];
  const work = workStoreOf(store, listening(), onError);
  return types.map((type) => remoteDefinition(type, work));
}

/** `listening`: a connection for subscriptions only. */
export function remoteWorkOf(
  store: Store,
  listening: RedisConnection,
  { modules, onError }: RemoteTypesOptions,
): ApiFeature {
  const names = new Set(remoteTypes(modules.directives).map(({ type }) => type));
  return remoteWorkRoutes(names, workStoreOf(store, listening, onError));
}

function workStoreOf(
  { connection, keys }: Store,
  listening: RedisConnection,
  onError: (error: Error) => void,
): WorkStore {
  const changes = createSubscriptions({ listening, publishing: connection, onError });
  return createWorkStore(connection, keys, changes, onError);
}
