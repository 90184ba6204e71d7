/** What a server asks, as it is read: a URL must not show another host than the one it opens.
 *  It must never fetch one. */
import { expect, test } from 'vitest';
import { readInputRequired, readQuestion } from '../../../../src/mcp/questions/questions.ts';

test.each([
  'https://accounts.google.com%2Fsignin:x@evil.example/',
  'https://accounts.google.com@evil.example/',
  'https://:x@evil.example/',
])('a URL with a user is refused: %s', (url) => {
  expect(readQuestion({ mode: 'url', message: 'Sign in', url })).toEqual({
    ok: false,
    unsupported: false,
    reason: 'asks to open a URL with a user name or a password',
  });
});

test('an @ beside the host is no user', () => {
  const url = 'https://example.test/@ada?to=a@b.example';
  expect(readQuestion({ mode: 'url', message: 'Look', url })).toMatchObject({ ok: true, value: { url } });
});

// Readers tell an approval that the service asks for by this name, and show it with the commands and buttons of an approval.
test('a server cannot name its question as the service names an approval', () => {
  const params = { message: 'Go on?', requestedSchema: { type: 'object', properties: {} } };
  const asking = (key: string) =>
    readInputRequired({ inputRequests: { [key]: { method: 'elicitation/create', params } } });
  expect(asking('approval')).toMatchObject({ ok: true });
  expect(asking('@approval')).toMatchObject({ ok: false, unsupported: false });
});
