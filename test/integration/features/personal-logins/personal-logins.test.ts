/** Callers log in at a server that asks for OAuth, each for itself; the server says with whose token each call came.
 *  It must never ask the service whose token a call has used, nor put a login into the store by itself. */
import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createAccessClient, createHttpClient } from '../../../../src/client/http-client.ts';
import { SCOPES } from '../../../../src/contract/access/access.ts';
import type { DirectiveSummary } from '../../../../src/contract/request/request-view.ts';
import { eventually } from '../../../support/eventually.ts';
import { createDirectClient } from '../../../../src/service/direct-client.ts';
import type { LoginStore } from '../../../../src/mcp/oauth/login-store.ts';
import { closeRedis, connectRedis, type RedisConnection } from '../../../../src/platform/redis/connection.ts';
import { keySpace } from '../../../../src/store/keys.ts';
import { accountOf } from '../../../../src/store/request/envelope.ts';
import { loginAt, startOAuthPeer, storeOn, TOKEN_KEY } from '../../../support/oauth.ts';
import { createStranger, type Stranger } from '../../../support/oidc.ts';
import { planOf, startPlannedModel } from '../../../support/planned-model.ts';
import { freePort } from '../../../support/process.ts';
import { type RunningService, startService } from '../../../support/running-service.ts';
import { shared, useRedis } from '../../../support/shared.ts';
import { startTokenIssuer } from '../../../support/token-issuer.ts';

const ADA = 'ada@example.org';
const BOB = 'bob@example.org';
const CAROL = 'carol@example.org';
/** The service's own login, with which it lists the tools. */
const SERVICE = 'service@example.org';
const redis = useRedis();

