/** An issuer that answers wrongly, slowly or without end: nobody gets in, and nothing waits long.
 *  It must never be a good issuer by accident: one answer is good first, and each test changes one thing of it. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { expect, onTestFinished, test } from 'vitest';
import { createLoginSeal } from '../../../../src/http/access/login-seal.ts';
import { createOidcLogin } from '../../../../src/http/access/oidc.ts';
import { returnPath } from '../../../../src/http/access/return-path.ts';

type Answer = (response: ServerResponse, value: object) => void;

interface Faults {
  /** Of the ID token, over good ones; the nonce is that of the login. */
  readonly claims?: object;
  readonly header?: object;
  readonly strangersKey?: boolean;
  readonly discovery?: object;
  readonly isSilent?: true;
  /** How one path answers. */
  readonly answers?: Readonly<Record<string, Answer>>;
}

const good: Answer = (response, value) =>
  void response.setHeader('content-type', 'application/json').end(JSON.stringify(value));
const endless: Answer = (response) => {
  const send = (): void => {
    while (response.write(Buffer.alloc(65_536, 32)));
  };
  response.setHeader('content-type', 'application/json').on('drain', send);
  send();
};
const silent: Answer = () => {};
const redirecting: Answer = (response) => void response.writeHead(307, { location: '/jwks' }).end();

const WELL_KNOWN = '/.well-known/openid-configuration';
const seconds = (add: number): number => Math.floor(Date.now() / 1_000) + add;

const own = await generateKeyPair('ES256');
const other = await generateKeyPair('ES256');

interface Peer {
  readonly base: string;
  readonly asked: string[];
  nonce: string;
}

async function startPeer(faults: Faults): Promise<Peer> {
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    peer.asked.push(path);
    request.resume();
    const answer = faults.answers?.[path] ?? good;
    void valueOf(path, peer, faults).then((value) => answer(response, value));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const peer = {
    base: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: [],
    nonce: '',
  } as Peer;
  return peer;
}

async function valueOf(path: string, { base, nonce }: Peer, faults: Faults): Promise<object> {
  if (path === WELL_KNOWN)
    return {
      issuer: base,
      authorization_endpoint: `${base}/auth`,
      token_endpoint: `${base}/token`,
      jwks_uri: `${base}/jwks`,
      id_token_signing_alg_values_supported: ['ES256'],
      ...faults.discovery,
    };
  if (path === '/jwks') return { keys: [{ ...(await exportJWK(own.publicKey)), kid: 'k', alg: 'ES256' }] };
  const standard = { iss: base, aud: 'adjutant', sub: 'ada', iat: seconds(0), exp: seconds(60) };
  const token = await new SignJWT({ ...standard, scope: 'read', nonce, ...faults.claims })
    .setProtectedHeader({ alg: 'ES256', kid: 'k', ...faults.header })
    .sign(faults.strangersKey === true ? other.privateKey : own.privateKey);
  return { access_token: 'secret-access', token_type: 'Bearer', id_token: token };
}

interface Ended {
  readonly id?: string;
  readonly failed?: string;
  /** What the log has. */
  readonly trouble: readonly string[];
  readonly asked: readonly string[];
}

/** Logs in from begin to end. */
async function login(faults: Faults = {}): Promise<Ended> {
  const peer = await startPeer(faults);
  const { asked } = peer;
  const trouble: string[] = [];
  const oidc = createOidcLogin({
    rules: {
      issuer: peer.base,
      client_id: 'adjutant',
      client_secret: 'secret-client',
      client_auth: 'client_secret_basic',
      redirect_base: 'http://127.0.0.1:7420',
      scopes: ['openid'],
      scopes_claim: 'scope',
      name_claim: 'sub',
    },
    seal: createLoginSeal(async () => 'secret'),
    spend: async () => true,
    knowsTenant: (name) => name === 'default',
    onTrouble: (reason) => void trouble.push(reason),
    times: { askMs: faults.isSilent === true ? 300 : 20_000 },
  });
  try {
    const { sealed, url } = await oidc.begin('/console/');
    const { searchParams } = new URL(url);
    peer.nonce = searchParams.get('nonce') ?? '';
    expect(searchParams.get('code_challenge_method')).toBe('S256');
    const { principal } = await oidc.finish(`code=secret-code&state=${searchParams.get('state')}`, sealed);
    return { id: principal.id, trouble, asked };
  } catch (error) {
    return { failed: (error as Error).message, trouble, asked };
  }
}

