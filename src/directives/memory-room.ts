// Bounds what the whole installation holds: a Redis that is nearly full refuses new work, so that what runs can end.
// Must never slow a submission down: what is known of Redis' memory may be a second old.
import { DirectiveRefused, problem, ServiceUnavailable } from '../contract/problem.ts';
import { evictionFault } from '../platform/redis/fitness.ts';
import { mastersOf, type RedisConnection } from '../platform/redis/connection.ts';

export interface MemoryRoom {
  /**
   * Throws `DirectiveRefused` (`service_full`) while Redis holds as much as it may, and `ServiceUnavailable` while its
   * policy, changed since the start, may drop keys.
   */
  require(): Promise<void>;
}

type Refusal = DirectiveRefused | ServiceUnavailable;

/** As Redis says it, bytes; null: it does not say. */
export interface MemoryFacts {
  used: number;
  maxmemory: number | null;
  machine: number | null;
  /** `maxmemory-policy`; `unknown` where the server hides it. */
  policy: string;
}

/** The rest of `maxmemory` is for what was accepted before: its signals, results and turns. */
const SHARE_OF_MAXMEMORY = 0.8;
/** Redis may need as much again while it rewrites its append-only file. */
const SHARE_OF_MACHINE = 0.5;
const FRESH_MS = 1_000;
const RETRY_AFTER_MS = 5_000;

/** Bytes; null: no limit is known. `configured`: `limits.total_bytes`, 0 = none. */
export function memoryLimit(
  { maxmemory, machine }: MemoryFacts,
  configured: number | undefined,
): number | null {
  if (configured !== undefined) return configured === 0 ? null : configured;
  if (maxmemory !== null) return Math.floor(maxmemory * SHARE_OF_MAXMEMORY);
  return machine === null ? null : Math.floor(machine * SHARE_OF_MACHINE);
}

export function memoryFacts(info: string): MemoryFacts {
  const bytes = (name: string): number | null =>
    Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0) || null;
  return {
    used: bytes('used_memory') ?? 0,
    maxmemory: bytes('maxmemory'),
    machine: bytes('total_system_memory'),
    policy: /^maxmemory_policy:(\S+)/m.exec(info)?.[1] ?? 'unknown',
  };
}

/** Redis' own count is the sum over all requests, lanes and indexes, and needs no bookkeeping that could drift. */
export function createMemoryRoom(
  connection: RedisConnection,
  totalBytes: number | undefined,
  now: () => number = Date.now,
): MemoryRoom {
  let refusal: Refusal | null = null;
  let askedAt = -Infinity;
  let asking: Promise<void> | undefined;

  /** Memory of the fullest master of a cluster. A Redis that does not answer is out of reach, not full. */
  async function ask(): Promise<void> {
    const masters = await mastersOf(connection);
    const facts = await Promise.all(masters.map(async (master) => memoryFacts(await master.info('memory'))));
    refusal = facts.map((each) => refusalOf(each, totalBytes)).find((each) => each !== null) ?? null;
  }

  function look(): Promise<void> {
    if (now() - askedAt < FRESH_MS) return asking ?? Promise.resolve();
    askedAt = now();
    asking = ask()
      .catch(() => {
        refusal = null;
      })
      .finally(() => {
        asking = undefined;
      });
    return asking;
  }

  return {
    async require() {
      const isFirst = askedAt === -Infinity;
      const looking = look();
      // Who is refused waits for the newest word; the others do not wait.
      if (isFirst || refusal !== null) await looking;
      if (refusal !== null) throw refusal;
    },
  };
}

function refusalOf(facts: MemoryFacts, totalBytes: number | undefined): Refusal | null {
  const evicting = evictionFault(facts.policy);
  if (evicting !== null) {
    const { says, remedy } = evicting;
    return new ServiceUnavailable(`${says}; nothing was accepted: ${remedy}`, {
      retryAfterMs: RETRY_AFTER_MS,
    });
  }
  const limit = memoryLimit(facts, totalBytes);
  if (limit === null || facts.used < limit) return null;
  const share = totalBytes === undefined ? ' (by default a share of its memory)' : '';
  const detail =
    `Redis holds ${facts.used} bytes, limits.total_bytes is ${limit}${share}; nothing was accepted, try again later: ` +
    'what is closed goes after retention.closed_ms';
  const members = { limit: 'total_bytes', limit_bytes: limit, used_bytes: facts.used };
  return new DirectiveRefused(
    problem('service_full', { detail, ...members, retry_after_ms: RETRY_AFTER_MS }),
  );
}
