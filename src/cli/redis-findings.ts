/** What the doctor finds in a Redis: whether it answers, its version, and whether it may forget.
 *  It must never change a setting of it. */
import { fault, fine, type Finding } from './finding.ts';

const OLDEST_MAJOR = 7;

/** What a Redis says of itself; null where it does not tell (managed services often hide it). */
export interface RedisReport {
  readonly version: string | null;
  readonly evictionPolicy: string | null;
  readonly appendOnly: boolean;
  readonly appendFsync: string | null;
}

/** Connects for the length of one question. */
export async function examineRedis(url: string): Promise<Finding[]> {
  const { closeRedis, connectRedis } = await import('../redis.ts');
  const connection = connectRedis(url, 'submit');
  try {
    const info = await connection.info();
    const fsync = await connection.call('CONFIG', 'GET', 'appendfsync').catch(() => null);
    return redisFindings(readInfo(info, fsync));
  } catch (error) {
    const says = `does not answer at ${withoutCredentials(url)}: ${(error as Error).message}`;
    return [fault('redis', says, 'Start it, or correct REDIS_URL.')];
  } finally {
    await closeRedis(connection);
  }
}

export function readInfo(info: string, fsync: unknown): RedisReport {
  const field = (name: string): string | null =>
    new RegExp(`^${name}:(.*)$`, 'm').exec(info)?.[1]?.trim() ?? null;
  return {
    version: field('redis_version') ?? field('valkey_version'),
    evictionPolicy: field('maxmemory_policy'),
    appendOnly: field('aof_enabled') === '1',
    appendFsync: Array.isArray(fsync) && typeof fsync[1] === 'string' ? fsync[1] : null,
  };
}

/** The pure part: version, eviction and persistence, each with its fix. */
export function redisFindings(report: RedisReport): Finding[] {
  return [versionFinding(report), evictionFinding(report), persistenceFinding(report)];
}

function versionFinding({ version }: RedisReport): Finding {
  const major = Number.parseInt(version ?? '', 10);
  if (major < OLDEST_MAJOR)
    return fault('redis', `version ${version} is too old`, 'Use Redis 7.0 or later, or Valkey.');
  return fine('redis', `answers, version ${version ?? 'not told'}`);
}

function evictionFinding({ evictionPolicy }: RedisReport): Finding {
  if (evictionPolicy === null || evictionPolicy === 'noeviction')
    return fine('eviction', evictionPolicy ?? 'not told');
  const says = `maxmemory-policy is ${evictionPolicy}: Redis may drop accepted directives`;
  return fault('eviction', says, 'Set `maxmemory-policy noeviction` in its configuration.');
}

function persistenceFinding({ appendOnly, appendFsync }: RedisReport): Finding {
  if (!appendOnly) {
    const says = 'appendonly is off: a restart of Redis forgets accepted directives';
    return fault(
      'persistence',
      says,
      'Set `appendonly yes` (CONFIG SET appendonly yes, then CONFIG REWRITE).',
    );
  }
  if (appendFsync !== 'no')
    return fine('persistence', `append-only file, fsync ${appendFsync ?? 'not told'}`);
  const says = 'appendfsync is no: a power cut may lose many seconds';
  return fault(
    'persistence',
    says,
    'Set `appendfsync everysec`, or `always` when not even a second may be lost.',
  );
}

function withoutCredentials(url: string): string {
  return url.replace(/\/\/[^@/]*@/, '//…@');
}
