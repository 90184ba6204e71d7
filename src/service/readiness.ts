// Whether a process can do its work now, as `/readyz` reports it.
// Must never take longer than who asks is willing to wait.
import type { PresentWorker, Workers } from '../store/catalog/workers.ts';
import type { Hearing } from '../store/log/channel.ts';
import { settledWithin } from '../platform/lifecycle.ts';
import type { RedisConnection } from '../platform/redis/connection.ts';

/** Less than `adjutant doctor` and supervisors wait. A command to a Redis that is away takes 5 s to fail. */
const READINESS_LIMIT_MS = 2_000;

/** Informative roles: without them this process accepts and answers all the same. */
const OTHER_ROLES = ['engine', 'worker'];

export interface ReadinessFacts {
  /** Presence of other roles. Default: not reported. */
  workers?: Pick<Workers, 'read'>;
  /** Informative state. Default: not reported. */
  isListed?: boolean;
}

const LIST_OFF = 'off: search.enabled is false';

/** `channels`: what this process listens to, by name; null: it does not. */
export async function readiness(
  connection: RedisConnection,
  channels: Readonly<Record<string, (() => Hearing) | null>>,
  { workers, isListed = true }: ReadinessFacts = {},
) {
  let answered = false;
  let roles: Record<string, string> = {};
  const asked = connection.ping().then(() => {
    answered = true;
  });
  const listed = workers?.read().then((present) => {
    roles = Object.fromEntries(OTHER_ROLES.map((role) => [role, roleText(role, present)]));
  });
  await settledWithin(Promise.all([asked, listed]), READINESS_LIMIT_MS);
  const heard = Object.entries(channels).flatMap(([name, hearing]) =>
    hearing ? [{ name, ...hearing() }] : [],
  );
  const checks = Object.fromEntries(heard.map(({ name, lostAt }) => [name, hearingText(lostAt)]));
  const search = isListed ? {} : { search: LIST_OFF };
  return {
    ok: answered && heard.every(({ ok }) => ok),
    checks: { redis: answered ? 'ok' : 'out of reach', ...checks, ...roles, ...search },
  };
}

function roleText(role: string, present: readonly PresentWorker[]): string {
  const having = present.filter(({ roles }) => roles.includes(role));
  if (having.some(({ state }) => state === 'working')) return 'ok';
  return having.length > 0 ? 'none works: all are drained or stopping' : 'none works';
}

function hearingText(lostAt: number | null): string {
  if (lostAt === null) return 'ok';
  return `not heard since ${new Date(lostAt).toISOString()}: what is announced is noticed up to 5 s late`;
}
