/** The forms of REDIS_URL: which are right, and the messages about the others.
 *  It must not connect to anything. */
import { expect, test } from 'vitest';
import { redisUrlFault, shownAddress } from '../../../src/redis/address.ts';

test.each([
  'redis://localhost',
  'redis://localhost:6379/2',
  'redis://:secret@localhost:6379',
  'rediss://u:p%40ss@[::1]:6380?family=6',
  'redis+cluster://a:1,b:2',
  'rediss+sentinel://u:p@a:26379,b:26379/mymaster',
])('%s is right', (url) => {
  expect(redisUrlFault(url)).toBeNull();
});

test.each([
  ['localhost:6379', 'Write REDIS_URL=redis://localhost:6379.'],
  ['localhost', 'Write REDIS_URL=redis://localhost.'],
  ['http://localhost:6379', 'Write it as redis://host:6379'],
  ['redis://localhost:port', 'Write it as redis://host:6379'],
  ['redis://:6379', 'Write it as redis://host:6379'],
  ['redis+cluster://a:1,,b:2', 'Write it as redis://host:6379'],
  ['redis://a:99999', 'Write it as redis://host:6379'],
])('%s is refused with a fix', (url, fix) => {
  expect(redisUrlFault(url)?.fix).toContain(fix);
});

test.each(['redis://u:hunter2@host:port', 'u:hunter2@host', 'hunter2@', 'redis://u:hun@ter2@host:0/x'])(
  '%s is never shown with its password',
  (url) => {
    expect(`${shownAddress(url)} ${JSON.stringify(redisUrlFault(url))}`).not.toMatch(/hunter2|ter2/);
  },
);
