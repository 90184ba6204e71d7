// The servers, agents and policies that tenants have added, in Redis: all keys of a kind are in one slot, so that each change is one step.
// Must never decide: it compares the version that was read, and writes.
import * as z from 'zod';
import { jsonObjectSchema } from '../../contract/identifiers.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import type { KeySpace, RuntimeKind } from '../../store/keys.ts';
import { prepareScripts } from '../../store/scripts.ts';

export type Definition = Readonly<Record<string, unknown>>;

/** Changes of one tenant in a period; more are refused, since all processes follow each. */
const MOST_CHANGES = 60;
const PERIOD_MS = 60_000;
const TENANT_FIELD = 'of:';

/** `definition`: null: it cannot be read, such as one that is sealed with another key than those of this process. */
export interface StoredDefinition {
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

export interface PutDefinition {
  readonly definition: Definition;
  readonly isSealed: boolean;
  readonly by: string | null;
  /** Version that is replaced; null: there is none. */
  readonly over: string | null;
}

type Stored = { kind: 'done' | 'conflict' | 'full' } | { kind: 'paced'; afterMs: number };

export interface DefinitionStoreOptions {
  readonly kind: RuntimeKind;
  readonly connection: RedisConnection;
  readonly keys: KeySpace;
  /** null: there is no key, and nothing is sealed. */
  readonly seal: DefinitionSeal | null;
  readonly most: { readonly ofTenant: number; readonly all: number };
  /** Begun before a write, awaited after it: rejects when the write may still be lost. null: Redis' own durability. */
  readonly confirm: () => Promise<(() => Promise<void>) | null>;
}

export type DefinitionStore = ReturnType<typeof createDefinitionStore>;

/** Parts of the text that a seal belongs to. */
const NOUNS = { servers: 'server', agents: 'agent', policies: 'policy' } as const;

const recordSchema = z.object({
  by: z.string().nullable(),
  definition: jsonObjectSchema.optional(),
  sealed: z.string().optional(),
});

export function createDefinitionStore(options: DefinitionStoreOptions) {
  const { connection, kind, seal, most, confirm } = options;
  const run = prepareScripts(connection);
  const state = options.keys.runtime(kind);
  const keysOf = (tenant: string) => options.keys.runtimeOf(kind, tenant);
  const { catalogChanges } = options.keys;
  /** A sealed text that is moved to another name does not open. */
  const placeOf = (tenant: string, name: string): string => `runtime ${NOUNS[kind]} ${tenant}/${name}`;

  function stored(tenant: string, name: string, text: string): StoredDefinition {
    const {
      version = '0',
      at = 0,
      json,
    } = /^(?<version>\d+) (?<at>\d+) (?<json>.*)$/su.exec(text)?.groups ?? {};
    const record = recordSchema.safeParse(jsonOf(json ?? ''));
    const { by = null, definition = null, sealed } = record.success ? record.data : {};
    const opened = sealed === undefined ? null : (seal?.open(sealed, placeOf(tenant, name)) ?? null);
    const parsed = opened === null ? definition : (jsonOf(opened) as Definition);
    return { version, at: Number(at), definition: parsed, isSealed: sealed !== undefined, by };
  }

  return {
    canSeal: seal !== null,
    async read(tenant: string, name: string): Promise<StoredDefinition | null> {
      const text = await connection.hget(keysOf(tenant)[0], name);
      return text === null ? null : stored(tenant, name, text);
    },
    /** Definitions of a tenant by name. */
    async all(tenant: string): Promise<ReadonlyMap<string, StoredDefinition>> {
      const texts = Object.entries(await connection.hgetall(keysOf(tenant)[0]));
      const found = texts.map(([name, text]) => [name, stored(tenant, name, text)] as const);
      return new Map(found);
    },
    /** Revision of the last change of a tenant; null: it has none. */
    revision: async (tenant: string): Promise<string | null> =>
      connection.hget(state, `${TENANT_FIELD}${tenant}`),
    /** Revision of the last change of each tenant that has definitions. */
    async revisions(): Promise<ReadonlyMap<string, string>> {
      const fields = Object.entries(await connection.hgetall(state));
      const ofTenants = fields.filter(([field]) => field.startsWith(TENANT_FIELD));
      return new Map(ofTenants.map(([field, revision]) => [field.slice(TENANT_FIELD.length), revision]));
    },
    async put(
      tenant: string,
      name: string,
      { definition, isSealed, by, over }: PutDefinition,
    ): Promise<Stored> {
      const text = JSON.stringify(definition);
      const content =
        isSealed && seal !== null ? { sealed: seal.seal(text, placeOf(tenant, name)) } : { definition };
      const [definitions, pace] = keysOf(tenant);
      const bounds = [most.ofTenant, most.all, MOST_CHANGES, PERIOD_MS];
      const given = [tenant, name, JSON.stringify({ by, ...content }), over ?? ''];
      const confirmation = await confirm();
      const [verdict, afterMs] = await run(
        'runtime-put',
        [definitions, state, pace],
        [...given, ...bounds, catalogChanges],
      );
      await confirmation?.();
      if (verdict === 'paced') return { kind: 'paced', afterMs: Number(afterMs) };
      return { kind: verdict as 'done' };
    },
    async remove(tenant: string, name: string, version: string): Promise<'done' | 'gone' | 'conflict'> {
      const [definitions] = keysOf(tenant);
      const confirmation = await confirm();
      const [verdict] = await run(
        'runtime-remove',
        [definitions, state],
        [tenant, name, version, catalogChanges],
      );
      await confirmation?.();
      return verdict as 'done';
    },
  };
}

/** undefined: no JSON. */
function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
