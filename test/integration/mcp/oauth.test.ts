/** Logins at a server that demands OAuth, with a real authorization server: shared, renewed once, widened, withdrawn.
 *  It must never read a token otherwise than the service does, except to look for it where it must not be. */
import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { eventually } from '../../support/eventually.ts';
import { loginAt, type OAuthServer, startOAuthPeer, storeOn, TOKEN_KEY } from '../../support/oauth.ts';
import { uniquePrefix } from '../../support/journal.ts';
import { failureOf, openPoolWith, textOf } from '../../support/mcp-pool.ts';
import { type Child, spawnNode } from '../../support/process.ts';
import { programOf } from '../../support/program.ts';
import { startRedis } from '../../support/redis.ts';
import { shared } from '../../support/shared.ts';
import { keySpace } from '../../../src/store/keys.ts';
import type { Login } from '../../../src/mcp/oauth/login.ts';
import { loginFailureOf } from '../../../src/mcp/oauth/login-failure.ts';
import { closeRedis, connectRedis } from '../../../src/platform/redis/connection.ts';

const keys = generateKeyPairSync('rsa', { modulusLength: 2048 });
const pem = keys.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const SECRET = { clientId: 'machine', clientSecret: 'machine-secret-of-the-test' };
const SIGNED = { clientId: 'signed', privateKey: { pem, algorithm: 'RS256' } };

const peer = shared(async () =>
  startOAuthPeer({ PEER_PUBLIC_KEY: JSON.stringify(keys.publicKey.export({ format: 'jwk' })) }),
);
const redis = shared(async () => {
  const server = await startRedis();
  const connection = connectRedis(server.url, 'commands');
  return {
    url: server.url,
    connection,
    async [Symbol.asyncDispose]() {
      await closeRedis(connection);
      await server.stop();
    },
  };
});

beforeEach(async () => peer.set({ hold: false, refuse: false, outage: false }));

/** The next renewal is due, and the server refuses the token that is left. */
function outdated(login: Login): Login {
  return { ...login, accessToken: 'outdated-access-token', expiresAt: 1, renewedAt: 0 };
}

/** What the authorization server was asked since. */
async function refreshesSince(before: number): Promise<number> {
  const { token } = await peer.seen();
  return token.slice(before).filter((grant) => grant === 'refresh_token').length;
}

async function workerOn(prefix: string, server: OAuthServer): Promise<Child> {
  const given = { redisUrl: redis.url, prefix, key: TOKEN_KEY.toString('hex'), server };
  const worker = spawnNode([programOf(CALLER), JSON.stringify(given)]);
  onTestFinished(async () => void (await worker.kill9()));
  await worker.waitForLine(/ready/);
  return worker;
}

const CALLER = programOf(fileURLToPath(new URL('../../support/servers/oauth-caller.ts', import.meta.url)));

/** A login under a prefix of its own. */
async function loggedIn(change: (login: Login) => Login = (login) => login) {
  const prefix = uniquePrefix();
  const store = storeOn(redis.connection, prefix);
  const server = peer.server();
  const login = await loginAt(server);
  await store.put('crm', { version: randomUUID(), login: change(login) });
  const { token } = await peer.seen();
  return { prefix, store, server, login, asked: token.length };
}

test('one login serves the calls; a scope that it lacks is named with the command that widens it', async () => {
  const store = storeOn(redis.connection, uniquePrefix());
  const server = peer.server();
  const { call } = openPoolWith({ logins: store }, server);
  expect(failureOf(await call('use')).error).toMatchObject({
    type: 'auth',
    message: expect.stringContaining('no login exists: run `adjutant mcp login crm`') as string,
  });
  const login = await loginAt(server);
  await store.put('crm', { version: randomUUID(), login });
  const after = openPoolWith({ logins: store }, server);
  expect(textOf(await after.call('use'))).toBe('use');
  expect(failureOf(await after.call('admin')).error).toMatchObject({
    type: 'auth',
    message: expect.stringContaining('`adjutant mcp login crm --scope mcp:admin`') as string,
  });
  const wider = await loginAt(server, { scopes: ['mcp:admin'], before: login });
  expect(wider.scope?.split(' ')).toEqual(expect.arrayContaining(['mcp:use', 'mcp:admin']));
  await store.put('crm', { version: randomUUID(), login: wider });
  expect(textOf(await openPoolWith({ logins: store }, server).call('admin'))).toBe('admin');
});

test('a token that the server repeats is in no error', async () => {
  const store = storeOn(redis.connection, uniquePrefix());
  const server = peer.server();
  const login = await loginAt(server);
  await store.put('crm', { version: randomUUID(), login });
  const { call } = openPoolWith({ logins: store }, server);
  const { error } = failureOf(await call('blurt'));
  expect(error.message).toContain('bad token');
  expect(JSON.stringify(error)).not.toContain(login.accessToken);
  const ofTool = await call('confess');
  expect(JSON.stringify(ofTool)).toContain('bad token [REDACTED]');
  expect(JSON.stringify(ofTool)).not.toContain(login.accessToken);
});

