/** MCP hosts log in: the SDK's own OAuth client against the service, and what strangers must not get.
 *  It must never look into the service: only HTTP, and Redis where a secret could be left. */
import { generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { auth, refreshAuthorization } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Redis } from 'ioredis';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { eventually } from '../../../support/eventually.ts';
import {
  consent,
  createHost,
  startDocuments,
  type Host,
  loggedIn,
  onward,
  openLogin,
  proofIn,
  REDIRECT,
  startHostService,
  statusOf,
} from '../../../support/host-login.ts';
import { createDocumentFetch } from '../../../../src/features/host-login/client-metadata.ts';
import { PrivateAddress } from '../../../../src/platform/bounds/outgoing-request.ts';
import { createStranger, startOidcScene } from '../../../support/oidc.ts';
import { startFaultyProxy } from '../../../support/faulty-proxy.ts';
import { freePort, spawnNode } from '../../../support/process.ts';
import { programOf } from '../../../support/program.ts';
import { startService } from '../../../support/running-service.ts';
import { shared, useRedis } from '../../../support/shared.ts';

const DOOMED = programOf(fileURLToPath(new URL('../../../support/doomed-worker.ts', import.meta.url)));

type Metadata = NonNullable<Parameters<typeof refreshAuthorization>[1]['metadata']>;

