/** Checks that a Redis can keep the guarantees: its version, that it never evicts keys, and what its user may do. */
import { missingPermissions, type Permission } from './permissions.ts';
import { mastersOf, type RedisConnection } from './connection.ts';

/** Facts that a Redis reports about itself, as far as the guarantees depend on them. */
export interface RedisFacts {
  version: string;
  /** Only `noeviction` keeps every key. */
  evictionPolicy: string;
  appendOnly: boolean;
  /** null when the server hides it (managed services often do). */
  appendFsync: string | null;
  mode: string;
}

const OLDEST_MAJOR = 7;

function field(info: string, name: string): string | null {
  return new RegExp(`^${name}:(.*)$`, 'm').exec(info)?.[1]?.trim() ?? null;
}

/** For a cluster, the facts of its least fit master. */
export async function redisFacts(connection: RedisConnection): Promise<RedisFacts> {
  const facts = await Promise.all((await mastersOf(connection)).map(factsOf));
  const [worst] = facts.toSorted((one, other) => demerits(other) - demerits(one));
  return worst ?? factsOf(connection);
}

/** A reason to refuse counts more than a warning. */
function demerits(facts: RedisFacts): number {
  const unadvised = [!facts.appendOnly, facts.appendFsync === 'no'].filter(Boolean).length;
  return 10 * unfitness(facts).length + unadvised;
}

async function factsOf(connection: RedisConnection): Promise<RedisFacts> {
  const info = await connection.info();
  const fsync = (await connection.call('CONFIG', 'GET', 'appendfsync').catch(() => null)) as string[] | null;
  return {
    version: field(info, 'redis_version') ?? field(info, 'valkey_version') ?? 'unknown',
    evictionPolicy: field(info, 'maxmemory_policy') ?? 'unknown',
    appendOnly: field(info, 'aof_enabled') === '1',
    appendFsync: fsync?.[1] ?? null,
    mode: field(info, 'redis_mode') ?? 'standalone',
  };
}

/** One reason why a Redis cannot keep the guarantees, and what to do about it. */
export interface Unfitness {
  readonly aspect: 'version' | 'eviction' | 'permission';
  readonly says: string;
  readonly remedy: string;
}

/** A Redis that cannot keep the guarantees; the message names every reason with its remedy. */
export class UnfitRedis extends Error {
  override readonly name = 'UnfitRedis';
  readonly problems: readonly Unfitness[];

  constructor(problems: readonly Unfitness[]) {
    super(problems.map(({ says, remedy }) => `${says}: ${remedy}.`).join(' '));
    this.problems = problems;
  }
}

/** Reasons why this Redis is unusable; empty when it is fit. */
export function unfitness({ version, evictionPolicy }: RedisFacts): Unfitness[] {
  const problems: Unfitness[] = [];
  const major = Number.parseInt(version, 10);
  if (Number.isFinite(major) && major < OLDEST_MAJOR) {
    const remedy = `use Redis ${OLDEST_MAJOR}.0 or later, or Valkey`;
    problems.push({ aspect: 'version', says: `Redis ${version} is too old`, remedy });
  }
  const evicting = evictionFault(evictionPolicy);
  return evicting === null ? problems : [...problems, evicting];
}

/** null: the policy keeps every key, or the server hides it. */
export function evictionFault(policy: string): Unfitness | null {
  if (policy === 'noeviction' || policy === 'unknown') return null;
  return {
    aspect: 'eviction',
    says: `This Redis may drop accepted directives (maxmemory-policy ${policy})`,
    remedy: 'set `maxmemory-policy noeviction` in its configuration',
  };
}

/** A required permission that the user does not have. */
export function permissionFault({ rule, needs }: Permission): Unfitness {
  return {
    aspect: 'permission',
    says: `The user of this Redis lacks a permission, which is needed for ${needs}`,
    remedy: `grant ${rule}`,
  };
}

/** Throws `UnfitRedis`. */
export async function requireFitRedis(connection: RedisConnection, prefix: string): Promise<RedisFacts> {
  const missing = (await missingPermissions(connection, prefix)).filter(({ isRequired }) => isRequired);
  if (missing.length > 0) throw new UnfitRedis(missing.map(permissionFault));
  const facts = await redisFacts(connection);
  const problems = unfitness(facts);
  if (problems.length > 0) throw new UnfitRedis(problems);
  return facts;
}
