/** Which addresses a delivery may reach, as literals and as answers of a name server.
 *  It must not ask a real name server. */
import { describe, expect, test } from 'vitest';
import {
  checkedLookup,
  isPublicAddress,
  nearnessOf,
  PUBLIC_ONLY,
} from '../../../../src/platform/bounds/outgoing-request.ts';
import { receiverFault } from '../../../../src/cli/doctor/webhooks.ts';
import { post } from '../../../../src/features/webhooks/post.ts';

const PRIVATE = [
  '0.0.0.0',
  '10.0.0.1',
  '100.64.0.1',
  '127.0.0.1',
  '127.255.255.254',
  '169.254.169.254',
  '172.16.0.1',
  '192.0.0.1',
  '192.168.1.1',
  '192.88.99.1',
  '198.18.0.1',
  '224.0.0.1',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::ffff:127.0.0.1',
  '::ffff:10.0.0.1',
  '::127.0.0.1',
  '::7f00:1',
  '168.63.129.16',
  '::ffff:a83f:8110',
  '64:ff9b::7f00:1',
  '64:ff9b:1::a00:1',
  '2002:7f00:1::',
  '2001::1',
  '100::1',
  'fc00::1',
  'fd12:3456::1',
  'fe80::1',
  'fec0::1',
  'ff02::1',
];

const LOOKED_UP = (addresses: readonly string[]) => async () => addresses;

const delivery = (url: string, addresses: readonly string[] = []) => ({
  url,
  headers: {},
  body: '{}',
  timeoutMs: 1_000,
  privateAddresses: false,
  signal: new AbortController().signal,
  resolve: LOOKED_UP(addresses),
});

describe('an address', () => {
  test.each(PRIVATE)('%s is not public', (address) => expect(isPublicAddress(address)).toBe(false));
  test.each(['8.8.8.8', '1.1.1.1', '::ffff:8.8.8.8', '2606:4700::1111'])('%s is public', (address) =>
    expect(isPublicAddress(address)).toBe(true),
  );
  test.each([
    ['8.8.8.8', 0],
    ['10.0.0.1', 1],
    ['100.64.0.1', 1],
    ['fd00::1', 1],
    ['127.0.0.1', 2],
    ['169.254.169.254', 2],
    ['168.63.129.16', 2],
    ['::10.0.0.1', 2],
    ['64:ff9b:1::a00:1', 2],
    ['2002:a00:1::', 2],
    ['fec0::1', 2],
    ['192.88.99.1', 2],
  ])('%s is at nearness %i', (address, nearness) => expect(nearnessOf(address)).toBe(nearness));
  test.each(['', 'localhost', '1.2.3.4.5', 'fe80::1%eth0'])('%j is none', (text) =>
    expect(isPublicAddress(text)).toBe(false),
  );
});

describe('a delivery', () => {
  test.each([
    'http://127.0.0.1:9/',
    'http://[::1]:9/',
    'http://[::ffff:7f00:1]:9/',
    'http://0x7f.1:9/',
    'http://2130706433:9/',
    'http://0/',
    'http://169.254.169.254/latest/meta-data',
  ])('does not reach %s', async (url) => {
    await expect(post(delivery(url))).rejects.toMatchObject({ name: 'PrivateAddress' });
  });

  test.each(PRIVATE)('does not reach a name that is %s', async (address) => {
    const sent = post(delivery('http://rebound.example:9/', [address]));
    await expect(sent).rejects.toMatchObject({ name: 'PrivateAddress' });
  });

  test('is given only the public addresses of a name', async () => {
    const resolve = LOOKED_UP(['10.0.0.1', '8.8.8.8', '::1']);
    const lookup = checkedLookup({ ...PUBLIC_ONLY, resolve });
    const given = [{ all: true }, {}].map(
      async (options) => new Promise((done) => lookup('mixed.example', options, (...answer) => done(answer))),
    );
    expect(await Promise.all(given)).toEqual([
      [null, [{ address: '8.8.8.8', family: 4 }]],
      [null, '8.8.8.8', 4],
    ]);
  });
});

describe('what the doctor says of a host', () => {
  const answers = async () => ['10.0.0.1'];
  const nobody = async () => Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' }));
  test.each([
    ['8.8.8.8', false, answers, null],
    ['127.0.0.1', false, answers, 'private'],
    ['[::1]', true, answers, null],
    ['inside.example', false, answers, 'private'],
    ['inside.example', true, answers, null],
    ['nowhere.example', false, nobody, 'ENOTFOUND'],
  ])('%s, private ones allowed: %j', async (host, mayBePrivate, resolve, wrong) => {
    expect(await receiverFault(host, mayBePrivate, resolve)).toBe(wrong);
  });
});
