/** Tokens of an issuer: who gets in with one, and which session it opens.
 *  It must never let a token in that the issuer did not make, nor a session outlive what it stands for. */
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { boundedFetch } from '../../../src/http/access/issuer-fetch.ts';
import { createTokenCheck } from '../../../src/http/access/jwt.ts';
import { createAccessClient } from '../../../src/client/http-client.ts';
import { SCOPES } from '../../../src/contract/access/access.ts';
import { ROUTES } from '../../../src/contract/operations/routes.ts';
import type { SessionView } from '../../../src/contract/access/session.ts';
import { startRedis } from '../../support/redis.ts';
import { startService } from '../../support/running-service.ts';
import { startTokenIssuer } from '../../support/token-issuer.ts';
import { shared, useRedis } from '../../support/shared.ts';

const CALL = { type: 'tool_exec', tool_name: 'peer.add', arguments: { a: 2, b: 3 } };
/** Valid bodies of operations that refuse an empty one, by the names of the operations. */
const BODIES: Readonly<Record<string, unknown>> = {
  submit: CALL,
  prioritize: { priority: 1 },
  'runs.input': { content: 'x' },
  'runs.decide': { decision: 'approve' },
  answer: { action: 'decline' },
  score: { name: 'a', value: 1 },
};

const redis = useRedis();
const roles = { api: true };

