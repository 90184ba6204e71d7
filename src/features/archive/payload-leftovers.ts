// Removes large payloads whose requests are gone, or were never accepted.
// Must never remove anything while Redis is not the one that the folder belongs to.
import { INCOMING } from './folder-files.ts';
import type { ObjectStore } from './object-store.ts';

/** Longer than any submission takes from its payload to its acceptance. */
const IDLE_MS = 3_600_000;
/** Most requests of one pass: the next one continues where it ended. */
const MOST_LOOKS = 100_000;
/** In the folder of the installation: the name of its Redis. */
const OWNER = 'owner';
const MOST_OWNER_BYTES = 64;
const FOLDER = /^i-[^/]+\/t-(?<tenant>[^/]+)\/r-(?<id>[A-Za-z0-9._:-]{1,128})$/;

export interface Leftovers {
  readonly store: ObjectStore;
  /** Prefix of the keys in Redis. */
  readonly installation: string;
  /** Whether there is the request, by its scoped id. Rejects where that is unknown. */
  exists(requestId: string): Promise<boolean>;
  scopedId(tenant: string, id: string): string;
  /** null: Redis has no name, or has lost it with all that it held. */
  redisName(): Promise<string | null>;
  /** Gives it one, and returns the one that it has. */
  nameRedis(): Promise<string>;
  readonly idleMs?: number;
  readonly mostLooks?: number;
}

/** A pass; it returns how many folders it removed, and rejects where the folder belongs to another Redis. */
export function createLeftoverRemover(leftovers: Leftovers): (stop: AbortSignal) => Promise<number> {
  const { store, installation, redisName, idleMs = IDLE_MS, mostLooks = MOST_LOOKS } = leftovers;
  let folders: AsyncIterator<string> | null = null;

  /** Redis may be replaced during a pass. */
  async function removes(folder: string, owner: string): Promise<boolean> {
    // @guard payload-redis-replaced
    if (!(await isLeftover(leftovers, folder)) || (await redisName()) !== owner) return false;
    return store.removeIdle(folder, idleMs);
  }

  return async (stop) => {
    const owner = await ownerOf(leftovers);
    folders ??= store.idleFolders?.(idleMs, `i-${installation}`)[Symbol.asyncIterator]() ?? null;
    let removed = 0;
    for (let looks = 0; folders !== null && looks < mostLooks && !stop.aborted; looks += 1) {
      const { done, value } = await folders.next();
      if (done === true) folders = null;
      else if (await removes(value, owner)) removed += 1;
    }
    if (stop.aborted) await folders?.return?.();
    return removed;
  };
}

async function isLeftover({ exists, scopedId }: Leftovers, folder: string): Promise<boolean> {
  if (folder.startsWith(`${INCOMING}/`)) return true;
  const { tenant, id } = FOLDER.exec(folder)?.groups ?? {};
  // @guard payload-needed
  return tenant !== undefined && id !== undefined && !(await exists(scopedId(tenant, id)));
}

/** The name of Redis, where the folder has the same; a new folder gets it. */
async function ownerOf({ store, installation, redisName, nameRedis }: Leftovers): Promise<string> {
  const folder = `i-${installation}/`;
  const marked = await store.get(folder, OWNER, MOST_OWNER_BYTES);
  const name = await redisName();
  if (marked === null) {
    const given = name ?? (await nameRedis());
    await store.put(folder, OWNER, Buffer.from(given));
    return given;
  }
  // @guard payload-empty-redis
  if (marked.toString() === name) return name;
  throw new Error(
    `no large payload is removed from ${store.place}: Redis ${name === null ? 'is new or empty' : 'is another one'}, and the payloads may belong to the records of the old one; ` +
      `if those are gone for good, delete the file ${folder}${OWNER} there`,
  );
}