test('twenty calls of two workers after the end of the token renew it once, and the next time once more', async () => {
  const { prefix, store, server, asked } = await loggedIn(outdated);
  const workers = [await workerOn(prefix, server), await workerOn(prefix, server)];
  for (const renewals of [1, 2]) {
    for (const worker of workers) worker.write('call 10 use\n');
    const ends = await Promise.all(workers.map((worker) => worker.waitForLine(/ends/)));
    expect(ends).toEqual(
      workers.map(() => JSON.stringify({ ends: Array.from({ length: 10 }, () => 'result') })),
    );
    expect(await refreshesSince(asked)).toBe(renewals);
    const stored = await store.read('crm');
    if (stored === null) throw new Error('The login is gone.');
    await store.put('crm', { version: randomUUID(), login: outdated(stored.login) });
    workers.splice(0, 2, await workerOn(prefix, server), await workerOn(prefix, server));
  }
});

test('a token that the server refuses before its end is renewed once for all that were refused', async () => {
  const { store, server, asked } = await loggedIn((login) => ({
    ...login,
    accessToken: 'revoked-access-token',
    renewedAt: 0,
  }));
  const pools = [openPoolWith({ logins: store }, server), openPoolWith({ logins: store }, server)];
  const outcomes = await Promise.all(
    pools.flatMap(({ call }) => Array.from({ length: 10 }, () => call('use'))),
  );
  expect(outcomes.map(textOf)).toEqual(Array.from({ length: 20 }, () => 'use'));
  expect(await refreshesSince(asked)).toBe(1);
});

test('the lock of a worker that was killed during a renewal is over with its lease, and the next worker renews', async () => {
  const { prefix, server, asked } = await loggedIn(outdated);
  const [killed, next] = [await workerOn(prefix, server), await workerOn(prefix, server)];
  await peer.set({ hold: true });
  killed.write('token 1000\n');
  await peer.child.waitForLine(new RegExp(`^token request ${asked + 1}$`));
  await killed.kill9();
  // Released before the server has seen the end of the connection, the request would be carried out, and its answer lost.
  await peer.child.waitForLine(new RegExp(`^token request ${asked + 1} is gone$`));
  await peer.set({ hold: false });
  next.write('call 5 use\n');
  expect(await next.waitForLine(/ends/)).toBe(
    JSON.stringify({ ends: Array.from({ length: 5 }, () => 'result') }),
  );
});

test('what Redis holds of a login is sealed, bounded, and has an end', async () => {
  const { prefix, login } = await loggedIn();
  const [key = '', ...others] = await redis.connection.keys(`${prefix}*`);
  expect(others).toEqual([]);
  const held = JSON.stringify(await redis.connection.hgetall(key));
  for (const secret of [
    login.accessToken,
    login.refreshToken,
    login.client.client_secret,
    login.client.client_id,
  ])
    expect(held).not.toContain(secret);
  expect(held.length).toBeLessThan(90 * 1_024);
  expect(await redis.connection.pttl(key)).toBeGreaterThan(0);
});

test('another key opens no login, and the error says what to do', async () => {
  const { prefix, server } = await loggedIn();
  const { call } = openPoolWith({ logins: storeOn(redis.connection, prefix, randomBytes(32)) }, server);
  expect(failureOf(await call('use')).error).toMatchObject({
    type: 'auth',
    message: expect.stringMatching(
      /cannot be opened with this ADJUTANT_TOKEN_KEY.*adjutant mcp login crm/,
    ) as string,
  });
});