async function scene() {
  const starts = [startOAuthPeer(), startPlannedModel(), startTokenIssuer('carol'), freePort()] as const;
  const [peer, model, issuer, port] = await Promise.all(starts);
  const base = `http://127.0.0.1:${port}`;
  const config = {
    mcpServers: {
      crm: { url: peer.server().transport.url, auth: { login: 'each' }, approve: ['admin'] },
      books: { url: peer.server().transport.url, auth: { login: 'each' } },
    },
    access: {
      personal_logins: { public_url: base },
      jwt: {
        issuer: 'https://issuer.example',
        audience: 'adjutant',
        jwks_url: issuer.url,
        tenant_claim: 'tenant',
      },
    },
    tenants: { acme: {} },
    providers: { local: { type: 'openai-compatible', base_url: model.url } },
    models: { fast: 'local:small' },
    agents: { clerk: { stream: false, model: 'fast', tools: ['crm.*'], model_call: { max_retries: 0 } } },
  };
  const admin = randomBytes(32).toString('hex');
  const environment = { ADJUTANT_ADMIN_KEY: admin, ADJUTANT_TOKEN_KEY: TOKEN_KEY.toString('base64') };
  const start = async (more: object) => startService({ redisUrl: redis.url, config, environment, ...more });
  let service: RunningService = await start({ port });
  const { prefix } = service;
  const keys = createAccessClient({ baseUrl: base, apiKey: admin });

  const personWith = (key: string, id: string, account: string) => {
    const client = createHttpClient({ baseUrl: base, apiKey: key });
    const browser = createStranger();
    return {
      id,
      key,
      client,
      browser,
      call: async (label: string, tool = 'use') => {
        const directive = { type: 'tool_exec', tool_name: `crm.${tool}`, arguments: { label } } as const;
        const { request_id, directives } = await client.submit(directive);
        return { request_id, id: directives[0]?.id ?? '' };
      },
      /** To the address of the authorization server. */
      begun: async (by: Stranger = browser, server = 'crm') => {
        await peer.set({ person: account });
        const page = `${base}/login/upstream/${server}`;
        expect((await by.post(page, { act: 'key', key })).status).toBe(303);
        const proof = proofIn(await (await by.get(page)).text());
        const onward = await (await by.post(page, { act: 'begin', proof })).text();
        return (/content="0;url=([^"]+)"/.exec(onward)?.[1] ?? onward).replaceAll('&amp;', '&');
      },
    };
  };
  const person = async (name: string, account: string, more: object = {}) => {
    const { key, id } = await keys.create({ name, scopes: [...SCOPES], ...more });
    return personWith(key, id, account);
  };
  const [ada, bob] = [await person('ada', ADA), await person('bob', BOB)];
  const logIn = async (who: typeof ada): Promise<string> => {
    const back = await callbackOf(who.browser, await who.begun());
    return (await who.browser.get(back)).text();
  };
  const onRedis = async <T>(work: (connection: RedisConnection) => Promise<T>): Promise<T> => {
    const connection = connectRedis(redis.url, 'commands');
    try {
      return await work(connection);
    } finally {
      await closeRedis(connection);
    }
  };
  return {
    base,
    peer,
    ada,
    bob,
    person,
    /** The operations on keys and logins, of a new key. */
    keyWith: async (rights: object) => {
      const { key } = await keys.create({ name: 'some', ...rights } as never);
      return createAccessClient({ baseUrl: base, apiKey: key });
    },
    /** A caller with a token of an issuer, and no key. */
    carol: async (claims: object = {}, account = CAROL) =>
      personWith(await issuer.token({ scope: SCOPES.join(' '), ...claims }), 'jwt:carol', account),
    /** Another API of the installation, behind TLS. */
    behindTls: async (adminKey = admin) => {
      const personal_logins = { public_url: 'https://adjutant.example.com' };
      const access = { ...config.access, personal_logins };
      return startService({
        redisUrl: redis.url,
        prefix,
        environment: { ...environment, ADJUTANT_ADMIN_KEY: adminKey },
        roles: { api: true },
        config: { ...config, access },
      });
    },
    /** Milliseconds for which Redis keeps a login; 0: there is none. */
    keptMs: async (account: string) =>
      onRedis(async (connection) =>
        Math.max(0, await connection.pttl(keySpace(prefix).login(account, 'crm')[0])),
      ),
    /** The store of an account. */
    storeFor: async <T>(account: string, work: (store: LoginStore) => Promise<T>) =>
      onRedis(async (connection) => work(storeOn(connection, prefix, TOKEN_KEY, account))),
    /** The caller with the key of the environment. */
    root: personWith(admin, 'environment', 'root@example.org'),
    revoke: async ({ id }: { id: string }) => keys.revoke(id),
    /** Whether a login of the key is stored. */
    async isStored(key: string) {
      const connection = connectRedis(redis.url, 'commands');
      const stored = await storeOn(connection, prefix, TOKEN_KEY, accountOf('default', { key })).read('crm');
      await closeRedis(connection);
      return stored !== null;
    },
    admin: createHttpClient({ baseUrl: base, apiKey: admin }),
    logIn,
    directive: async ({ request_id, id }: Called): Promise<DirectiveSummary | undefined> =>
      (await ada.client.request(request_id))?.directives.find((each) => each.id === id),
    /** Labels of the calls that the server got with the tokens of an account. */
    labels: async (account: string) =>
      (await peer.seen()).made.filter((each) => each.account === account).map(({ label }) => label),
    async listedByService() {
      await peer.set({ person: SERVICE });
      const connection = connectRedis(redis.url, 'commands');
      const login = await loginAt(peer.server());
      await storeOn(connection, prefix).put('crm', { version: 'service', login });
      await closeRedis(connection);
      await eventually(async () => (await ada.client.tools()).tools.map(({ name }) => name)).toContain(
        'crm.use',
      );
    },
    /** The token of the caller has expired, and can be renewed. */
    async expire(key: string) {
      const connection = connectRedis(redis.url, 'commands');
      const store = storeOn(connection, prefix, TOKEN_KEY, accountOf('default', { key }));
      const stored = await store.read('crm');
      if (stored === null) throw new Error('there is no login');
      await store.put('crm', { version: `expired ${key}`, login: { ...stored.login, expiresAt: 1 } });
      await closeRedis(connection);
    },
    /** The result of a call that came by Redis alone. */
    async direct() {
      const client = await createDirectClient({ redisUrl: redis.url, prefix });
      const call = { type: 'tool_exec', tool_name: 'crm.use', arguments: { label: 'x' } } as const;
      const { data } = await client.execute(call).finally(() => void client.close());
      return data.result;
    },
    /** Every process is another one. */
    async restart() {
      await service.stop();
      service = await start({ port, prefix });
    },
    async [Symbol.asyncDispose]() {
      await service.stop();
      await model[Symbol.asyncDispose]();
      await peer[Symbol.asyncDispose]();
      await issuer[Symbol.asyncDispose]();
    },
  };
}

