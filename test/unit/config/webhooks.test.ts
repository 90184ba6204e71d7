/** Endpoints and rules of webhooks: what the configuration refuses, and whom it names for an end.
 *  It must not reach a receiver. */
import { describe, expect, test } from 'vitest';
import type { EndFacts } from '../../../src/contract/signal/end-notices.ts';
import { endNotices } from '../../../src/config/webhooks.ts';
import { parseConfig } from '../../../src/config/config.ts';

const SECRET = `whsec_${Buffer.alloc(24, 1).toString('base64')}`;
const endpoint = (more: object = {}) => ({ url: 'https://a.example/hook', secrets: [SECRET], ...more });
const parse = (webhooks: object) =>
  parseConfig({ webhooks }, { source: 'test', directory: '.', environment: {} }).webhooks;
const noticesOf = (webhooks: object) => endNotices(parse(webhooks));
const END: EndFacts = { tenant: 'default', type: 'tool_exec', status: 'failed', agent: null, lane: 'tool.a' };

describe('an endpoint', () => {
  test.each([
    ['without a secret', endpoint({ secrets: [] }), /secrets/],
    ['with a secret of 23 bytes', endpoint({ secrets: [`whsec_${btoa('x'.repeat(23))}`] }), /24 to 64 bytes/],
    ['with a secret of another form', endpoint({ secrets: ['x'.repeat(40)] }), /whsec_/],
    ['that names a user', endpoint({ url: 'https://a:b@c.example/' }), /must not name a user/],
    ['that names a password only', endpoint({ url: 'https://:b@c.example/' }), /must not name a user/],
    ['of another protocol', endpoint({ url: 'ftp://a.example/' }), /http or https/],
    [
      'that sets a header of the signature',
      endpoint({ headers: { 'Webhook-Id': 'x' } }),
      /set by the service/,
    ],
    ['that names another sender', endpoint({ headers: { 'User-Agent': 'x' } }), /set by the service/],
    ['that sets a length', endpoint({ headers: { 'Content-Length': '1' } }), /set by the service/],
    ['that breaks a header', endpoint({ headers: { a: 'x\r\ny: z' } }), /no header may have/],
  ])('%s is refused', (_what, given, message) => {
    expect(() => parse({ endpoints: { a: given } })).toThrow(message);
  });

  test('is for the tenants that it names', () => {
    const { fault } = noticesOf({ endpoints: { a: endpoint({ tenants: ['mine'] }) } });
    expect([fault('a', 'mine'), fault('a', 'default'), fault('__proto__', 'mine')]).toEqual([
      null,
      expect.stringContaining('no endpoint'),
      expect.stringContaining('no endpoint'),
    ]);
  });
});

describe('a rule', () => {
  test.each([
    ['of everything', {}, true, true],
    ['of its status', { statuses: ['failed'] }, true, true],
    ['of another status', { statuses: ['succeeded'] }, true, false],
    ['of another type', { types: ['run'] }, false, false],
    ['of another lane', { lanes: ['tool.b'] }, true, false],
    ['of an agent', { agents: ['a'] }, false, false],
  ])('%s', (_what, match, concerns, matches) => {
    const notices = noticesOf({ endpoints: { a: endpoint({ match }), b: endpoint() } });
    expect([notices.concerns(END), notices.matching(END)]).toEqual([concerns, matches ? ['a'] : []]);
  });

  test('is for the tenants of its endpoint', () => {
    const { concerns, matching } = noticesOf({
      endpoints: { a: endpoint({ match: {}, tenants: ['mine'] }) },
    });
    expect([concerns(END), matching(END), matching({ ...END, tenant: 'mine' })]).toEqual([false, [], ['a']]);
  });
});

describe('an address of a caller', () => {
  const callers = (more: object = {}) => ({ callers_may_give_urls: { secrets: [SECRET], ...more } });
  test.each([
    ['is refused unless it is allowed', {}, 'https://a.example/', /not allowed/],
    ['is refused for other tenants', callers({ tenants: ['mine'] }), 'https://a.example/', /not allowed/],
    ['is refused over http', callers(), 'http://a.example/', /https/],
    ['is refused with a user', callers(), 'https://u@a.example/', /user/],
    ['is taken', callers(), 'https://a.example/', null],
    [
      'is taken over http where private ones are',
      callers({ private_addresses: true }),
      'http://a.example/',
      null,
    ],
  ])('%s', (_what, webhooks, url, message) => {
    const fault = noticesOf(webhooks).fault({ url }, 'default');
    if (message === null) expect(fault).toBeNull();
    else expect(fault).toMatch(message);
  });
});
