/** The Host names that a service accepts, by where it listens and what the operator adds.
 *  It must not open a port: the integration test does. */
import { expect, test } from 'vitest';
import { allowedHosts } from '../../../src/http/allowed-host.ts';

test.each(['127.0.0.1', 'localhost', '::1', '127.0.0.2', 'LOCALHOST'])(
  'a service on %s accepts the loopback names and its own',
  (host) => {
    const allowed = allowedHosts({ host, named: [] });
    const own = host === '::1' ? '[::1]' : host.toLowerCase();
    expect(allowed).toEqual(new Set(['localhost', '127.0.0.1', '[::1]', own]));
  },
);

test.each(['0.0.0.0', '::', '192.168.1.5', 'box.example', '127.evil.example'])(
  'a service on %s accepts any name',
  (host) => {
    expect(allowedHosts({ host, named: [] })).toBeNull();
  },
);

test('names set by the operator are added; on an open interface only they are accepted', () => {
  expect(allowedHosts({ host: '127.0.0.1', named: ['Box.Example'] })?.has('box.example')).toBe(true);
  const open = allowedHosts({ host: '0.0.0.0', named: ['box.example'] });
  expect(open).toEqual(new Set(['localhost', '127.0.0.1', '[::1]', '0.0.0.0', 'box.example']));
});
