/** New tokens that may be the only ones: what is stored of them when a lock or a confirmation is lost.
 *  It must never ask an authorization server: its answers are those of the test. */
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { uniquePrefix } from '../../support/journal.ts';
import { storeOn, TOKEN_KEY } from '../../support/oauth.ts';
import { startRedis } from '../../support/redis.ts';
import { shared } from '../../support/shared.ts';
import { createLoginRecords } from '../../../src/store/access/login-records.ts';
import { keySpace } from '../../../src/store/keys.ts';
import type { Login } from '../../../src/mcp/oauth/login.ts';
import { createLoginStore, type LoginStore } from '../../../src/mcp/oauth/login-store.ts';
import type { Renew } from '../../../src/mcp/oauth/renewal.ts';
import { renewUnderLock } from '../../../src/mcp/oauth/renewal-lock.ts';
import { createSeal } from '../../../src/mcp/oauth/seal.ts';
import { closeRedis, connectRedis } from '../../../src/platform/redis/connection.ts';
import { loginsOn } from '../../../src/service/roles/logins.ts';

const redis = shared(async () => {
  const server = await startRedis();
  const connection = connectRedis(server.url, 'commands');
  return {
    connection,
    async [Symbol.asyncDispose]() {
      await closeRedis(connection);
      await server.stop();
    },
  };
});

const SERVER_URL = 'https://crm.example/mcp';
const OLD: Login = {
  serverUrl: SERVER_URL,
  issuer: 'https://issuer.example',
  endpoints: null,
  client: { client_id: 'client' },
  resource: null,
  resourceMetadataUrl: null,
  accessToken: 'old',
  refreshToken: 'used once',
  scope: null,
  account: null,
  loggedInAt: 1,
  renewedAt: 1,
  expiresAt: 2,
  refused: null,
};
const NEW: Login = { ...OLD, accessToken: 'new', refreshToken: 'the only one' };
const AGAIN: Login = { ...OLD, accessToken: 'of a new login', refreshToken: 'of a new login' };

const denied: Renew = () => Promise.resolve({ kind: 'denied', reason: 'invalid_grant' });
const renewed: Renew = () => Promise.resolve({ kind: 'renewed', login: NEW });

async function stored(): Promise<{ prefix: string; store: LoginStore }> {
  const prefix = uniquePrefix();
  const store = storeOn(redis.connection, prefix);
  await store.put('crm', { version: 'old', login: OLD });
  return { prefix, store };
}

const renewal = (store: LoginStore, holder: string, renew: Renew) =>
  renewUnderLock({
    server: 'crm',
    serverUrl: SERVER_URL,
    auth: { grant: 'authorization_code', scopes: [] },
    store,
    holder,
    from: { version: 'old', login: OLD },
    challenge: {},
    renew,
    leaseMs: 15_000,
    now: Date.now,
    random: () => 0,
    remedy: 'log in',
  });

test('new tokens come late, and replace what another process was refused with the old ones', async () => {
  const { store } = await stored();
  const { login } = await renewal(store, 'slow', async (request) => {
    // As after the end of its lease.
    await store.unlock('crm', 'slow');
    await expect(renewal(store, 'other', denied)).rejects.toThrow(/invalid_grant/);
    expect((await store.read('crm'))?.login.refused).toBe('invalid_grant');
    return renewed(request);
  });
  expect(login).toEqual(NEW);
  expect((await store.read('crm'))?.login).toEqual(NEW);
});

test('new tokens wait for the process that has the lock meanwhile', async () => {
  const { store } = await stored();
  const [hasLock, isStale] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const watched: LoginStore = {
    ...store,
    replace: (...given) =>
      store.replace(...given).finally(() => {
        isStale.resolve();
      }),
  };
  const slow = renewal(watched, 'slow', async (request) => {
    await store.unlock('crm', 'slow');
    const other = renewal(store, 'other', async (asked) => {
      hasLock.resolve();
      await isStale.promise;
      return denied(asked);
    });
    void other.catch(() => {});
    await hasLock.promise;
    return renewed(request);
  });
  expect((await slow).login).toEqual(NEW);
  expect((await store.read('crm'))?.login).toEqual(NEW);
});

test('new tokens never replace a new login, nor come back after a logout', async () => {
  const { store } = await stored();
  const late = await renewal(store, 'slow', async (request) => {
    await store.put('crm', { version: randomUUID(), login: AGAIN });
    return renewed(request);
  });
  expect(late.login).toEqual(AGAIN);
  await store.put('crm', { version: 'old', login: OLD });
  const removed = renewal(store, 'slow', async (request) => {
    await store.remove('crm');
    return renewed(request);
  });
  await expect(removed).rejects.toThrow(/lock of the login was lost/);
  expect(await store.read('crm')).toBeNull();
});

test('a refusal that comes after the new tokens of another process counts for nobody', async () => {
  const { store } = await stored();
  const { login } = await renewal(store, 'slow', async (request) => {
    await store.unlock('crm', 'slow');
    await renewal(store, 'other', renewed);
    return denied(request);
  });
  expect(login).toEqual(NEW);
});

test('a write that is not confirmed is repeated, also where a failover has lost it', async () => {
  const { prefix } = await stored();
  const [record] = keySpace(prefix).login('default', 'crm');
  const before = await redis.connection.hgetall(record);
  const ends = [
    () => Promise.reject(new Error('no replica has it yet')),
    async () => {
      await redis.connection.hset(record, before);
      throw new Error('the connection to Redis was lost meanwhile');
    },
    () => Promise.resolve(),
  ];
  const confirm = () => Promise.resolve(ends.shift() ?? null);
  const records = createLoginRecords(redis.connection, keySpace(prefix), 'default', confirm);
  const store = createLoginStore({ records, seal: createSeal([TOKEN_KEY]), principal: 'default' });
  expect((await renewal(store, 'one', renewed)).login).toEqual(NEW);
  expect(ends).toEqual([]);
  expect((await store.read('crm'))?.login).toEqual(NEW);
});

test('a process confirms new tokens as its configuration says', async () => {
  const { prefix } = await stored();
  const logins = loginsOn(redis.connection, { prefix, tokenKeys: [TOKEN_KEY], durability: 'replica' });
  await logins?.lock('crm', 'one', 15_000);
  const written = { version: 'new', login: NEW };
  await expect(logins?.replace('crm', written, { was: 'old', holder: 'one' })).rejects.toThrow(
    /no replica has it/,
  );
  expect((await logins?.read('crm'))?.login).toEqual(NEW);
});
