// The servers that tenants have added, in Redis: all keys of them are in one slot, so that each change is one step.
// Must never decide: it compares the version that was read, and writes.
import * as z from 'zod';
import { jsonObjectSchema } from '../../contract/identifiers.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import type { KeySpace } from '../../store/keys.ts';
import { prepareScripts } from '../../store/scripts.ts';
import type { Definition } from './definition.ts';

/** Changes of one tenant in a period; more are refused, since each is followed by all workers. */
const MOST_CHANGES = 60;
const PERIOD_MS = 60_000;
const TENANT_FIELD = 'of:';

/** `definition`: null: sealed with another key than those of this process. */
export interface StoredServer {
  readonly version: string;
  /** Milliseconds since the epoch, by the clock of Redis. */
  readonly at: number;
  readonly definition: Definition | null;
  readonly isSealed: boolean;
  /** Name of the key of the last change; null: no key was required. */
  readonly by: string | null;
}

/** Seals a definition under the name that it belongs to. */
export interface DefinitionSeal {
  seal(text: string, belongsTo: string): string;
  open(sealed: string, belongsTo: string): string | null;
}

export interface PutServer {
  readonly definition: Definition;
  readonly isSealed: boolean;
  readonly by: string | null;
  /** Version that is replaced; null: there is none. */
  readonly over: string | null;
}

type Stored = { kind: 'done' | 'conflict' | 'full' } | { kind: 'paced'; afterMs: number };

export interface ServerStoreOptions {
  readonly connection: RedisConnection;
  readonly keys: KeySpace;
  /** null: there is no key, and nothing is sealed. */
  readonly seal: DefinitionSeal | null;
  readonly most: { readonly ofTenant: number; readonly all: number };
  /** Begun before a write, awaited after it: rejects when the write may still be lost. null: Redis' own durability. */
  readonly confirm: () => Promise<(() => Promise<void>) | null>;
}

export type ServerStore = ReturnType<typeof createServerStore>;

const recordSchema = z.object({
  by: z.string().nullable(),
  definition: jsonObjectSchema.optional(),
  sealed: z.string().optional(),
});

export function createServerStore({ connection, keys, seal, most, confirm }: ServerStoreOptions) {
  const run = prepareScripts(connection);

  function stored(tenant: string, name: string, text: string): StoredServer | null {
    const { version, at, json } = /^(?<version>\d+) (?<at>\d+) (?<json>.*)$/su.exec(text)?.groups ?? {};
    const record = recordSchema.safeParse(jsonOf(json ?? ''));
    if (version === undefined || !record.success) return null;
    const { by, definition = null, sealed } = record.data;
    const opened = sealed === undefined ? null : (seal?.open(sealed, placeOf(tenant, name)) ?? null);
    const parsed = opened === null ? definition : (jsonOf(opened) as Definition);
    return { version, at: Number(at), definition: parsed, isSealed: sealed !== undefined, by };
  }

  return {
    canSeal: seal !== null,
    async read(tenant: string, name: string): Promise<StoredServer | null> {
      const text = await connection.hget(keys.runtimeServersOf(tenant)[0], name);
      return text === null ? null : stored(tenant, name, text);
    },
    /** Servers of a tenant by name. */
    async all(tenant: string): Promise<ReadonlyMap<string, StoredServer>> {
      const texts = Object.entries(await connection.hgetall(keys.runtimeServersOf(tenant)[0]));
      const servers = texts.map(([name, text]) => [name, stored(tenant, name, text)] as const);
      return new Map(servers.flatMap(([name, server]) => (server === null ? [] : [[name, server] as const])));
    },
    /** Revision of the last change of each tenant that has servers. */
    async revisions(): Promise<ReadonlyMap<string, string>> {
      const fields = Object.entries(await connection.hgetall(keys.runtimeServers));
      const ofTenants = fields.filter(([field]) => field.startsWith(TENANT_FIELD));
      return new Map(ofTenants.map(([field, revision]) => [field.slice(TENANT_FIELD.length), revision]));
    },
    async put(tenant: string, name: string, { definition, isSealed, by, over }: PutServer): Promise<Stored> {
      const text = JSON.stringify(definition);
      const content =
        isSealed && seal !== null ? { sealed: seal.seal(text, placeOf(tenant, name)) } : { definition };
      const [servers, pace] = keys.runtimeServersOf(tenant);
      const bounds = [most.ofTenant, most.all, MOST_CHANGES, PERIOD_MS];
      const given = [tenant, name, JSON.stringify({ by, ...content }), over ?? ''];
      const confirmation = await confirm();
      const [verdict, afterMs] = await run(
        'runtime-server-put',
        [servers, keys.runtimeServers, pace],
        [...given, ...bounds, keys.catalogChanges],
      );
      await confirmation?.();
      if (verdict === 'paced') return { kind: 'paced', afterMs: Number(afterMs) };
      return { kind: verdict as 'done' };
    },
    async remove(tenant: string, name: string, version: string): Promise<'done' | 'gone' | 'conflict'> {
      const [servers] = keys.runtimeServersOf(tenant);
      const confirmation = await confirm();
      const [verdict] = await run(
        'runtime-server-remove',
        [servers, keys.runtimeServers],
        [tenant, name, version, keys.catalogChanges],
      );
      await confirmation?.();
      return verdict as 'done';
    },
  };
}

/** A sealed text that is moved to another name does not open. */
function placeOf(tenant: string, name: string): string {
  return `runtime server ${tenant}/${name}`;
}

/** undefined: no JSON. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