test('a good answer lets in, also when clocks differ a little', async () => {
  expect(await login()).toMatchObject({ id: 'oidc:ada', trouble: [] });
  expect(await login({ claims: { exp: seconds(-10), iat: seconds(20) } })).toMatchObject({ id: 'oidc:ada' });
});

test.each<[what: string, faults: Faults]>([
  ['another nonce', { claims: { nonce: 'x' } }],
  ['none', { claims: { nonce: undefined } }],
  ['another audience', { claims: { aud: 'other' } }],
  ['another issuer in the token', { claims: { iss: 'https://other.example' } }],
  ['a token that is too old', { claims: { exp: seconds(-90) } }],
  ['a token without a subject', { claims: { sub: undefined } }],
  ['the signature of a stranger', { strangersKey: true }],
  ['a key that it does not publish', { header: { kid: 'other' } }],
  ['another issuer in the discovery', { discovery: { issuer: 'https://other.example' } }],
  ['a page that is no page', { discovery: { authorization_endpoint: 'javascript:alert(1)' } }],
  ['a discovery without end', { answers: { [WELL_KNOWN]: endless } }],
  ['a discovery that never comes', { isSilent: true, answers: { [WELL_KNOWN]: silent } }],
  ['tokens without end', { answers: { '/token': endless } }],
  ['tokens that never come', { isSilent: true, answers: { '/token': silent } }],
  ['a redirect instead of tokens', { answers: { '/token': redirecting } }],
  ['no tokens', { answers: { '/token': (response) => good(response, {}) } }],
  ['keys without end', { answers: { '/jwks': endless } }],
  ['text', { answers: { '/token': (response) => void response.end('<h1>') } }],
])('%s lets nobody in', async (_what, faults) => {
  const { id, failed, trouble } = await login(faults);
  expect(id).toBe(undefined);
  expect(failed).toMatch(/cannot be asked now|has no claim/);
  expect(trouble).toHaveLength(1);
  expect(trouble.join()).not.toContain('secret-');
  expect(trouble.join().includes('timed out')).toBe(faults.isSilent === true);
});

test('an issuer that fails is not asked again at once', async () => {
  const { asked } = await login({
    answers: { [WELL_KNOWN]: (response) => void response.writeHead(500).end() },
  });
  expect(asked).toEqual([WELL_KNOWN]);
});

test('what is sealed counts for its time, and as it was sealed', async () => {
  let now = Date.now();
  const seal = createLoginSeal(
    async () => 'secret',
    () => now,
  );
  const sealed = await seal.seal({ kind: 'failed', text: 'why' });
  expect(await seal.open(sealed)).toEqual({ kind: 'failed', text: 'why' });
  const [, end = ''] = /(.{6})$/.exec(sealed) ?? [];
  for (const wrong of ['', 'x', 'a.b.c', 'a.b.c.d.e', sealed.replace(end, 'AAAAAA')])
    expect(await seal.open(wrong), wrong).toBe(null);
  expect(await createLoginSeal(async () => 'other').open(sealed)).toBe(null);
  now += 11 * 60 * 1_000;
  expect(await seal.open(sealed)).toBe(null);
});

test.each([
  ['/console/requests?x=1#y', '/console/requests?x=1'],
  ['/console/', '/console/'],
  ['/consoles', '/console/'],
  ['//evil.example/console/', '/console/'],
  ['/console/../../evil', '/console/'],
  ['/console/..\\..\\evil', '/console/'],
  ['/console/\t//evil.example', '/console///evil.example'],
  ['/console/login/oidc', '/console/'],
  [`/console/${'x'.repeat(2_000)}`, '/console/'],
  ['\\\\evil.example', '/console/'],
  ['javascript:alert(1)', '/console/'],
  [['/console/a'], '/console/'],
  [undefined, '/console/'],
])('a login that is asked to go back to %j goes to %s', (given, path) => {
  expect(returnPath(given)).toBe(path);
});
