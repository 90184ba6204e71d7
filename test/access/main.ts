/** The long form of the fuzz of keys: `npm run test:access -- [requests] [seed]`, 100 000 by default.
 *  It must never exit 0 when a caller got in, when a secret was shown, or when an answer was not what a caller without rights may get. */
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { createAccessClient, createHttpClient } from '../../src/client/http-client.ts';
import { chanceOf } from '../chaos/random.ts';
import { spawnNode } from '../support/process.ts';
import { startRedis } from '../support/redis.ts';
import { CONTENT, keyFuzz, type FuzzedKeys } from './key-fuzz.ts';
import { contentOf } from './redis-content.ts';
import { operationsOf } from './operations.ts';

const DEFAULT_REQUESTS = 100_000;
const AT_ONCE = 32;
const MOST_SHOWN = 30;
const OWNED = { type: 'emit_tool_error', tool_name: 'a.b', error: CONTENT } as const;
const CLI = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url));

const requests = Number(process.argv[2] ?? DEFAULT_REQUESTS);
const seed = process.argv[3] ?? String(Date.now());
const redis = await startRedis();
const adminKey = randomBytes(32).toString('hex');
const api = spawnNode(['--conditions=adjutant-source', CLI, 'api', '--port', '0'], {
  env: {
    REDIS_URL: redis.url,
    ADJUTANT_ADMIN_KEY: adminKey,
    ADJUTANT_LOG_LEVEL: 'trace',
    ADJUTANT_API_KEY: undefined,
  },
});
const line = await api.waitForLine(/http:\/\/127\.0\.0\.1:\d+/);
const url = /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0] ?? '';

async function makeKeys(): Promise<FuzzedKeys> {
  const admin = createAccessClient({ baseUrl: url, apiKey: adminKey });
  const owner = createHttpClient({ baseUrl: url, apiKey: adminKey });
  await owner.submit({ ...OWNED, request_id: 'fuzzed', id: 'fuzzed' });
  const owned = JSON.stringify(await owner.directive('fuzzed', 'fuzzed'));
  if (!owned.includes(CONTENT)) throw new Error('its owner does not read the request that others must not');
  const make = async (scopes: readonly ['read'] | readonly ['submit', 'admin'], expiresAt?: string) =>
    admin.create({
      name: 'fuzz',
      scopes: [...scopes],
      ...(expiresAt === undefined ? {} : { expires_at: expiresAt }),
    });
  const expired = await make(['submit', 'admin'], new Date(Date.now() + 1_500).toISOString());
  const revoked = await make(['submit', 'admin']);
  const valid = await make(['submit', 'admin']);
  const reader = await make(['read']);
  const foreign = await admin.create({ name: 'foreign', tenant: 'other', scopes: ['read'] });
  await admin.revoke(revoked.id);
  while (Date.now() <= Date.parse(expired.expires_at ?? ''))
    await new Promise((resolve) => setTimeout(resolve, 50));
  const [revokedKey, expiredKey] = [revoked.key, expired.key];
  const counting = { valid: valid.key, reader: reader.key, foreign: foreign.key };
  return { adminKey, revoked: revokedKey, expired: expiredKey, ...counting };
}

const keys = await makeKeys();
const operations = await operationsOf(url);
// The use of a key is noted once before: later uses within a minute write nothing.
for (const key of [keys.reader, keys.foreign])
  await fetch(`${url}/v1/lanes`, { headers: { authorization: `Bearer ${key}` } });
const before = await contentOf(redis.url);
const fuzz = keyFuzz({ url, keys, operations, chance: chanceOf(seed) });
const startedAt = performance.now();
let begun = 0;
await Promise.all(
  Array.from({ length: AT_ONCE }, async () => {
    while (begun < requests) {
      begun += 1;
      await fuzz.send();
    }
  }),
);
const seconds = Math.round((performance.now() - startedAt) / 1_000);
const after = await contentOf(redis.url);
const exit = await api.stop();
await redis.stop();

const failures = [
  ...fuzz.failures,
  ...[...after].filter((entry) => !before.has(entry)).map((entry) => `left in Redis: ${entry.slice(0, 200)}`),
  ...api.lines.filter((each) => fuzz.showsSecret(each)).map((each) => `in the log: ${each.slice(0, 200)}`),
  ...(exit.code === 0 ? [] : [`the API ended with ${String(exit.code ?? exit.signal)}`]),
];
const statuses = Object.entries(fuzz.statuses()).map(([status, count]) => `${status} ${count} times`);
const summary = [
  `${fuzz.sent()} requests in ${seconds} s, seed ${seed}: ${statuses.join(', ')}`,
  `${api.lines.length} lines of the log read, ${failures.length} failures`,
];
process.stdout.write(`${[...summary, ...failures.slice(0, MOST_SHOWN)].join('\n')}\n`);
process.exitCode = failures.length === 0 && fuzz.sent() === requests ? 0 : 1;
