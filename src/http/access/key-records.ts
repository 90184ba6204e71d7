// The API keys of an installation in Redis: their hashes and rights, a version that each change replaces, and when each was used.
// Must never get the text of a key.
import { DEFAULT_TENANT } from '../../contract/access/tenant.ts';
import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import { accessKeySchema, type AccessKey } from '../../contract/access/access.ts';
import { KEEP_ENTRIES_MS, mostEntries } from '../../store/access/audit-log.ts';
import { prepareScripts } from '../../store/scripts.ts';
import type { KeySpace } from '../../store/keys.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';

/** All keys are read at the start of a process, and when it has missed too many changes. */
export const MOST_KEYS = 1_000;
/** Changes that the version names. A process that has missed more of them reads all keys. */
const MOST_NAMED = 32;

const VERSION = '@version';

export const keyRecordSchema = z.object({
  ...accessKeySchema.omit({ last_used_at: true }).shape,
  digest: z.string().length(64),
});

export type KeyRecord = z.infer<typeof keyRecordSchema>;

export interface KeyTable {
  readonly version: string;
  /** The number, with records that this version cannot read: such a key is not accepted, and keys stay required. */
  readonly size: number;
  readonly keys: ReadonlyMap<string, KeyRecord>;
}

/** The audit entry of a change, written with it. */
export interface EntryOfChange {
  readonly tenant: string;
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
  let last = NOTHING_READ;
  const [table, used] = access;
  const { readVersion, readAll, readChanged } = createKeyReader(connection, table);
  const placesOf = (tenant: string): string[] => [...access, audit(tenant).changes];
  const boundsOf = (tenant: string): number[] => [mostEntries(tenant, 'changes'), KEEP_ENTRIES_MS];

  /** Confirmed: a revoked key that comes back after a power loss would be worse than a slow answer. */
  async function change(
    given: [verb: 'put' | 'remove', id: string, text: string],
    decidedOver: string,
    { tenant, text: entry }: EntryOfChange,
  ) {
    const confirmed = await confirm();
    const announced = [MOST_KEYS, accessChanges, `${randomUUID()}:${given[1]}`];
    const [verdict] = await run('access-change', placesOf(tenant), [
      ...given,
      ...announced,
      decidedOver,
      entry,
      ...boundsOf(tenant),
      MOST_NAMED,
    ]);
    await confirmed?.();
    return String(verdict);
  }

  return {
    version: readVersion,
    /** null: there is none, or this version cannot read it. */
    async find(id: string): Promise<KeyRecord | null> {
      const text = id === VERSION ? null : await connection.hget(table, id);
      return text === null ? null : parsedRecord(text);
    },
    /** Asks Redis for the keys that have changed since the call before; `whole`: for all, as after another Redis took over. */
    async read({ whole = false } = {}): Promise<KeyTable> {
      last = whole ? await readAll() : await readChanged(last);
      const keys = [...last.records].flatMap(([id, record]) =>
        record === null ? [] : [[id, record] as const],
      );
      return { version: last.version, size: last.records.size, keys: new Map(keys) };
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
    /** The use of a key that has been revoked meanwhile is not stored. */
    async noteUse(id: string, at: number): Promise<void> {
      const rest = [MOST_KEYS, '', '', '', '', ...boundsOf(DEFAULT_TENANT), MOST_NAMED];
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

/** Reads the records of the keys: their version, all of them, or those that have changed. */
function createKeyReader(connection: RedisConnection, table: string) {
  async function readVersion(): Promise<string> {
    return (await connection.hget(table, VERSION)) ?? '0';
  }

  async function readAll(): Promise<ReadKeys> {
    const { [VERSION]: version = '0', ...texts } = await connection.hgetall(table);
    return { version, records: new Map(Object.entries(texts).map(([id, text]) => [id, parsedRecord(text)])) };
  }

  /** The records may be newer than the version: then its next comparison finds the difference. */
  async function readChanged(before: ReadKeys): Promise<ReadKeys> {
    const version = await readVersion();
    const ids = changedBetween(before.version, version);
    if (ids === null) return readAll();
    const texts = ids.length === 0 ? [] : await connection.hmget(table, ...ids);
    const records = new Map(before.records);
    for (const [index, id] of ids.entries()) {
      const text = texts[index] ?? null;
      if (text === null) records.delete(id);
      else records.set(id, parsedRecord(text));
    }
    return { version, records };
  }

  return { readVersion, readAll, readChanged };
}

/** The keys as they were read last; null: a record that this version cannot read. */
interface ReadKeys {
  readonly version: string;
  readonly records: ReadonlyMap<string, KeyRecord | null>;
}

const NOTHING_READ: ReadKeys = { version: '', records: new Map() };

/** The keys that were changed from one version to another; null: unknown. */
function changedBetween(before: string, after: string): string[] | null {
  if (before === after) return [];
  const [newest = ''] = before.split(' ');
  const changes = after.split(' ');
  const at = changes.indexOf(newest);
  if (at === -1) return null;
  return [...new Set(changes.slice(0, at).map((change) => change.slice(change.indexOf(':') + 1)))];
}

/** The record; null: one of a version that gives it another meaning. Such a key is not accepted. */
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

/** Why a key of the tenant admits no caller any more, as the end of a sentence; null: it does. */
export function endOfKey(record: KeyRecord | null, tenant: string, now: number): string | null {
  if (record === null || record.tenant !== tenant) return 'is revoked';
  return hasExpired(record, now) ? 'has expired' : null;
}

export function shownKey(record: KeyRecord, usedAt: string | undefined): AccessKey {
  const { digest: _, ...shown } = record;
  return { ...shown, last_used_at: usedAt ?? null };
}