test('a refresh token that was withdrawn needs a new login, and is not asked for again', async () => {
  const { prefix, store, server, asked } = await loggedIn((login) => ({
    ...outdated(login),
    refreshToken: 'withdrawn',
  }));
  const { call } = openPoolWith({ logins: store }, server);
  const needsLogin = {
    type: 'auth',
    retryable: false,
    message: expect.stringMatching(/invalid_grant.*`adjutant mcp login crm/) as string,
  };
  expect(failureOf(await call('use')).error).toMatchObject(needsLogin);
  const another = openPoolWith({ logins: storeOn(redis.connection, prefix) }, server);
  expect(failureOf(await another.call('use')).error).toMatchObject(needsLogin);
  expect(await refreshesSince(asked)).toBe(1);
});

test('an authorization server that is away is a passing fault: the login stays, and the next call is served', async () => {
  const { store, server, login } = await loggedIn(outdated);
  await peer.set({ outage: true });
  const { call, until, statuses } = openPoolWith({ logins: store }, server);
  const patient = call('use');
  // A call whose time is over before the server has been asked fails as a timeout.
  await until(() => statuses.some(({ error = '' }) => error.includes('cannot renew the login now')));
  const failed = failureOf(await call('use', {}, { timeoutMs: 1 }));
  expect(failed.error).toMatchObject({ type: 'network', retryable: true });
  await peer.set({ outage: false });
  expect((await store.read('crm'))?.login.refreshToken).toBe(login.refreshToken);
  expect(textOf(await patient)).toBe('use');
});

test('a pool that stops waits for a renewal that nobody waits for: its tokens may be the only ones', async () => {
  const due = (given: Login): Login => ({ ...given, expiresAt: Date.now() + 20_000, renewedAt: 0 });
  const { store, server, login, asked } = await loggedIn(due);
  const { call, pool } = openPoolWith({ logins: store }, server);
  await peer.set({ hold: true });
  expect(textOf(await call('use'))).toBe('use');
  await peer.child.waitForLine(new RegExp(`^token request ${asked + 1}$`));
  const stopped = pool.stop();
  await peer.set({ hold: false });
  await stopped;
  const renewed = await store.read('crm');
  expect(renewed?.login.accessToken).toBeTypeOf('string');
  expect(renewed?.login.accessToken).not.toBe(login.accessToken);
});

test('a logout counts for workers that have the token', async () => {
  const { store, server } = await loggedIn();
  const { call } = openPoolWith({ logins: store }, server);
  expect(textOf(await call('use'))).toBe('use');
  expect(await store.remove('crm')).toBe(true);
  // A login that was read counts for two seconds.
  await eventually(async () => (await call('use')).kind).toBe('failed');
  expect(failureOf(await call('use')).error).toMatchObject({
    type: 'auth',
    message: expect.stringContaining('no login exists') as string,
  });
});

test('the service logs in with an account of its own, by a secret and by a signature, once for two pools', async () => {
  for (const account of [SECRET, SIGNED]) {
    const prefix = uniquePrefix();
    const { token } = await peer.seen();
    const server = peer.server({ grant: 'client_credentials', issuer: peer.issuer, ...account });
    const pools = [0, 1].map(() => openPoolWith({ logins: storeOn(redis.connection, prefix) }, server));
    const outcomes = await Promise.all(pools.flatMap(({ call }) => [call('use'), call('use')]));
    expect(outcomes.map(textOf)).toEqual(['use', 'use', 'use', 'use']);
    expect((await peer.seen()).token.slice(token.length)).toEqual(['client_credentials']);
  }
});

test('an account goes to no other issuer than the configured one', async () => {
  const server = peer.server({ grant: 'client_credentials', issuer: 'https://issuer.example', ...SECRET });
  const { token } = await peer.seen();
  const { call } = openPoolWith({ logins: storeOn(redis.connection, uniquePrefix()) }, server);
  expect(failureOf(await call('use')).error).toMatchObject({
    type: 'auth',
    message: expect.stringContaining('correct mcpServers.crm.auth') as string,
  });
  expect((await peer.seen()).token).toHaveLength(token.length);
});

test('a login that is refused in the browser ends with its reason', async () => {
  await peer.set({ refuse: true });
  const refused = loginAt(peer.server()).catch((error: unknown) => loginFailureOf(error, 'crm'));
  expect(await refused).toMatchObject({ what: 'The login was refused in the browser (access_denied).' });
  await peer.set({ refuse: false });
});

test('a login whose lock was lost, or that somebody has replaced, is not written', async () => {
  const { prefix, store, login } = await loggedIn();
  const was = (await store.read('crm'))?.version ?? '';
  const [, lock] = keySpace(prefix).login('default', 'crm');
  const written = (version: string, accessToken: string) => ({ version, login: { ...login, accessToken } });
  expect(await store.lock('crm', 'slow', 60_000)).toBe(true);
  expect(await store.lock('crm', 'other', 60_000)).toBe(false);
  // As after the end of its lease.
  await redis.connection.del(lock);
  expect(await store.lock('crm', 'other', 60_000)).toBe(true);
  expect(await store.replace('crm', written('slow-version', 'of slow'), { was, holder: 'slow' })).toBe(false);
  expect(await store.replace('crm', written('other-version', 'of other'), { was, holder: 'other' })).toBe(
    true,
  );
  expect(await store.replace('crm', written('slow-version', 'of slow'), { was, holder: 'slow' })).toBe(false);
  expect((await store.read('crm'))?.login.accessToken).toBe('of other');
  expect(await redis.connection.exists(lock)).toBe(0);
});

test('a token goes to no other address than the one it was given for', async () => {
  const { store, server } = await loggedIn();
  const moved = { ...server, transport: { ...server.transport, url: `${server.transport.url}/elsewhere` } };
  expect(failureOf(await openPoolWith({ logins: store }, moved).call('use')).error).toMatchObject({
    type: 'auth',
    message: expect.stringContaining('for another address of the server') as string,
  });
});