describe('tokens of an issuer', () => {
  const SUBJECT = 'alice@example.org';
  const issuer = shared(async () => startTokenIssuer(SUBJECT));
  const jwtOf = () => ({ issuer: 'https://issuer.example', audience: 'adjutant', jwks_url: issuer.url });
  const service = shared(async () => {
    const config = { access: { jwt: { ...jwtOf(), tenant_claim: 'tenant' } } };
    return startService({ redisUrl: redis.url, roles, config });
  });
  const statusWith = async (token: string, path = '/v1/lanes'): Promise<number> => {
    const response = await fetch(service.url + path, { headers: { authorization: `Bearer ${token}` } });
    await response.body?.cancel();
    return response.status;
  };

  test('let in with their scopes', async () => {
    expect(await statusWith(await issuer.token({ scope: 'other adjutant:read' }))).toBe(200);
    expect(await statusWith(await issuer.token({ scope: ['read'] }))).toBe(200);
    expect(await statusWith(await issuer.token({ scope: 'submit' }))).toBe(403);
    expect(await statusWith(await issuer.token({ scope: 'read' }), '/v1/keys')).toBe(403);
    expect((await fetch(`${service.url}/v1/lanes`)).status).toBe(401);
    expect(issuer.asked()).toBe(1);
  });

  test('are refused when they are of others, of another tenant, too old, unsigned or altered', async () => {
    const good = await issuer.token({});
    const [head = '', body = '', signature = ''] = good.split('.');
    const none = Buffer.from('{"alg":"none"}').toString('base64url');
    const stranger = await startTokenIssuer(SUBJECT);
    await using _ = stranger;
    const refused = [
      await issuer.token({ iss: 'https://other.example' }),
      await issuer.token({ aud: 'other' }),
      await issuer.token({ tenant: 'other' }),
      await issuer.token({ exp: Math.floor(Date.now() / 1_000) - 60 }),
      await issuer.token({ exp: undefined }),
      await stranger.token({}),
      `${none}.${body}.x`,
      `${head}.${Buffer.from('{"scope":"admin"}').toString('base64url')}.${signature}`,
    ];
    for (const token of refused) expect(await statusWith(token), token).toBe(401);
    expect(await statusWith(good)).toBe(200);
  });

  test('are refused with a subject that is no text or cannot be shown, and stand whole in the audit', async () => {
    for (const sub of [5, '', 'a\u001Bb', 'a'.repeat(256)])
      expect(await statusWith(await issuer.token({ sub })), String(sub)).toBe(401);
    const sub = `repo:organisation/${'name'.repeat(20)}:ref:refs/heads/main`;
    const apiKey = await issuer.token({ scope: 'admin', sub });
    const access = createAccessClient({ baseUrl: service.url, apiKey });
    await access.create({ name: 'by-workflow', scopes: ['read'] });
    expect((await access.audit({ limit: 1 })).entries[0]?.by.id).toBe(`jwt:${sub}`);
  });

  test('ask an issuer that fails once for many, and never for what is open to everyone', async () => {
    let asked = 0;
    const failing = createServer((_request, response) => {
      asked += 1;
      response.writeHead(500).end();
    }).listen(0, '127.0.0.1');
    await once(failing, 'listening');
    const { port } = failing.address() as AddressInfo;
    const config = { access: { jwt: { ...jwtOf(), jwks_url: `http://127.0.0.1:${port}/jwks` } } };
    await using away = await startService({ redisUrl: redis.url, roles, config });
    const headers = { authorization: `Bearer ${await issuer.token({})}` };
    const statusAt = async (path: string) => (await fetch(away.url + path, { headers })).status;
    expect(await statusAt('/healthz')).toBe(200);
    expect(asked).toBe(0);
    for (let left = 5; left > 0; left -= 1) expect(await statusAt('/v1/lanes')).toBe(503);
    expect(asked).toBe(1);
    failing.close().closeAllConnections();
  });

  test('no operation fails internally while Redis is away, and a token needs no Redis to get in', async () => {
    await using fragile = await startRedis();
    const config = { access: { jwt: jwtOf() }, archive: { folder: mkdtempSync(join(tmpdir(), 'archive-')) } };
    await using away = await startService({ redisUrl: fragile.url, roles, config });
    const token = await issuer.token({ scope: SCOPES.join(' ') });
    const call = async (method: string, path: string, body: unknown): Promise<number> => {
      const headers = {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      };
      const sent = body === undefined ? {} : { body: JSON.stringify(body) };
      const response = await fetch(away.url + path, { method, headers, ...sent });
      await response.body?.cancel();
      return response.status;
    };
    expect(await call('GET', '/v1/requests', undefined)).toBe(200);
    await fragile.kill9();
    const calls = Object.entries(ROUTES).map(async ([name, { method, path }]) => {
      const body = method === 'POST' || method === 'PUT' ? (BODIES[name] ?? {}) : undefined;
      return `${name}: ${await call(method, path.replaceAll(/:\w+/g, 'a'), body)}`;
    });
    const answers = await Promise.all(calls);
    expect(answers.filter((each) => / 5(?!03)/.test(each))).toEqual([]);
    // The others are refused for their bodies, or need no Redis.
    const away503 = answers.filter((each) => each.endsWith(' 503')).map((each) => each.split(':')[0]);
    expect(away503).toEqual(expect.arrayContaining(['request', ...Object.keys(BODIES)]));
  });

  test('an answer of the issuer that does not end is left', async () => {
    const { promise: left, resolve } = Promise.withResolvers<boolean>();
    const endless = createServer((_request, response) => {
      const send = (): void => {
        while (response.write(Buffer.alloc(65_536)));
      };
      response.on('drain', send).once('close', () => resolve(true));
      send();
    }).listen(0, '127.0.0.1');
    await once(endless, 'listening');
    const { port } = endless.address() as AddressInfo;
    const ask = boundedFetch({ mostBytes: 100_000 });
    await expect(ask(`http://127.0.0.1:${port}`, {})).rejects.toThrow('more than 100000 bytes');
    await expect(ask(`http://127.0.0.1:${port}`, {})).rejects.toThrow('a moment ago');
    expect(await left).toBe(true);
    endless.close();
  });

  test('tell the log why they are refused, and why the keys cannot be read', async () => {
    const reasons: string[] = [];
    const rules = { ...jwtOf(), scopes_claim: 'scope', tenant_claim: 'tenant' };
    const note = (reason: string, { jwksUrl = '' }: { readonly jwksUrl?: string }) =>
      void reasons.push(`${reason} ${jwksUrl}`);
    const check = createTokenCheck(rules, note);
    for (const claims of [
      { aud: 'other' },
      { iss: 'https://other.example' },
      { exp: 1 },
      { tenant: 'other' },
    ])
      expect(await check(await issuer.token(claims))).toBeNull();
    const away = createTokenCheck({ ...rules, jwks_url: 'http://x:secret@127.0.0.1:1/jwks?k=secret' }, note);
    await expect(away(await issuer.token({}))).rejects.toThrow('cannot be read');
    expect(reasons).toHaveLength(5);
    for (const [index, word] of ['"aud"', '"iss"', '"exp"', 'tenant', 'http://127.0.0.1:1/jwks'].entries())
      expect(reasons[index]).toContain(word);
    expect(reasons.join()).not.toContain('secret');
  });

  test('stand in the audit by their subject', async () => {
    const apiKey = await issuer.token({ scope: 'admin submit' });
    const access = createAccessClient({ baseUrl: service.url, apiKey });
    const { created_by } = await access.create({ name: 'by-token', scopes: ['read'] });
    expect(created_by).toBe(SUBJECT);
    expect((await access.audit({ limit: 1 })).entries[0]?.by.id).toBe(`jwt:${SUBJECT}`);
  });

  const sessionWith = async (key: string, at = service.url): Promise<Response> =>
    fetch(`${at}/v1/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ key }),
    });
  const cookieOf = ({ headers }: Response): string => (headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  const statusBy = async (cookie: string, at = service.url): Promise<number> =>
    (await fetch(`${at}/v1/lanes`, { headers: { cookie } })).status;

  test('open a session that has their rights, and ends with them at the latest', async () => {
    const exp = Math.floor(Date.now() / 1_000) + 100;
    const opened = await sessionWith(await issuer.token({ exp, scope: 'read submit' }));
    expect(opened.status).toBe(204);
    const cookie = cookieOf(opened);
    const view = (await (
      await fetch(`${service.url}/v1/session`, { headers: { cookie } })
    ).json()) as SessionView;
    expect(view).toMatchObject({ key_id: `jwt:${SUBJECT}`, name: SUBJECT, tenant: 'default' });
    expect(view.scopes).toEqual(['submit', 'read']);
    expect(Date.parse(view.expires_at ?? '')).toBeLessThanOrEqual(exp * 1_000);
    expect(await statusBy(cookie)).toBe(200);
    // What the cookie says of the caller counts only with its hash.
    const [id, secret, claims = ''] = cookie.split('.');
    const text = Buffer.from(claims, 'base64url').toString().replace('"submit"', '"admin"');
    expect(text).toContain('admin');
    expect(await statusBy([id, secret, Buffer.from(text).toString('base64url')].join('.'))).toBe(401);
    for (const forged of [`${id}.${secret}`, `${id}.${secret}.x`, `${id}.${'A'.repeat(43)}.${claims}`])
      expect(await statusBy(forged)).toBe(401);
  });

  test('open no session when they are too old for one, of others, or of a tenant that is not named', async () => {
    const justOver = Math.floor(Date.now() / 1_000) - 5;
    for (const claims of [{ exp: justOver }, { aud: 'other' }, { tenant: 'other' }])
      expect((await sessionWith(await issuer.token(claims))).status).toBe(401);
  });

  test('leave no session when the issuer is no longer configured', async () => {
    const cookie = cookieOf(await sessionWith(await issuer.token({})));
    const named = (jwt?: object) => ({ access: jwt === undefined ? {} : { jwt } });
    const environment = { ADJUTANT_ADMIN_KEY: 'x'.repeat(40) };
    const { prefix } = service;
    for (const config of [named(), named({ ...jwtOf(), issuer: 'https://other.example' })]) {
      await using other = await startService({ redisUrl: redis.url, roles, config, environment, prefix });
      expect(await statusBy(cookie, other.url)).toBe(401);
    }
    expect(await statusBy(cookie)).toBe(200);
  });

  test('are the only way in where there are no keys, and a key is told so', async () => {
    const config = { access: { jwt: jwtOf() } };
    await using fresh = await startService({ redisUrl: redis.url, roles, config });
    const answer = await sessionWith(`adj_${'0'.repeat(12)}_${'A'.repeat(43)}`, fresh.url);
    expect(await answer.json()).toMatchObject({
      status: 401,
      detail: expect.stringContaining('no API keys'),
    });
    const cut = await sessionWith('adj_0123');
    expect(await cut.json()).toMatchObject({ status: 401, detail: expect.stringContaining('not whole') });
    const empty = await sessionWith('');
    expect(await empty.json()).toMatchObject({ status: 400, detail: expect.stringContaining('is empty') });
    expect(await (await fetch(`${fresh.url}/v1/session`)).json()).toEqual({
      state: 'signed_out',
      sign_in: { keys: false },
    });
  });
});
