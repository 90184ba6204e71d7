// Follows the servers that tenants add, change and remove, in a worker. An announcement only hastens a check; a check
// every 5 s finds what was announced while the worker was down or deaf.
import type { RuntimeServerRules } from '../../config/runtime-servers.ts';
import type { McpServerConfig } from '../../config/servers.ts';
import { faultText } from '../../contract/json/field-error.ts';
import { asError, createLoop, type Startable } from '../../platform/lifecycle.ts';
import type { Logger } from '../../platform/telemetry/logger.ts';
import { tenantServer } from '../../store/catalog/route.ts';
import type { DefinitionStore, StoredDefinition } from '../runtime-definitions/definition-store.ts';
import { readDefinition } from './definition.ts';

const CHECK_MS = 5_000;
const LONGEST_STOP_MS = 5_000;

/** The worker that serves them. */
export interface ServedServers {
  /** Serves a server with this definition from the next call on. */
  put(key: string, config: McpServerConfig): Promise<void>;
  remove(key: string): Promise<void>;
}

export interface FollowerOptions {
  readonly store: Pick<DefinitionStore, 'revisions' | 'all'>;
  readonly rules: RuntimeServerRules;
  /** Whether this process serves the server with the key. */
  isServed(key: string): boolean;
  /** Servers of the configuration file, whose names win. */
  readonly ofFile: ReadonlySet<string>;
  readonly served: ServedServers;
  /** Calls back at each announcement of a change. */
  listen(mayHaveChanged: () => void): void;
  readonly logger: Logger;
  onError(error: Error): void;
}

interface Followed {
  /** Revision of the tenant as it was followed. */
  readonly revision: string;
  /** Version that is served of each name. */
  readonly versions: Map<string, string>;
}

export function createServerFollower(options: FollowerOptions): Startable {
  const { store, onError } = options;
  const tenants = new Map<string, Followed>();
  let following: Promise<void> | null = null;
  let again = false;

  /** A tenant whose change fails is followed again at the next check. */
  async function followTenant(tenant: string, revision: string | null): Promise<void> {
    const versions = tenants.get(tenant)?.versions ?? new Map<string, string>();
    tenants.set(tenant, { revision: '', versions });
    await apply(options, tenant, versions, revision === null ? new Map() : await store.all(tenant));
    if (revision === null) tenants.delete(tenant);
    else tenants.set(tenant, { revision, versions });
  }

  async function follow(): Promise<void> {
    const revisions = await store.revisions();
    const gone = [...tenants.keys()].filter((tenant) => !revisions.has(tenant));
    for (const tenant of [...gone, ...revisions.keys()]) {
      const revision = revisions.get(tenant) ?? null;
      if (tenants.get(tenant)?.revision === revision) continue;
      await followTenant(tenant, revision).catch((error: unknown) => onError(asError(error)));
    }
  }

  /** One at a time; what is announced meanwhile is followed afterwards. */
  async function followAll(): Promise<void> {
    do {
      again = false;
      await follow();
    } while (again);
  }

  function followOnce(): Promise<void> {
    again = true;
    following ??= followAll().finally(() => (following = null));
    return following;
  }

  const loop = createLoop({
    name: 'runtime servers',
    work: followOnce,
    everyMs: CHECK_MS,
    longestStopMs: LONGEST_STOP_MS,
    onError,
  });
  return {
    ...loop,
    async start() {
      options.listen(() => {
        if (!loop.stopping.aborted) followOnce().catch(onError);
      });
      await loop.start();
    },
  };
}

/** Brings what is served to what is stored; `versions` is what is served. */
async function apply(
  { rules, isServed, ofFile, served, logger }: FollowerOptions,
  tenant: string,
  versions: Map<string, string>,
  stored: ReadonlyMap<string, StoredDefinition>,
): Promise<void> {
  for (const name of [...versions.keys()].filter((each) => !stored.has(each))) {
    await served.remove(tenantServer(tenant, name));
    versions.delete(name);
  }
  for (const [name, { version, definition }] of stored) {
    const key = tenantServer(tenant, name);
    if (versions.get(name) === version || !isServed(key) || ofFile.has(name)) continue;
    const read = definition === null ? null : readDefinition(definition, tenant, rules);
    if (read?.ok === true) await served.put(key, read.config);
    else {
      // The definition before is not what the tenant wants any more.
      if (versions.has(name)) await served.remove(key);
      const fault =
        read === null ? 'it is sealed with a key that is not in ADJUTANT_TOKEN_KEY' : faultText(read.errors);
      logger.warn({ tenant, server: name, fault }, 'a server that was added at runtime cannot be served');
    }
    versions.set(name, version);
  }
}
