/** Which errors mean "try again later".
 *  It must never let a refusal or a bug look like an absent Redis. */
import { describe, expect, test } from 'vitest';
import { DirectiveRefused, problem, ServiceUnavailable } from '../../../../src/contract/problem.ts';
import { isRedisAway, whileAvailable, whyAway } from '../../../../src/platform/redis/unavailable.ts';

const AWAY = [
  'Connection is closed.',
  'Command timed out',
  "Socket timeout. Expecting data, but didn't receive any in 20000ms.",
  'connect ECONNREFUSED 127.0.0.1:6379',
  'read ECONNRESET',
  'getaddrinfo ENOTFOUND redis',
  'getaddrinfo EAI_AGAIN redis',
  'write EPIPE',
  "Stream isn't writeable and enableOfflineQueue options is false",
  'Reached the max retries per request limit (which is 20).',
  'LOADING Redis is loading the dataset in memory',
  "READONLY You can't write against a read only replica.",
  "OOM command not allowed when used memory > 'maxmemory'.",
  'MISCONF Redis is configured to save RDB snapshots',
  'CLUSTERDOWN The cluster is down',
  'BUSY Redis is busy running a script.',
  'UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)',
  'Too many Cluster redirections. Last error: ReplyError: CLUSTERDOWN The cluster is down',
  'Too many Cluster redirections. Last error: Error: Connection is closed.',
  'No subscriber for the cluster',
];

const PRESENT = [
  'ERR unknown command',
  'WRONGTYPE Operation against a key holding the wrong kind of value',
  'BUSYGROUP Consumer Group name already exists',
  'NOAUTH Authentication required.',
  "Cannot read properties of undefined (reading 'id')",
];

describe('an error of Redis', () => {
  test.each(AWAY)('that says "%s" means that it is away', (message) => {
    expect(isRedisAway(new Error(message))).toBe(true);
  });

  test.each(PRESENT)('that says "%s" does not', (message) => {
    expect(isRedisAway(new Error(message))).toBe(false);
  });

  test('must be an error', () => {
    expect(isRedisAway('Connection is closed.')).toBe(false);
  });
});

// A full Redis answers OOM, one that cannot save MISCONF (Redis' documentation of maxmemory and of persistence).
test.each([
  ["OOM command not allowed when used memory > 'maxmemory'.", 'Redis is full'],
  ['Too many Cluster redirections. Last error: ReplyError: OOM command not allowed', 'Redis is full'],
  ['MISCONF Redis is configured to save RDB snapshots', 'cannot save'],
  ["READONLY You can't write against a read only replica.", 'refuses commands at the moment (READONLY)'],
  ['Connection is closed.', 'Redis is unreachable'],
])('the reason of "%s" is named', async (message, words) => {
  expect(whyAway(new Error(message))).toContain(words);
  const refused = whileAvailable(() => Promise.reject(new Error(message)));
  await expect(refused).rejects.toThrow(words);
});

describe('a call', () => {
  test('passes its result on', async () => {
    expect(await whileAvailable(() => Promise.resolve(1))).toBe(1);
  });

  test('without Redis fails with the time to try again, and keeps the cause', async () => {
    const cause = new Error('Connection is closed.');
    const error: unknown = await whileAvailable(() => Promise.reject(cause)).catch(
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(ServiceUnavailable);
    expect(error).toMatchObject({ retryAfterMs: 1_000, cause });
  });

  test.each([new DirectiveRefused(problem('id_conflict')), new TypeError('broken')])(
    'that fails otherwise keeps its error: %s',
    async (error) => {
      await expect(whileAvailable(() => Promise.reject(error))).rejects.toBe(error);
    },
  );
});
