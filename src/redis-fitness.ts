// Checks that a Redis can keep the promises: its version, and that it never drops keys by itself.
// Must never change a setting of it.
import type { RedisConnection } from './redis.ts';

/** What a Redis says of itself, as far as the promises depend on it. */
export interface RedisFacts {
  version: string;
  /** `noeviction` is the only one that keeps every key. */
  evictionPolicy: string;
  appendOnly: boolean;
  /** null when the server does not tell (managed services often hide it). */
  appendFsync: string | null;
  mode: string;
}

const OLDEST_MAJOR = 7;

function field(info: string, name: string): string | null {
  return new RegExp(`^${name}:(.*)$`, 'm').exec(info)?.[1]?.trim() ?? null;
}

export async function redisFacts(connection: RedisConnection): Promise<RedisFacts> {
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

/** A Redis that cannot keep the promises; `problems` are sentences with their remedy. */
export class UnfitRedis extends Error {
  override readonly name = 'UnfitRedis';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join(' '));
    this.problems = problems;
  }
}

/** What makes this Redis unusable, as sentences with their remedy; empty when it is fit. */
export function unfitness({ version, evictionPolicy }: RedisFacts): string[] {
  const problems: string[] = [];
  const major = Number.parseInt(version, 10);
  if (Number.isFinite(major) && major < OLDEST_MAJOR) {
    problems.push(`Redis ${version} is too old: use 7.0 or later, or Valkey.`);
  }
  if (evictionPolicy !== 'noeviction' && evictionPolicy !== 'unknown') {
    problems.push(`This Redis may drop keys (maxmemory-policy ${evictionPolicy}): set it to noeviction.`);
  }
  return problems;
}

/** Throws `UnfitRedis`. */
export async function requireFitRedis(connection: RedisConnection): Promise<RedisFacts> {
  const facts = await redisFacts(connection);
  const problems = unfitness(facts);
  if (problems.length > 0) throw new UnfitRedis(problems);
  return facts;
}
