// The API keys as this process knows them: read from Redis, and asked again before they are too old.
// Must never be used when it is not fresh.
import { DEFAULT_TENANT } from '../../contract/access/tenant.ts';
import { hasExpired, type KeyRecord, type KeyRecords, type KeyTable } from './key-records.ts';

/** Keys that change again and again must not hold up a caller for ever. */
const MOST_ASKED = 3;
/** A revocation counts everywhere within 2 s, heard of or not: the rest is for the answer of Redis. */
const FRESH_MS = 1_500;

export interface KnownKeys {
  /** Undefined: there is none of this id. */
  find(id: string): KeyRecord | undefined;
  /** Readable or not. */
  readonly size: number;
  /** Whether there ever was one, as Redis remembers. */
  readonly wereUsed: boolean;
  /** Whether one may make and revoke keys of all tenants. */
  mayAdmin(at: number): boolean;
  readonly isFresh: boolean;
  /** Resolves when it is fresh; calls at the same time ask Redis once. Rejects when Redis does not answer. */
  refresh(): Promise<void>;
  /**
   * Marks the known keys as possibly outdated. `whole`: even if the version is the same, as after a failover of Redis.
   */
  doubt(whole: boolean): void;
}

type Records = Pick<KeyRecords, 'read' | 'version'>;

/** The version of an installation that never had a key. */
const NEVER_CHANGED = '0';
const NOTHING: KeyTable = { version: '', size: 0, keys: new Map() };

/** `now`: milliseconds of a clock that is never set. */
export function createKnownKeys(records: Records, now: () => number = () => performance.now()): KnownKeys {
  let table = NOTHING;
  let freshUntil = -Infinity;
  let doubts = 0;
  let asking: Promise<void> | undefined;

  /** A change that is announced while Redis answers may be missing in the answer: then it is read again. */
  async function ask(): Promise<void> {
    for (let left = MOST_ASKED; left > 0; left -= 1) {
      const begun = { at: now(), doubts };
      const version = await records.version();
      if (version !== table.version) table = await records.read({ whole: table.version === '' });
      if (begun.doubts !== doubts) continue;
      freshUntil = begun.at + FRESH_MS;
      return;
    }
  }

  return {
    find: (id) => table.keys.get(id),
    get size() {
      return table.size;
    },
    get wereUsed() {
      return table.version !== '' && table.version !== NEVER_CHANGED;
    },
    mayAdmin: (at) =>
      [...table.keys.values()].some(
        (key) => key.tenant === DEFAULT_TENANT && key.scopes.includes('admin') && !hasExpired(key, at),
      ),
    get isFresh() {
      return now() < freshUntil;
    },
    refresh() {
      asking ??= ask().finally(() => {
        asking = undefined;
      });
      return asking;
    },
    doubt(whole) {
      doubts += 1;
      freshUntil = -Infinity;
      if (whole) table = { ...table, version: '' };
    },
  };
}