describe('a host', () => {
  const redis = useRedis();
  const service = shared(async () => startHostService(redis.url));
  const mcp = () => `${service.url}/mcp`;
  const renewed = async ({ held }: Host, refresh = held.tokens?.refresh_token ?? '', at = service.url) =>
    refreshAuthorization(at, {
      metadata: { ...(await metadata()), token_endpoint: `${at}/oauth/token` },
      clientInformation: held.client ?? { client_id: '' },
      refreshToken: refresh,
      resource: new URL(mcp()),
    });
  const metadata = async () =>
    (await (await fetch(`${service.url}/.well-known/oauth-authorization-server`)).json()) as Metadata;
  const post = async (path: string, body: object, type = 'application/x-www-form-urlencoded') =>
    fetch(service.url + path, {
      method: 'POST',
      headers: { 'content-type': type },
      body: type.endsWith('json') ? JSON.stringify(body) : new URLSearchParams({ ...body }),
    });
  const authorizeUrl = (client: string, changes: Record<string, string> = {}) => {
    const url = new URL(`${service.url}/oauth/authorize`);
    const members = {
      response_type: 'code',
      client_id: client,
      redirect_uri: REDIRECT,
      state: 's',
      code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
      code_challenge_method: 'S256',
      resource: mcp(),
      ...changes,
    };
    for (const [name, value] of Object.entries(members)) if (value !== '') url.searchParams.set(name, value);
    return url.href;
  };
  const register = async (more: object = {}) =>
    post('/oauth/register', { redirect_uris: [REDIRECT], ...more }, 'application/json');
  const registered = async (more: object = {}) =>
    ((await (await register(more)).json()) as { client_id: string }).client_id;

  test('registers, is allowed, lists tools, renews its token, and is out after it revokes', async () => {
    const key = await service.key();
    const host = await loggedIn(service.url, key.key);
    expect(host.held.tokens).toMatchObject({ token_type: 'Bearer', scope: 'read submit cancel' });
    expect(host.held.tokens?.expires_in).toBeLessThanOrEqual(600);
    const client = new Client({ name: 'host', version: '1' });
    await client.connect(new StreamableHTTPClientTransport(new URL(mcp()), { authProvider: host }));
    await eventually(async () => JSON.stringify(await client.listTools())).toContain('peer__echo');
    await client.close();
    // A balancer sends the next step to another process.
    await using other = await service.another();
    const next = await renewed(host, undefined, other.url);
    expect(await statusOf(`${other.url}/mcp`, next.access_token)).toBe(200);
    const { client_id = '' } = host.held.client ?? {};
    await post('/oauth/revoke', { token: next.refresh_token, client_id });
    expect(await statusOf(mcp(), next.access_token)).toBe(401);
    expect(await statusOf(mcp(), host.held.tokens?.access_token)).toBe(401);
    await expect(renewed(host, next.refresh_token)).rejects.toThrow();
  });

  // claude-ai-mcp 560 and 376, kernel-mcp-server 91: the resource is the address that people type, and each place is asked.
  test('finds the server from a 401, by the configured address and not by its Host header', async () => {
    const asked = await fetch(mcp(), { method: 'POST', headers: { 'x-forwarded-host': 'evil.example' } });
    expect(asked.status).toBe(401);
    expect(asked.headers.get('www-authenticate')).toBe(
      `Bearer resource_metadata="${service.url}/.well-known/oauth-protected-resource/mcp", scope="read submit cancel"`,
    );
    for (const path of ['', '/mcp', '/mcp/peer']) {
      const document = await (
        await fetch(`${service.url}/.well-known/oauth-protected-resource${path}`)
      ).json();
      expect(document).toMatchObject({
        resource: service.url + (path === '' ? '/mcp' : path),
        authorization_servers: [service.url],
      });
    }
    expect(await metadata()).toMatchObject({
      issuer: service.url,
      code_challenge_methods_supported: ['S256'],
    });
    expect((await fetch(`${service.url}/v1/requests`)).headers.get('www-authenticate')).toBe('Bearer');
  });

  test('has no more than its person, nowhere but at its resource, and ends with the key', async () => {
    const key = await service.key({ scopes: ['read'] });
    const host = await loggedIn(service.url, key.key);
    const token = host.held.tokens?.access_token;
    expect(host.held.tokens?.scope).toBe('read');
    expect(await statusOf(mcp(), token)).toBe(200);
    const elsewhere = await fetch(`${service.url}/v1/requests`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(elsewhere.status).toBe(401);
    await service.access.revoke(key.id);
    await eventually(async () => statusOf(mcp(), token)).toBe(401);
    await expect(renewed(host)).rejects.toThrow();
  });

  test.each(['adjutant', '%61djutant', 'adjutant/'])(
    'of all tools does not operate the service at /mcp/%s',
    async (name) => {
      const host = await loggedIn(service.url, (await service.key()).key);
      expect(await statusOf(`${mcp()}/${name}`, host.held.tokens?.access_token)).toBe(401);
    },
  );

  test('of one server reaches that server alone', async () => {
    const { key } = await service.key();
    const host = createHost();
    await auth(host, { serverUrl: `${mcp()}/peer` });
    const back = await consent(createStranger(), host.sentTo(), key);
    const authorizationCode = back.searchParams.get('code') ?? '';
    await auth(host, { serverUrl: `${mcp()}/peer`, authorizationCode });
    expect(await statusOf(mcp(), host.held.tokens?.access_token)).toBe(401);
    await eventually(async () => statusOf(`${mcp()}/peer`, host.held.tokens?.access_token)).toBe(200);
  });

  // OAuth 2.1, 4.3.1; a host renews one token in parallel calls (typescript-sdk 1813), so a repeat at once is none.
  test('renews in parallel, and is out when an old refresh token comes back later', async () => {
    const host = await loggedIn(service.url, (await service.key()).key);
    const both = await Promise.all([renewed(host), renewed(host)]);
    const [first] = both;
    expect(await statusOf(mcp(), first.access_token)).toBe(200);
    const direct = new Redis(redis.url);
    await minuteLater(direct, service.prefix);
    for (const used of await direct.keys(`${service.prefix}:{hosts}:RefreshToken:*:used`)) {
      // It is noticed for three days: used ones do not add up until the login ends, and none is fresh again.
      const leftMs = await direct.pttl(used.slice(0, -':used'.length));
      expect(leftMs).toBeLessThanOrEqual(3 * 86_400_000);
      expect(leftMs).toBeLessThan(await direct.pttl(used));
    }
    await direct.quit();
    await expect(renewed(host)).rejects.toThrow();
    expect(await statusOf(mcp(), first.access_token)).toBe(401);
    await expect(renewed(host, both[1].refresh_token)).rejects.toThrow();
  });

  // A stranger who floods the place of tokens would else end the logins of all hosts.
  test('is answered 503 where Redis is away at the end of its renewal, and renews with the same token later', async () => {
    await using proxy = await startFaultyProxy(Number(new URL(redis.url).port));
    await using behind = await startHostService(`redis://127.0.0.1:${proxy.port}`);
    const { held } = await loggedIn(behind.url, (await behind.key()).key);
    const renew = async (): Promise<Response> =>
      fetch(`${behind.url}/oauth/token`, {
        method: 'POST',
        body: new URLSearchParams({
          grant_type: 'refresh_token',
          client_id: held.client?.client_id ?? '',
          refresh_token: held.tokens?.refresh_token ?? '',
        }),
      });
    // The note of the answer, in the protocol of Redis: a key, then an instant of 13 digits.
    proxy.cutAt(':answered\r\n$13\r\n', 1_000);
    const refused = await renew();
    expect([refused.status, await refused.json()]).toEqual([
      503,
      { error: 'temporarily_unavailable', error_description: 'Redis is unreachable' },
    ]);
    expect(proxy.cuts).toBeGreaterThan(0);
    proxy.cutAt('', 0);
    await eventually(async () => (await renew()).status).toBe(200);
  });

  test('renews while strangers have used up the calls of a minute, also from a page', async () => {
    const host = await loggedIn(service.url, (await service.key()).key);
    const direct = new Redis(redis.url);
    const pace = `${service.prefix}:{hosts}:pace:token`;
    await direct.set(pace, 1_000_000, 'PX', 60_000);
    const renewal = (refresh_token = '') => {
      const { client_id = '' } = host.held.client ?? {};
      const body = new URLSearchParams({ grant_type: 'refresh_token', refresh_token, client_id });
      return fetch(`${service.url}/oauth/token`, { method: 'POST', headers: { origin: service.url }, body });
    };
    expect((await renewal('unknown')).status).toBe(429);
    expect((await renewal(host.held.tokens?.refresh_token)).status).toBe(200);
    await direct.del(pace);
    await direct.quit();
  });

  // RFC 7523, 3: an assertion is remembered until its end, which its maker chooses.
  test('cannot leave a record for ever by an assertion of its own', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const client_id = await registered({
      token_endpoint_auth_method: 'private_key_jwt',
      jwks: { keys: [publicKey.export({ format: 'jwk' })] },
    });
    const answered = async (exp: number) => {
      const claims = { iss: client_id, sub: client_id, aud: service.url, jti: randomUUID(), exp };
      const parts = [{ alg: 'ES256' }, claims].map((part) =>
        Buffer.from(JSON.stringify(part)).toString('base64url'),
      );
      const key = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const;
      const signature = sign('sha256', Buffer.from(parts.join('.')), key).toString('base64url');
      const answer = await post('/oauth/token', {
        grant_type: 'refresh_token',
        refresh_token: 'unknown',
        client_id,
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: [...parts, signature].join('.'),
      });
      return ((await answer.json()) as { error: string }).error;
    };
    const now = Math.floor(Date.now() / 1_000);
    expect(await answered(now + 300)).toBe('invalid_grant');
    for (const exp of [now + 86_400, 1e15, 1e308]) expect(await answered(exp)).toBe('invalid_client');
  });

  test('uses a code once, with its own verifier, and only its own redirect', async () => {
    const { key } = await service.key();
    const host = createHost();
    await auth(host, { serverUrl: mcp() });
    const back = await consent(createStranger(), host.sentTo(), key);
    expect(back.searchParams.get('iss')).toBe(service.url);
    expect(back.searchParams.get('state')).toBe('state-of-the-host');
    const exchange = async (changes: object = {}) => {
      const { client_id = '' } = host.held.client ?? {};
      const code = back.searchParams.get('code');
      const answer = await post('/oauth/token', {
        grant_type: 'authorization_code',
        client_id,
        code,
        redirect_uri: REDIRECT,
        code_verifier: host.held.verifier,
        resource: mcp(),
        ...changes,
      });
      const { access_token } = (await answer.json()) as { access_token?: string };
      return { status: answer.status, access_token };
    };
    expect(await exchange({ code_verifier: 'x'.repeat(43) })).toMatchObject({ status: 400 });
    expect(await exchange({ client_id: await registered() })).toMatchObject({ status: 400 });
    expect(await exchange({ redirect_uri: 'http://127.0.0.1:4712/callback' })).toMatchObject({ status: 400 });
    const answers = await Promise.all([exchange(), exchange(), exchange()]);
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1);
    // A code that comes back ends what it gave.
    await exchange();
    for (const { access_token } of answers) expect(await statusOf(mcp(), access_token)).toBe(401);
  });

  test.each([
    ['a redirect to another host', { redirect_uri: 'https://evil.example/callback' }],
    ['a redirect with another path', { redirect_uri: 'http://127.0.0.1:4711/other' }],
    [
      'a redirect to a loopback name that it did not register',
      { redirect_uri: 'http://localhost:4711/callback' },
    ],
    ['an unknown client', { client_id: 'nobody' }],
  ])('is never sent on with %s', async (_, changes) => {
    const answer = await fetch(authorizeUrl(await registered(), changes), { redirect: 'manual' });
    expect(answer.status).toBe(400);
    expect(answer.headers.get('location')).toBeNull();
    expect(answer.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  });

  test.each([
    ['PKCE', { code_challenge: '', code_challenge_method: '' }, 'invalid_request'],
    ['S256', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['a resource of this service', { resource: 'https://evil.example/mcp' }, 'invalid_target'],
    ['the flow with a code', { response_type: 'token' }, 'unsupported_response_type'],
  ])('is refused without %s', async (_, changes, error) => {
    const answer = await fetch(authorizeUrl(await registered(), changes), { redirect: 'manual' });
    expect(answer.headers.get('location')).toContain(`error=${error}&`);
  });

  // VS Code (vscode 278512) takes another port than it registered; Cursor mixes https, loopback and its own scheme;
  // claude.ai asks for a scope of its own, and ChatGPT for OpenID's.
  test('may register as real hosts do, and returns on any loopback port', async () => {
    const redirects = [
      'https://vscode.dev/redirect',
      'http://127.0.0.1/',
      'cursor://anysphere.cursor-mcp/oauth/callback',
    ];
    const answer = await register({
      redirect_uris: redirects,
      client_name: 'Code',
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'client_secret_post',
      scope: 'claudeai',
      software_id: 'x',
      logo_uri: 'javascript:alert(1)',
    });
    expect(answer.status).toBe(201);
    const client = (await answer.json()) as Record<string, string>;
    expect(client).toMatchObject({ redirect_uris: redirects, token_endpoint_auth_method: 'none' });
    expect(client['client_secret']).toBeUndefined();
    const changes = { redirect_uri: 'http://127.0.0.1:59656/', scope: 'openid profile claudeai' };
    const page = await openLogin(createStranger(), authorizeUrl(client['client_id'] ?? '', changes));
    expect(page).toContain('/oauth/interaction/');
    for (const bad of ['javascript:alert(1)', 'http://evil.example/', 'data:text/html,x', 'no uri'])
      expect((await register({ redirect_uris: [bad] })).status).toBe(400);
  });

  test('is shown as text, with the address that gets the code, and no page is framed or keeps a script', async () => {
    const name = '<img src=x onerror=alert(1)>"\u202Egnp';
    const client = await registered({ client_name: name, redirect_uris: ['https://evil.example/cb'] });
    const browser = createStranger();
    const page = await openLogin(browser, authorizeUrl(client, { redirect_uri: 'https://evil.example/cb' }));
    const shown = await browser.get(page);
    const html = await shown.text();
    expect(html).toContain('&lt;img src=x onerror=alert(1)&gt;&quot; gnp');
    expect(html).toContain('<strong>evil.example</strong>');
    expect(html).not.toContain('<img');
    const policy = shown.headers.get('content-security-policy') ?? '';
    for (const part of [
      "frame-ancestors 'none'",
      "form-action 'self'",
      "script-src 'none'",
      "default-src 'none'",
    ])
      expect(policy).toContain(part);
    expect(shown.headers.get('x-frame-options')).toBe('DENY');
  });

  test('gets nothing by a form of another site, another browser or another login', async () => {
    const { key } = await service.key({ name: 'victim' });
    const client = await registered();
    const browser = createStranger();
    const page = await openLogin(browser, authorizeUrl(client));
    await browser.post(page, { act: 'key', key });
    const html = await (await browser.get(page)).text();
    for (const text of ['victim', 'default', 'peer.echo', 'a program on this computer'])
      expect(html).toContain(text);
    const proof = proofIn(html);
    // A browser that has not begun it, even with the proof.
    expect((await createStranger().post(page, { act: 'allow', proof })).status).toBe(400);
    // A form of another site, and one without the proof.
    const cookie = browser.set.map((line) => line.split(';')[0]).join('; ');
    const cross = await fetch(page, {
      method: 'POST',
      headers: { cookie, origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
      body: new URLSearchParams({ act: 'allow', proof }),
      redirect: 'manual',
    });
    expect(cross.status).toBe(403);
    expect((await browser.post(page, { act: 'allow', proof: '0'.repeat(64) })).status).toBe(403);
    // The sign-in counts for this login alone, whose person a stranger cannot become.
    const attacker = createStranger();
    const theirs = await openLogin(attacker, authorizeUrl(client));
    const [name = '', value = ''] = browser.cookie(/person/) ?? [];
    attacker.put(name, value, service.url);
    expect(await (await attacker.get(theirs)).text()).toContain('type="password"');
    // Denied by the person: the host learns it, and nothing else.
    const back = await onward(browser, await browser.post(page, { act: 'deny', proof }));
    expect([back.searchParams.get('error'), back.searchParams.get('code')]).toEqual(['access_denied', null]);
  });

  test('leaves no token, code or key in Redis, and no registration for ever', async () => {
    const { key } = await service.key();
    const host = await loggedIn(service.url, key);
    await registered();
    const direct = new Redis(redis.url);
    const texts: string[] = [];
    for (const name of await direct.keys(`${service.prefix}:{hosts}:*`)) {
      expect(await direct.pttl(name)).toBeGreaterThan(0);
      texts.push(name, (await direct.type(name)) === 'string' ? String(await direct.get(name)) : '');
    }
    await direct.quit();
    const all = texts.join('\n');
    const { access_token = '', refresh_token = '' } = host.held.tokens ?? {};
    for (const secret of [key, access_token, refresh_token]) expect(all).not.toContain(secret);
  });
});

describe('a person who logs in at the issuer for a host', () => {
  const redis = useRedis();
  const scene = shared(async () => startOidcScene(redis.url, {}, {}));
  const ADA = { rights: 'read submit', company: 'acme', nickname: 'Ada L.' };

  test('consents under the own name and tenant, and is not signed in at the console by it', async () => {
    await scene.set({ claims: ADA, refuse: false });
    const { url } = scene.service;
    const host = createHost();
    await auth(host, { serverUrl: `${url}/mcp` });
    const browser = createStranger();
    const page = await openLogin(browser, host.sentTo());
    const html = await (await browser.get(page)).text();
    expect(html).toContain('Sign in with Example');
    expect(await browser.follow(`${page}/issuer`, /\/oauth\/interaction\/[^/]+$/)).toBe(page);
    expect(browser.cookie(/^adjutant_session/)).toBeUndefined();
    const consentHtml = await (await browser.get(page)).text();
    for (const text of ['Ada L.', 'acme', '<code>read</code>', '<code>submit</code>'])
      expect(consentHtml).toContain(text);
    const back = await onward(
      browser,
      await browser.post(page, { act: 'allow', proof: proofIn(consentHtml) }),
    );
    const authorizationCode = back.searchParams.get('code') ?? '';
    await auth(host, { serverUrl: `${url}/mcp`, authorizationCode });
    expect(host.held.tokens?.scope).toBe('read submit');
    expect(await statusOf(`${url}/mcp`, host.held.tokens?.access_token)).toBe(200);
  });

  // A link must not make a person sign in for a login that somebody else has begun.
  test('cannot be led into the login of another browser', async () => {
    await scene.set({ claims: ADA, refuse: false });
    const { url } = scene.service;
    const host = createHost();
    await auth(host, { serverUrl: `${url}/mcp` });
    const attacker = createStranger();
    const page = await openLogin(attacker, host.sentTo());
    const victim = createStranger();
    expect((await victim.get(`${page}/issuer`)).status).toBe(400);
    const path = new URL(page).pathname;
    const end = await victim.follow(`${url}/console/login/oidc?return=${encodeURIComponent(path)}`);
    expect(end).toBe(`${url}/console/`);
    expect(await (await attacker.get(page)).text()).toContain('type="password"');
  });
});

describe('the document at a client id', () => {
  const load = (address: string, found: string[] = [], privateAddresses = false) =>
    createDocumentFetch({ privateAddresses, resolve: async () => found })(address);

  test.each([
    ['a loopback address', 'https://127.0.0.1/client', []],
    ['a private address', 'https://10.0.0.7/client', []],
    ['the metadata service of a cloud', 'https://169.254.169.254/client', []],
    ['a name of an address inside', 'https://client.example/client', ['192.168.1.1', '::1']],
  ])('is never loaded from %s', async (_, address, found) => {
    await expect(load(address, found)).rejects.toThrow(PrivateAddress);
  });

  test('is never loaded without TLS, and one that fails is not asked for again at once', async () => {
    await expect(load('http://client.example/client')).rejects.toThrow('only https');
    const fetching = createDocumentFetch({ privateAddresses: false });
    await expect(fetching('https://127.0.0.1/a')).rejects.toThrow(PrivateAddress);
    await expect(fetching('https://127.0.0.1/a')).rejects.toThrow('a moment ago');
  });
});

// As Claude Code does it: the client id is the address of its document (draft-ietf-oauth-client-id-metadata-document).
/** Sets the times back at which tokens were used and renewals answered, as if a minute had passed. */
async function minuteLater(direct: Redis, prefix: string): Promise<void> {
  for (const mark of ['used', 'answered'])
    for (const key of await direct.keys(`${prefix}:{hosts}:RefreshToken:*:${mark}`))
      await direct.set(key, Number(await direct.get(key)) - 60_000, 'KEEPTTL');
}

describe('a host whose API is killed', () => {
  const redis = useRedis();

  /** Issue 38, point 1: codes and used tokens are in Redis; an answer that no process has sent is asked for again. */
  test('after its consent exchanges its code, and in a renewal renews with the same token, however late', async () => {
    const [port, admin, prefix] = [await freePort(), randomUUID(), `killed-${randomUUID()}`];
    const url = `http://127.0.0.1:${port}`;
    const mcp = `${url}/mcp`;
    const config = { access: { host_login: { public_url: url } } };
    const given = { redisUrl: redis.url, prefix, config, port, environment: { ADJUTANT_ADMIN_KEY: admin } };
    // Its second command of this kind is the mark of the used token.
    const mark = { mark: `set ${prefix}:{hosts}:RefreshToken:`, at: 2 };
    const begun = async () => {
      const child = spawnNode([DOOMED, JSON.stringify({ ...given, ...mark, roles: { api: true } })]);
      await child.waitForLine(/^ready/);
      return child;
    };
    const first = await begun();
    const host = createHost();
    await auth(host, { serverUrl: mcp });
    const back = await consent(createStranger(), host.sentTo(), admin);
    await first.kill9();
    const second = await begun();
    await auth(host, { serverUrl: mcp, authorizationCode: back.searchParams.get('code') ?? '' });
    const renewed = async () =>
      refreshAuthorization(url, {
        metadata: { token_endpoint: `${url}/oauth/token` } as Metadata,
        clientInformation: host.held.client ?? { client_id: '' },
        refreshToken: host.held.tokens?.refresh_token ?? '',
        resource: new URL(mcp),
      });
    await expect(renewed()).rejects.toThrow();
    expect((await second.exited).signal).toBe('SIGKILL');
    await using _last = await startService({ ...given, roles: { api: true } });
    const direct = new Redis(redis.url);
    await minuteLater(direct, prefix);
    const { access_token: token } = await renewed();
    expect(await statusOf(mcp, token)).toBe(200);
    // The host has had an answer: the next repeat is theft, and ends the login.
    await minuteLater(direct, prefix);
    await expect(renewed()).rejects.toThrow();
    expect(await statusOf(mcp, token)).toBe(401);
    await direct.quit();
  });
});

describe('a host that is described by a document', () => {
  const redis = useRedis();
  const service = shared(async () => startHostService(redis.url, { private_addresses: true }));
  const documents = shared(startDocuments);
  const described = (url: string, more: object = {}) => ({
    client_id: url,
    client_name: 'Claude Code',
    redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
    token_endpoint_auth_method: 'none',
    ...more,
  });

  test('may register, and not again and again', async () => {
    const answers = await Promise.all(
      Array.from({ length: 40 }, async () =>
        fetch(`${service.url}/oauth/register`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ redirect_uris: [REDIRECT] }),
        }),
      ),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(30);
    const refused = answers.find(({ status }) => status === 429);
    expect(await refused?.json()).toMatchObject({ error: 'temporarily_unavailable' });
    // The refused calls of one address leave the capacity to the others.
    const direct = new Redis(redis.url);
    expect(await direct.get(`${service.prefix}:{hosts}:pace:register`)).toBe('30');
    await direct.quit();
  });

  // Issue 38: behind a proxy the flood of one host would else refuse all of them.
  test('is counted by its own address behind a proxy that is trusted, and by that of the proxy elsewhere', async () => {
    const statusFrom = async (url: string, address: string): Promise<number> =>
      (
        await fetch(`${url}/oauth/register`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-forwarded-for': address },
          body: JSON.stringify({ redirect_uris: [REDIRECT] }),
        })
      ).status;
    const trusting = { http: { trusted_proxies: ['127.0.0.0/8'] } };
    await using behind = await startHostService(redis.url, {}, trusting);
    const flooded = async (
      url: string,
      from = '203.0.113.7',
      port = (_call: number) => '',
    ): Promise<number[]> => {
      for (let call = 0; call < 30; call += 1) await statusFrom(url, from + port(call));
      return [await statusFrom(url, from + port(30)), await statusFrom(url, '203.0.113.9')];
    };
    expect(await flooded(behind.url)).toEqual([429, 201]);
    // Azure's gateways append the port of the client as well.
    const port = (call: number): string => `:${5_000 + call}`;
    expect(await flooded(behind.url, '1.1.1.1, 203.0.113.8', port)).toEqual([429, 201]);
    expect(await flooded(behind.url, '[2001:db8::7]', port)).toEqual([429, 201]);
    await using direct = await startHostService(redis.url);
    expect(await flooded(direct.url)).toEqual([429, 429]);
  });

  test('logs in without a registration, on any loopback port, and its document is loaded once', async () => {
    const url = documents.serve('/client', (own) => [200, JSON.stringify(described(own))]);
    const host = createHost();
    host.held.client = { client_id: url };
    await loggedIn(service.url, (await service.key()).key, host);
    expect(await statusOf(`${service.url}/mcp`, host.held.tokens?.access_token)).toBe(200);
    expect(documents.asked('/client')).toBe(1);
  });

  test.each<[string, (own: string) => [number, string]]>([
    ['is that of another client', () => [200, JSON.stringify(described('https://claude.ai/client'))]],
    ['is elsewhere', () => [302, '']],
    ['does not end', (own) => [200, JSON.stringify(described(own, { more: 'x'.repeat(20_000) }))]],
    ['is no JSON', () => [200, '<html>']],
    ['has no redirect', (own) => [200, JSON.stringify(described(own, { redirect_uris: [] }))]],
  ])('is refused where the document %s', async (name, answer) => {
    const url = documents.serve(`/${encodeURIComponent(name)}`, answer);
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: url,
      redirect_uri: 'http://127.0.0.1:1/callback',
      code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
      code_challenge_method: 'S256',
    });
    const refused = await fetch(`${service.url}/oauth/authorize?${query.toString()}`, { redirect: 'manual' });
    expect([refused.status, refused.headers.get('location')]).toEqual([400, null]);
  });
});