interface Called {
  readonly request_id: string;
  readonly id: string;
}

function proofIn(html: string): string {
  return /name="proof" value="([0-9a-f]{64})"/.exec(html)?.[1] ?? '';
}

/** The address at which the authorization server sends the browser back. */
async function callbackOf(browser: Stranger, authorize: string): Promise<string> {
  return browser.follow(authorize, /\/login\/upstream\/\w+\/callback/);
}

describe('a server that is called with the logins of its callers', () => {
  const at = shared(scene);

  test('a call waits for the login of its own caller, over a restart of every process', async () => {
    const { ada, bob, peer, base, directive, logIn, labels, restart } = at;
    const first = await ada.call('a1');
    await eventually(async () => (await directive(first))?.inputs?.[0]).toMatchObject({
      mode: 'url',
      url: `${base}/login/upstream/crm`,
    });
    // The login of another caller continues nothing of ada.
    expect(await logIn(bob)).toContain('Logged in');
    const other = await bob.call('b1');
    await eventually(async () => (await directive(other))?.status).toBe('succeeded');
    expect((await directive(first))?.status).toBe('waiting');
    await restart();
    expect(await logIn(ada)).toContain('Logged in');
    await eventually(async () => (await directive(first))?.status).toBe('succeeded');
    expect(await labels(ADA)).toEqual(['a1']);
    expect(await labels(BOB)).toEqual(['b1']);
    expect((await peer.seen()).made).toHaveLength(2);
  });

  test('no call reaches the server with the token of another caller, or of the service', async () => {
    const { ada, bob, admin, directive, labels, listedByService } = at;
    await listedByService();
    const ended = async (called: Called, status = 'succeeded'): Promise<void> =>
      eventually(async () => (await directive(called))?.status).toBe(status);
    // At once, with the same arguments, on the connections that both have.
    const calls = await Promise.all(
      Array.from({ length: 6 }, () => [ada.call('a2'), bob.call('b2')] as const).flat(),
    );
    await Promise.all(calls.map(async (called) => ended(called)));
    // A person approves the call of another one.
    const asked = await ada.call('a3', 'admin');
    await eventually(async () => (await directive(asked))?.status).toBe('waiting');
    await bob.client.runs.decide(asked.request_id, asked.id, { decision: 'approve' });
    await ended(asked, 'failed');
    const confessed = await ada.call('a4', 'confess');
    await ended(confessed, 'failed');
    await eventually(async () =>
      bob.client.redrive({ directives: [confessed] }).then(({ redriven }) => redriven.length),
    ).toBe(1);
    await eventually(async () => (await labels(ADA)).filter((label) => label === 'a4')).toHaveLength(2);
    await ada.client.schedules.create({
      id: 'hers',
      every_ms: 1_000,
      directives: [{ type: 'tool_exec', tool_name: 'crm.use', arguments: { label: 'a5' } }],
    } as never);
    await eventually(async () => labels(ADA)).toContain('a5');
    await bob.client.schedules.delete('hers');
    await ada.client.schedules.create({
      id: 'rare',
      every_ms: 86_400_000,
      directives: [{ type: 'tool_exec', tool_name: 'crm.use', arguments: { label: 'b5' } }],
    } as never);
    await bob.client.schedules.trigger('rare');
    await eventually(async () => labels(BOB)).toContain('b5');
    await bob.client.schedules.delete('rare');
    await bob.client.again(confessed.request_id, {
      directive: confessed.id,
      arguments: { label: 'b4' },
    });
    await eventually(async () => labels(BOB)).toContain('b4');
    const query = planOf('a run', [['crm.use', { label: 'a6' }]]);
    const run = await ada.client.runs.start({ agent: 'clerk', query });
    await eventually(async () => (await ada.client.request(run.request_id))?.run?.status).toBe('completed');
    const his = planOf('his run', [['crm.use', { label: 'b6' }]]);
    const other = await bob.client.runs.start({ agent: 'clerk', query: his });
    await eventually(async () => (await ada.client.request(other.request_id))?.run?.status).toBe('completed');
    // A fork of her run takes the results of her calls, and makes none with her login.
    const { request_id: fork } = await bob.client.fork(run.request_id, { at: 1 });
    await eventually(async () => (await ada.client.request(fork))?.run?.status).toBe('completed');
    await bob.client.again(other.request_id, {});
    await eventually(async () => (await labels(BOB)).filter((label) => label === 'b6')).toHaveLength(2);
    const forbidden = {
      problem: { code: 'forbidden', detail: expect.stringContaining('only that caller') as string },
    };
    const { request_id: hers } = run;
    await expect(bob.client.runs.input(hers, { content: 'pay bob' } as never)).rejects.toMatchObject(
      forbidden,
    );
    await expect(bob.client.runs.resume(hers, {} as never)).rejects.toMatchObject(forbidden);
    await expect(admin.runs.input(hers, { content: 'pay' } as never)).rejects.toMatchObject(forbidden);
    const [adas, bobs] = [await labels(ADA), await labels(BOB)];
    expect(adas.filter((label) => !label?.startsWith('a'))).toEqual([]);
    expect(bobs.filter((label) => !label?.startsWith('b'))).toEqual([]);
    expect(await labels(SERVICE)).toEqual([]);
    expect(new Set(adas)).toEqual(new Set(['a1', 'a2', 'a4', 'a5', 'a6']));
    expect(new Set(bobs)).toEqual(new Set(['b1', 'b2', 'b4', 'b5', 'b6']));
  });

  test('renewals of two callers at once give each its own token', async () => {
    const { ada, bob, directive, labels, expire, restart, peer } = at;
    await Promise.all([expire(ada.id), expire(bob.id)]);
    await restart();
    const renewals = async () =>
      (await peer.seen()).token.filter((grant) => grant === 'refresh_token').length;
    const before = await renewals();
    const calls = await Promise.all(
      Array.from({ length: 4 }, () => [ada.call('a7'), bob.call('b7')] as const).flat(),
    );
    for (const called of calls)
      await eventually(async () => (await directive(called))?.status).toBe('succeeded');
    expect((await renewals()) - before).toBe(2);
    expect((await labels(ADA)).filter((label) => label === 'a7')).toHaveLength(4);
    expect((await labels(BOB)).filter((label) => label === 'b7')).toHaveLength(4);
  });

  test('withdrawn access pauses the call, which asks its caller again and is made once', async () => {
    const { ada, bob, peer, directive, logIn, labels } = at;
    await peer.set({ withdrawn: ADA });
    const called = await ada.call('a8');
    await eventually(async () => (await directive(called))?.inputs?.[0]?.mode).toBe('url');
    const others = await bob.call('b8');
    await eventually(async () => (await directive(others))?.status).toBe('succeeded');
    await peer.set({ withdrawn: '' });
    expect(await logIn(ada)).toContain('Logged in');
    await eventually(async () => (await directive(called))?.status).toBe('succeeded');
    expect((await labels(ADA)).filter((label) => label === 'a8')).toHaveLength(1);
    // Answered without a login, it asks again; declined, it ends.
    await peer.set({ withdrawn: ADA });
    const declined = await ada.call('a9');
    const question = async () => (await directive(declined))?.inputs?.[0]?.input_id ?? '';
    await eventually(question).toBe(`${declined.id}.1`);
    await bob.client.answer(declined.request_id, await question(), { action: 'accept' });
    await eventually(question).toBe(`${declined.id}.2`);
    await ada.client.answer(declined.request_id, await question(), { action: 'decline' });
    await eventually(async () => (await directive(declined))?.status).toBe('failed');
    const end = await ada.client.result(declined.request_id, declined.id);
    expect(end?.data).toMatchObject({
      result: {
        ok: false,
        error: { type: 'auth', message: expect.stringContaining('declined to log in') as string },
      },
    });
    await peer.set({ withdrawn: '' });
    expect(await labels(ADA)).not.toContain('a9');
  });

  test('a login that was renewed during the call, and is refused all the same, is forgotten', async () => {
    const { ada, peer, directive, logIn, labels, expire } = at;
    await logIn(ada);
    await peer.set({ barred: ADA });
    await expire(ada.id);
    const called = await ada.call('a11');
    await eventually(async () => (await directive(called))?.inputs?.[0]?.mode).toBe('url');
    await peer.set({ barred: '' });
    expect(await logIn(ada)).toContain('Logged in');
    await eventually(async () => (await directive(called))?.status).toBe('succeeded');
    expect((await labels(ADA)).filter((label) => label === 'a11')).toHaveLength(1);
  });

  test('a login is stored for the caller alone who began and confirmed it in this browser', async () => {
    const { ada, bob, base, peer } = at;
    const victim = createStranger();
    const page = `${base}/login/upstream/crm`;
    const refused = async (answer: Promise<Response>): Promise<void> =>
      expect((await answer).status).toBe(403);
    // The attacker's login, sent to a person who has signed in here, and to one who has not.
    const back = await callbackOf(bob.browser, await bob.begun());
    await refused(victim.get(back));
    await victim.post(page, { act: 'key', key: ada.key });
    await refused(victim.get(back));
    // The victim's login at the authorization server, begun by the attacker.
    const theirs = await callbackOf(victim, await bob.begun());
    await refused(victim.get(theirs));
    // The same browser, after it has signed in as another caller.
    const own = await callbackOf(bob.browser, await bob.begun());
    await bob.browser.post(page, { act: 'key', key: ada.key });
    await refused(bob.browser.get(own));
    const proof = proofIn(await (await victim.get(page)).text());
    await refused(bob.browser.post(page, { act: 'begin', proof }));
    const crossSite = await fetch(page, {
      method: 'POST',
      headers: { origin: 'https://elsewhere.example' },
      body: new URLSearchParams({ act: 'key', key: bob.key }),
    });
    expect(crossSite.status).toBe(403);
    // A code is taken once, and a page names for whom the login is stored.
    const last = await callbackOf(bob.browser, await bob.begun());
    const codes = async () => (await peer.seen()).token.length;
    const before = await codes();
    const answers = await Promise.all(Array.from({ length: 8 }, async () => bob.browser.get(last)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status }) => status === 403)).toHaveLength(7);
    await refused(bob.browser.get(last));
    // An authorization server may withdraw the tokens of a code that comes twice (RFC 6749, 4.1.2).
    expect((await codes()) - before).toBe(1);
    await bob.browser.post(page, { act: 'key', key: bob.key });
    expect(await (await bob.browser.get(page)).text()).toContain(`<strong>bob</strong> (${bob.id})`);
    await peer.set({ person: ADA });
  });

  test('a caller forgets its login; a directive without a caller is refused', async () => {
    const { ada, bob, base, directive, direct, logIn } = at;
    await logIn(ada);
    await logIn(bob);
    const own = async (key: string) =>
      (await createAccessClient({ baseUrl: base, apiKey: key }).logins()).logins;
    expect(await own(ada.key)).toMatchObject([
      { server: 'crm', url: `${base}/login/upstream/crm` },
      { server: 'books', logged_in_at: null },
    ]);
    const his = createAccessClient({ baseUrl: base, apiKey: bob.key });
    expect(await his.forgetLogin('crm')).toEqual({ server: 'crm', forgotten: true });
    expect((await own(bob.key))[0]?.logged_in_at).toBeNull();
    expect((await own(ada.key))[0]?.logged_in_at).toBeTypeOf('string');
    await expect(his.forgetLogin('else')).rejects.toMatchObject({ problem: { code: 'not_found' } });
    const page = `${base}/login/upstream/crm`;
    await ada.browser.post(page, { act: 'key', key: ada.key });
    const proof = proofIn(await (await ada.browser.get(page)).text());
    expect(await (await ada.browser.post(page, { act: 'forget', proof })).text()).toContain(
      'Login forgotten',
    );
    const called = await ada.call('a10');
    await eventually(async () => (await directive(called))?.inputs?.[0]?.mode).toBe('url');
    await ada.client.cancel(called.request_id);
    expect(await direct()).toMatchObject({
      ok: false,
      error: { type: 'auth', message: expect.stringContaining('has no caller') as string },
    });
  });

  test('a caller with a token of the issuer signs in with that token, and no other one', async () => {
    const { bob, base, directive, logIn, labels, carol } = at;
    const hers = await carol();
    const called = await hers.call('c1');
    await eventually(async () => (await directive(called))?.inputs?.[0]?.mode).toBe('url');
    // The link is sent to bob, who signs in as himself.
    await logIn(bob);
    expect((await directive(called))?.status).toBe('waiting');
    const page = `${base}/login/upstream/crm`;
    const { key: old } = await carol({ exp: Math.floor(Date.now() / 1_000) - 60 });
    // Calls are still admitted with it, as the clock of the issuer may differ; a login that has ended already is none.
    const { key: late } = await carol({ exp: Math.floor(Date.now() / 1_000) - 5 });
    const { key: other } = await carol({ aud: 'another service' });
    for (const key of [old, late, other])
      expect((await hers.browser.post(page, { act: 'key', key })).status).toBe(401);
    expect(await logIn(hers)).toContain('Logged in');
    await eventually(async () => (await directive(called))?.status).toBe('succeeded');
    expect(await labels(CAROL)).toEqual(['c1']);
  });

  /** RFC 9207, and RFC 9700, 4.4: an authorization server that sends a browser on must not get the code of another one. */
  test('a login takes no answer of another server or of another issuer', async () => {
    const { bob, peer } = at;
    const codes = async () =>
      (await peer.seen()).token.filter((grant) => grant === 'authorization_code').length;
    const before = await codes();
    for (const [begun, answered] of [
      ['crm', 'books'],
      ['books', 'crm'],
    ] as const) {
      const back = await callbackOf(bob.browser, await bob.begun(bob.browser, begun));
      const swapped = back.replace(`/${begun}/callback`, `/${answered}/callback`);
      expect((await bob.browser.get(swapped)).status).toBe(403);
    }
    for (const iss of ['https://evil.example', null]) {
      const back = new URL(await callbackOf(bob.browser, await bob.begun()));
      if (iss === null) back.searchParams.delete('iss');
      else back.searchParams.set('iss', iss);
      const answer = await bob.browser.get(back.href);
      expect([answer.status, await answer.text()]).toEqual([
        502,
        expect.stringContaining('Login failed') as string,
      ]);
    }
    expect(await codes()).toBe(before);
  });

  test('a caller of the same name in another tenant, or with another key, has a login of its own', async () => {
    const { carol, person, labels } = at;
    const asked = async ({ client, call }: Awaited<ReturnType<typeof carol>>, label: string) => {
      const { request_id, id } = await call(label);
      const directive = async () =>
        (await client.request(request_id))?.directives.find((each) => each.id === id);
      await eventually(async () => (await directive())?.inputs?.[0]?.mode).toBe('url');
      await client.cancel(request_id);
    };
    await asked(await carol({ tenant: 'acme' }), 'acme');
    await asked(await person('ada', 'other@example.org'), 'other');
    expect(await labels(CAROL)).toEqual(['c1']);
    expect(await labels(ADA)).not.toContain('other');
  });

  test('a login ends with the key of its caller, and with the time of a person, renewed or not', async () => {
    const { person, carol, logIn, keptMs, storeFor, keyWith } = at;
    const HOUR_MS = 3_600_000;
    const expires_at = new Date(Date.now() + HOUR_MS).toISOString();
    const brief = await person('brief', 'brief@example.org', { expires_at });
    await logIn(brief);
    const account = accountOf('default', { key: brief.id });
    const within = (ms: number, most: number): void => expect([ms > 0, ms <= most]).toEqual([true, true]);
    within(await keptMs(account), HOUR_MS);
    await storeFor(account, async (store) => {
      const { version, login } = (await store.read('crm')) ?? { version: '', login: null };
      if (login === null) throw new Error('there is no login');
      await store.lock('crm', 'renewal', 5_000);
      expect(
        await store.replace('crm', { version: 'renewed', login }, { was: version, holder: 'renewal' }),
      ).toBe(true);
      await store.read('crm');
    });
    within(await keptMs(account), HOUR_MS);
    await logIn(await carol());
    const hers = accountOf('default', { key: 'jwt:carol', issuer: 'https://issuer.example' });
    within(await keptMs(hers), 30 * 24 * HOUR_MS);
    // An administrator of her tenant locks her out at once, and no one else does.
    const [may, mayNot, elsewhere] = await Promise.all(
      [
        { scopes: ['admin', 'submit'] },
        { scopes: ['submit', 'decide'] },
        { scopes: ['admin', 'submit'], tenant: 'acme' },
      ].map(keyWith),
    );
    const whose = { caller: 'jwt:carol' };
    await expect(mayNot?.forgetLogin('crm', whose)).rejects.toMatchObject({ problem: { code: 'forbidden' } });
    expect(await elsewhere?.forgetLogin('crm', whose)).toMatchObject({ forgotten: false });
    expect(await may?.forgetLogin('crm', { caller: 'oidc:carol' })).toMatchObject({ forgotten: false });
    expect(await keptMs(hers)).toBeGreaterThan(0);
    expect(await may?.forgetLogin('crm', whose)).toMatchObject({ forgotten: true });
    expect(await keptMs(hers)).toBe(0);
  });

  test('work of a revoked key uses no login, nor does a key that is revoked during its login store one', async () => {
    const { person, bob, admin, peer, labels, logIn, revoke, isStored, storeFor } = at;
    const dan = await person('dan', 'dan@example.org');
    await logIn(dan);
    const call = await dan.call('d1', 'admin');
    const { request_id } = await dan.client.runs.start({
      agent: 'clerk',
      query: planOf('a run of dan', [['crm.admin', { label: 'd2' }]]),
    });
    const directives = async (id: string) => (await admin.request(id))?.directives ?? [];
    const waiting = async (id: string) =>
      (await directives(id)).find(({ status }) => status === 'waiting')?.id ?? '';
    for (const id of [call.request_id, request_id])
      await eventually(async () => (await waiting(id)) !== '').toBe(true);
    const account = accountOf('default', { key: dan.id });
    const kept = await storeFor(account, async (store) => store.read('crm'));
    const codes = async () => (await peer.seen()).token.length;
    const back = await callbackOf(dan.browser, await dan.begun());
    const before = await codes();
    await peer.set({ hold: true });
    const answer = dan.browser.get(back);
    await eventually(codes).toBe(before + 1);
    await revoke(dan);
    await peer.set({ hold: false });
    expect((await answer).status).toBe(403);
    expect(await isStored(dan.id)).toBe(false);
    // As an API leaves it that dies between the revocation and the removal.
    await storeFor(account, async (store) => store.put('crm', kept as NonNullable<typeof kept>));
    await bob.client.runs.decide(call.request_id, call.id, { decision: 'approve' });
    await bob.client.runs.decide(request_id, await waiting(request_id), { decision: 'approve' });
    await eventually(async () => (await directives(call.request_id))[0]?.status).toBe('failed');
    const end = await admin.result(call.request_id, call.id);
    expect(JSON.stringify(end?.data)).toContain('the key of its caller is revoked');
    await eventually(async () => (await admin.request(request_id))?.run?.status).toBe('completed');
    expect(await labels('dan@example.org')).toEqual([]);
  });

  test('a call that waits for the login of a key ends once the key is revoked', async () => {
    const { person, admin, revoke } = at;
    const eve = await person('eve', 'eve@example.org');
    const called = await eve.call('e1');
    const directive = async () => (await admin.request(called.request_id))?.directives[0];
    await eventually(async () => (await directive())?.inputs?.[0]?.mode).toBe('url');
    await revoke(eve);
    await eventually(async () => (await directive())?.status).toBe('failed');
    const end = await admin.result(called.request_id, called.id);
    expect(JSON.stringify(end?.data)).toContain('the key of its caller is revoked');
  });

  test('a key of the environment that is replaced ends its logins, and no restart with the same one does', async () => {
    const { root, logIn, isStored, behindTls } = at;
    await logIn(root);
    const outcomes = [];
    for (const key of [root.key, randomBytes(32).toString('hex')]) {
      await using _ = await behindTls(key);
      outcomes.push(await isStored(root.id));
    }
    expect(outcomes).toEqual([true, false]);
  });

  test('behind TLS the cookie of a person belongs to this host alone', async () => {
    const { bob, behindTls } = at;
    await using api = await behindTls();
    const page = `${api.url}/login/upstream/crm`;
    const browser = createStranger();
    await browser.post(page, { act: 'key', key: bob.key });
    const [line = ''] = browser.set;
    expect(line).toMatch(/^__Host-adjutant_upstream_person=.*; Path=\/; Secure;/);
    // Another host of the domain can set this one.
    const secret = /=([^;]+)/.exec(line)?.[1] ?? '';
    const cookie = `adjutant_upstream_person=${secret}`;
    const shown = await (await fetch(page, { headers: { cookie } })).text();
    expect(shown).toContain('First sign in here');
  });
});
