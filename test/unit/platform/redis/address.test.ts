/** The forms of REDIS_URL: which are right, and the messages about the others.
 *  It must not connect to anything. */
import { expect, test } from 'vitest';
import { readNodesAddress, redisUrlFault, shownAddress } from '../../../../src/platform/redis/address.ts';

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

test('a node without a port has the default one, and IPv6 has no brackets', () => {
  expect(readNodesAddress('redis+cluster://host,[::1],[fe80::2]:7000', 6_379)).toMatchObject({
    isTls: false,
    nodes: [
      { host: 'host', port: 6_379 },
      { host: '::1', port: 6_379 },
      { host: 'fe80::2', port: 7_000 },
    ],
    credentials: {},
  });
});

test('sentinels may have credentials of their own, which are never shown', () => {
  const url = 'rediss+sentinel://app:p%40ss:w@a:1,b/main?sentinel_username=s&sentinel_password=hun%26ter2';
  const { query, ...address } = readNodesAddress(url, 26_379);
  expect(address).toEqual({
    isTls: true,
    nodes: [
      { host: 'a', port: 1 },
      { host: 'b', port: 26_379 },
    ],
    credentials: { username: 'app', password: 'p@ss:w' },
    path: 'main',
  });
  expect([query.get('sentinel_username'), query.get('sentinel_password')]).toEqual(['s', 'hun&ter2']);
  expect(`${shownAddress(url)} ${JSON.stringify(redisUrlFault(url))}`).not.toMatch(/p%40ss|ter2/);
});
