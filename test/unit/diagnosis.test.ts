/** What is said of a Redis, from the facts it tells.
 *  It must not connect to one: the integration test does. */
import { expect, test } from 'vitest';
import { redisFindings } from '../../src/diagnosis.ts';
import type { RedisFacts } from '../../src/redis-fitness.ts';

const good: RedisFacts = {
  version: '7.2.4',
  evictionPolicy: 'noeviction',
  appendOnly: true,
  appendFsync: 'everysec',
  mode: 'standalone',
};

test.each([
  [{}, []],
  [{ version: '6.2.14' }, ['redis']],
  [{ version: '10.0.0' }, []],
  [{ version: 'unknown' }, []],
  [{ evictionPolicy: 'volatile-lru' }, ['eviction']],
  [{ evictionPolicy: 'unknown' }, []],
  [{ appendOnly: false }, ['persistence']],
  [{ appendFsync: 'no' }, ['persistence']],
  [{ appendFsync: null }, []],
  [
    { version: '5.0.3', evictionPolicy: 'allkeys-lru', appendOnly: false },
    ['redis', 'eviction', 'persistence'],
  ],
] satisfies [Partial<RedisFacts>, string[]][])('a Redis with %j has the faults %j', (facts, expected) => {
  const findings = redisFindings({ ...good, ...facts }, 1);
  expect(findings.map(({ subject }) => subject)).toEqual(['redis', 'eviction', 'persistence']);
  expect(findings.filter(({ ok }) => !ok).map(({ subject }) => subject)).toEqual(expected);
  for (const { ok, fix } of findings) expect(fix === null).toBe(ok);
});
