/** Which parts of a server's configuration are hidden in reports about the server.
 *  It must never hide what identifies the server, or what is wrong with it. */
import { expect, test } from 'vitest';
import { createKnownSecrets } from '../../../src/contract/json/secret-text.ts';
import { secretsOfServer } from '../../../src/mcp/server-secrets.ts';

const address = (url: string, headers: Record<string, string> = {}) =>
  ({ transport: { kind: 'http', url, headers } }) as const;
const process = (args: string[], env: Record<string, string> = {}) =>
  ({ transport: { kind: 'stdio', command: 'x', args, env } }) as const;
function hideSecretsOf(server: Parameters<typeof secretsOfServer>[0]) {
  const secrets = createKnownSecrets();
  const found = secretsOfServer(server);
  secrets.add(() => found);
  return secrets.hideIn;
}

const basic = (pair: string) => ({ Authorization: `Basic ${Buffer.from(pair).toString('base64')}` });

test.each([
  [
    'a user and a password in the URL',
    address('http://some-user:hunter2-h%40@a/'),
    'as some-user with hunter2-h@',
  ],
  [
    'a value of the query',
    address('http://a/?key=hunter2-h%20x'),
    'asked with hunter2-h x and hunter2-h%20x',
  ],
  [
    'a token after its scheme',
    address('http://a/', { Authorization: 'Bearer hunter2-h' }),
    'token hunter2-h!',
  ],
  ['any header', address('http://a/', { 'x-team': 'hunter2-h' }), 'sent hunter2-h'],
  ['a password that travels as Basic', address('http://a/', basic('u:hunter2-h')), 'password hunter2-h'],
  ['a variable with a telling name', process([], { API_KEY: 'hunter2-h' }), 'with hunter2-h'],
  [
    'a variable with the form of a key',
    process([], { UPSTREAM: 'ghp_hunter2hunter2' }),
    'for ghp_hunter2hunter2',
  ],
  ['a variable with a name by custom', process([], { JIRA_PAT: 'hunter2-h' }), 'for hunter2-h'],
  ['a password in an address', process(['postgres://u:hunter2-h@db/x']), 'cannot log in with hunter2-h'],
  ['an argument after a telling flag', process(['--token', 'hunter2-h']), 'bad token hunter2-h'],
  ['an argument with a telling flag', process(['--api-key=hunter2-h']), 'bad key hunter2-h'],
])('%s', (_, server, text) => {
  const said = hideSecretsOf(server)({ error: { message: text, details: [{ text }] } });
  expect(JSON.stringify(said)).not.toMatch(/hunter2|some-user/);
  expect(said.error.message).toContain('[REDACTED]');
});

test.each([
  [
    'other variables',
    process(['--root', '/data/files'], { HOME: '/home/somebody' }),
    '/data/files of /home/somebody',
  ],
  ['an address without secrets', address('http://example.test/mcp'), 'http://example.test/mcp answers 404'],
  ['a media type', address('http://a/', { Accept: 'application/json' }), 'answers application/json'],
  ['short texts', process([], { TOKEN: 'abc' }), 'abc'],
])('%s may be read', (_, server, text) => {
  expect(hideSecretsOf(server)({ text })).toEqual({ text });
});
