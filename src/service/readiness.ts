// Whether a process can do its work now, as `/readyz` reports it.
// Must never take longer than who asks is willing to wait.
import type { Hearing } from '../journal/channel.ts';
import { settledWithin } from '../lifecycle.ts';
import type { RedisConnection } from '../redis/connection.ts';

/** Less than `adjutant doctor` and supervisors wait. A command to a Redis that is away takes 5 s to fail. */
const READINESS_LIMIT_MS = 2_000;

/** `channels`: what this process listens to, by name; null: it does not. */
export async function readiness(
  connection: RedisConnection,
  channels: Readonly<Record<string, (() => Hearing) | null>>,
) {
  let answered = false;
  const asked = connection.ping().then(() => {
    answered = true;
  });
  await settledWithin(asked, READINESS_LIMIT_MS);
  const heard = Object.entries(channels).flatMap(([name, hearing]) =>
    hearing ? [{ name, ...hearing() }] : [],
  );
  const checks = Object.fromEntries(heard.map(({ name, lostAt }) => [name, hearingText(lostAt)]));
  return {
    ok: answered && heard.every(({ ok }) => ok),
    checks: { redis: answered ? 'ok' : 'out of reach', ...checks },
  };
}

function hearingText(lostAt: number | null): string {
  if (lostAt === null) return 'ok';
  return `not heard since ${new Date(lostAt).toISOString()}: what is announced is noticed up to 5 s late`;
}
