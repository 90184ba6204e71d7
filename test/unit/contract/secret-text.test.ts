/** Secrets in texts, by value and by form.
 *  It must never measure a time: a pattern that is not linear does not come to an end here. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  createKnownSecrets,
  hiding,
  SHORTEST_SECRET,
  withoutCredentials,
  withoutProviderKeys,
} from '../../../src/contract/json/secret-text.ts';

const SECRET = 'pä"ss/w?rd+1 hunter2!';
const ascii = (text: string): string =>
  JSON.stringify(text).replaceAll(
    /[^ -~]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

describe('a known secret (docs/mcp-servers.md: redacted by value)', () => {
  test.each([
    ['as it is', SECRET],
    ['in JSON', JSON.stringify({ a: SECRET })],
    ['in JSON of ASCII', ascii(SECRET)],
    ['in JSON within JSON', JSON.stringify(JSON.stringify({ a: SECRET }))],
    ['in JSON with escaped slashes', JSON.stringify(SECRET).replaceAll('/', '\\/')],
    ['in a URL', `http://a/?q=${encodeURIComponent(SECRET)}`],
    ['in a form', new URLSearchParams({ q: SECRET }).toString()],
    [
      'in a URL with small digits',
      encodeURIComponent(SECRET).replaceAll(/%../g, (octet) => octet.toLowerCase()),
    ],
    ['in base64', Buffer.from(SECRET).toString('base64')],
    ['in base64url', Buffer.from(SECRET).toString('base64url')],
    ['in base64 behind a user', Buffer.from(`me:${SECRET}`).toString('base64')],
    ['in base64 within a text', Buffer.from(`{"t":"${SECRET}"}`).toString('base64')],
  ])('is redacted %s', (_, text) => {
    const hidden = hiding([SECRET])(`said ${text} and went on`);
    expect(hidden).toMatch(/^said .*\[REDACTED\].* and went on$/);
    for (const part of ['hunter2', 'aHVudGVy', 'h1bnRlc', 'odW50ZX']) expect(hidden).not.toContain(part);
  });

  test('is found wherever it is, however many others are known', () => {
    const secret = fc.string({ minLength: SHORTEST_SECRET, maxLength: 40 });
    fc.assert(
      fc.property(
        fc.array(secret, { minLength: 1, maxLength: 20 }),
        fc.string(),
        fc.string(),
        (all, a, b) => {
          for (const each of all) expect(hiding(all)(`${a}${each}${b}`)).not.toContain(each.toWellFormed());
        },
      ),
    );
  });

  test('of which another is a part is redacted whole', () => {
    expect(hiding(['hunter2', 'hunter2-and-more'])('a hunter2-and-more b hunter2')).toBe(
      'a [REDACTED] b [REDACTED]',
    );
  });

  test('of fewer characters than the bound is left: it would match everywhere', () => {
    expect(hiding(['abcde'])('abcde')).toBe('abcde');
  });

  // Issue 33, point 13: bounds of messages, lines and names cut texts before anything knows which part is a secret.
  test.each([
    ['at its end', 'refused: hunter2-and-mo', 'refused: [REDACTED]'],
    ['at its end, which is marked', 'refused: hunter2-and-mo…', 'refused: [REDACTED]…'],
    ['at its beginning', 'r2-and-more was refused', '[REDACTED] was refused'],
    ['at both ends', 'r2-and-more, hunter2-a', '[REDACTED], [REDACTED]'],
    ['within an encoded form', `at ${btoa('hunter2-and-more').slice(0, 12)}`, 'at [REDACTED]'],
    ['to less than eight characters', 'refused: hunter2', 'refused: hunter2'],
  ])('that a bound has cut is redacted %s', (_, text, shown) => {
    expect(hiding(['hunter2-and-more'])(text)).toBe(shown);
  });

  test('leaves no eight of its characters where a text is cut', () => {
    const secret = fc.string({ minLength: 9, maxLength: 40, unit: 'grapheme-ascii' });
    fc.assert(
      fc.property(secret, fc.nat(60), (value, bound) => {
        const shown = hiding([value])(`said ${value}`.slice(0, bound));
        expect(shown).not.toContain(value.slice(0, 8));
      }),
    );
  });

  test('is redacted in values nested as deep as an answer may be; a value without one is not copied', () => {
    const secrets = createKnownSecrets();
    const known = ['hunter2-and-more'];
    secrets.add(() => known);
    let value: unknown = 'a hunter2-and-more';
    let clean: unknown = 'nothing';
    for (let level = 0; level < 200; level += 1) [value, clean] = [{ in: [value] }, { in: [clean] }];
    expect(JSON.stringify(secrets.hideIn(value))).toContain('"a [REDACTED]"');
    expect(secrets.hideIn(clean)).toBe(clean);
    expect(JSON.stringify(secrets.hideIn({ ['__proto__']: known, ok: 1 }))).toBe(
      '{"__proto__":["[REDACTED]"],"ok":1}',
    );
  });

  test('that comes later counts from then on, in all texts and names of a value', () => {
    let tokens: readonly string[] = [];
    const secrets = createKnownSecrets();
    secrets.add(() => tokens);
    expect(secrets.hide('token-1')).toBe('token-1');
    tokens = ['token-1'];
    expect(secrets.hideIn({ 'token-1': ['token-1', { text: 'a token-1' }], count: 1 })).toEqual({
      '[REDACTED]': ['[REDACTED]', { text: 'a [REDACTED]' }],
      count: 1,
    });
  });
});

describe('the form of a credential', () => {
  const JWT = 'eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJodW50ZXIyIn0.hunter2-hunter2_x';
  test.each([
    [`/v1/keys/adj_0123456789ab_hunter2`, '/v1/keys/adj_0123456789ab_[REDACTED]'],
    [`adj%5F0123456789ab%5fhunter2`, 'adj_0123456789ab_[REDACTED]'],
    [`adj%255F0123456789ab%255Fhunter2`, 'adj_0123456789ab_[REDACTED]'],
    [`/v1/requests/${JWT}`, '/v1/requests/[REDACTED]'],
    [`/v1/requests?t=Bearer%20${JWT}&a=1`, '/v1/requests?t=Bearer%20[REDACTED]&a=1'],
    [`redis://me:hunter2@host/`, 'redis://[REDACTED]@host/'],
  ])('in %s is redacted', (text, shown) => expect(withoutCredentials(text)).toBe(shown));
});

describe("the form of a provider's key", () => {
  test.each([
    'Bearer hunter2-hunter2',
    'Bearer   hunter2-hunter2',
    'api key: hunter2-hunter2',
    'apiKey = "hunter2-hunter2"',
    '{"authorization":"hunter2-hunter2"}',
    'sk-hunter2-hunter2',
  ])('as in %s is redacted', (text) => {
    expect(withoutProviderKeys(`wrong ${text}`)).not.toContain('hunter2');
  });
});

test.each([
  ['spaces', ' '.repeat(1_000_000)],
  ['spaces after a word that announces a key', `Bearer${' '.repeat(1_000_000)}x`],
  ['many such words', 'api_key: x '.repeat(100_000)],
  ['beginnings of tokens', 'eyJaaaaaaaa-'.repeat(100_000)],
  ['beginnings of keys', 'adj%25'.repeat(200_000)],
  ['beginnings of a known secret', 'hunter'.repeat(200_000)],
])('a text of %s is read in one pass', (_, text) => {
  const hidden = withoutProviderKeys(withoutCredentials(hiding(['hunter2'])(text)));
  expect(hidden === text).toBe(true);
});