describe('a service with an authorization server of its operator', () => {
  const redis = useRedis();

  test('names that one, and is none itself', async () => {
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const jwt = {
      issuer: 'https://issuer.example',
      audience: `${url}/mcp`,
      jwks_url: 'http://127.0.0.1:9/keys',
    };
    const host_login = { public_url: url, authorization_server: 'jwt' };
    const config = { access: { jwt, host_login } };
    await using service = await startService({ redisUrl: redis.url, roles: { api: true }, port, config });
    const document = await (await fetch(`${service.url}/.well-known/oauth-protected-resource/mcp`)).json();
    expect(document).toMatchObject({ resource: jwt.audience, authorization_servers: [jwt.issuer] });
    expect((await fetch(`${url}/.well-known/oauth-authorization-server`)).status).toBe(404);
    const other = { access: { jwt: { ...jwt, audience: 'all' }, host_login } };
    await expect(startService({ redisUrl: redis.url, config: other })).rejects.toThrow(
      'public_url with /mcp',
    );
  });
});

describe('a service without host_login', () => {
  const redis = useRedis();

  test('has none of its routes, and says nothing of it', async () => {
    await using plain = await startHostService(redis.url, {}, { access: {} });
    expect((await fetch(`${plain.url}/mcp`, { method: 'POST' })).headers.get('www-authenticate')).toBe(
      'Bearer',
    );
    for (const path of ['/.well-known/oauth-protected-resource/mcp', '/oauth/authorize', '/oauth/token'])
      expect((await fetch(plain.url + path)).status).toBe(404);
  });
});
