// The API keys of an installation in Redis: their hashes and rights, a version that each change replaces, and when each was used.
// Must never get the text of a key.
import { DEFAULT_TENANT } from '../contract/tenant.ts';
import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import { accessKeySchema, type AccessKey } from '../contract/access.ts';
import { KEEP_ENTRIES_MS, mostEntries } from '../journal/audit-log.ts';
import { prepareScripts } from '../journal/scripts.ts';
import type { KeySpace } from '../journal/keys.ts';
import type { RedisConnection } from '../redis/connection.ts';

/** What is read whole after each change must stay small. */
export const MOST_KEYS = 1_000;

const VERSION = '@version';

export const keyRecordSchema = z.object({
  ...accessKeySchema.omit({ last_used_at: true }).shape,
  digest: z.string().length(64),
});

export type KeyRecord = z.infer<typeof keyRecordSchema>;

export interface KeyTable {
  readonly version: string;
  /** With those that this version cannot read: they let nobody in, and the doors stay closed. */
  readonly size: number;
  readonly keys: ReadonlyMap<string, KeyRecord>;
}

/** Of the audit of who makes the change, written with it. */
export interface EntryOfChange {
  readonly tenant: string;
  /** '': none. */
  readonly text: string;
}

export type KeyRecords = ReturnType<typeof createKeyRecords>;

/** Begun before a write, awaited after it: rejects when the write may still be lost. null: Redis' own durability. */
type BeginConfirm = () => Promise<(() => Promise<void>) | null>;

export function createKeyRecords(
  connection: RedisConnection,
  { access, accessChanges, audit }: Pick<KeySpace, 'access' | 'accessChanges' | 'audit'>,
  confirm: BeginConfirm,
) {
  const run = prepareScripts(connection);
  const parsed = rememberingParser();
  const [table, used] = access;
  const placesOf = (tenant: string): string[] => [...access, audit(tenant).changes];
  const boundsOf = (tenant: string): number[] => [mostEntries(tenant, 'changes'), KEEP_ENTRIES_MS];

  /** Confirmed: a revoked key that comes back after a power loss would be worse than a slow answer. */
  async function change(
    given: [verb: 'put' | 'remove', id: string, text: string],
    decidedOver: string,
    { tenant, text: entry }: EntryOfChange,
  ) {
    const confirmed = await confirm();
    const announced = [MOST_KEYS, accessChanges, randomUUID()];
    const [verdict] = await run('access-change', placesOf(tenant), [
      ...given,
      ...announced,
      decidedOver,
      entry,
      ...boundsOf(tenant),
    ]);
    await confirmed?.();
    return String(verdict);
  }

  return {
    async version(): Promise<string> {
      return (await connection.hget(table, VERSION)) ?? '0';
    },
    /** null: there is none, or this version cannot read it. */
    async find(id: string): Promise<KeyRecord | null> {
      const text = id === VERSION ? null : await connection.hget(table, id);
      return text === null ? null : parsedRecord(text);
    },
    async read(): Promise<KeyTable> {
      const { [VERSION]: version = '0', ...texts } = await connection.hgetall(table);
      return { version, size: Object.keys(texts).length, keys: parsed(texts) };
    },
    /** `full`: there are `MOST_KEYS` already. `decidedOver` and `changed` as in `remove`. */
    async put(
      record: KeyRecord,
      decidedOver: string | null,
      entry: EntryOfChange,
    ): Promise<'done' | 'full' | 'changed'> {
      const verdict = await change(['put', record.id, JSON.stringify(record)], decidedOver ?? '', entry);
      return verdict === 'done' || verdict === 'changed' ? verdict : 'full';
    },
    /** `decidedOver`: the version of the keys that allowed it, null: any. `changed`: there is another one since. */
    async remove(
      id: string,
      decidedOver: string | null,
      entry: EntryOfChange,
    ): Promise<'done' | 'absent' | 'changed'> {
      const verdict = await change(['remove', id, ''], decidedOver ?? '', entry);
      return verdict === 'done' || verdict === 'changed' ? verdict : 'absent';
    },
    /** Of a key that has been revoked meanwhile, nothing is kept. */
    async noteUse(id: string, at: number): Promise<void> {
      const rest = [MOST_KEYS, '', '', '', '', ...boundsOf(DEFAULT_TENANT)];
      await run('access-change', placesOf(DEFAULT_TENANT), ['use', id, at, ...rest]);
    },
    async uses(): Promise<ReadonlyMap<string, string>> {
      return new Map(
        Object.entries(await connection.hgetall(used)).map(([id, at]) => [
          id,
          new Date(Number(at)).toISOString(),
        ]),
      );
    },
  };
}

/** Parses the records that differ from those of the call before; the others are kept as they were. */
function rememberingParser(): (texts: Readonly<Record<string, string>>) => Map<string, KeyRecord> {
  let before = new Map<string, { text: string; record: KeyRecord | null }>();
  return (texts) => {
    const read = Object.entries(texts).map(([id, text]) => {
      const known = before.get(id);
      return [id, known?.text === text ? known : { text, record: parsedRecord(text) }] as const;
    });
    before = new Map(read);
    return new Map(read.flatMap(([id, { record }]) => (record === null ? [] : [[id, record] as const])));
  };
}

/** null: of a version that means something else by it. Such a key lets nobody in. */
function parsedRecord(text: string): KeyRecord | null {
  try {
    return keyRecordSchema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

/** `now`: milliseconds since the epoch. */
export function hasExpired({ expires_at: at }: Pick<KeyRecord, 'expires_at'>, now: number): boolean {
  return at !== null && Date.parse(at) <= now;
}

export function shownKey(record: KeyRecord, usedAt: string | undefined): AccessKey {
  const { digest: _, ...shown } = record;
  return { ...shown, last_used_at: usedAt ?? null };
}
