/** Logins at a server that demands OAuth, with a real authorization server: shared, renewed once, widened, withdrawn.
 *  It must never read a token otherwise than the service does, except to look for it where it must not be. */
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { loginAt, startOAuthPeer, storeOn } from '../../support/oauth.ts';
import { uniquePrefix } from '../../support/journal.ts';
import { failureOf, openPoolWith, textOf } from '../../support/mcp-pool.ts';
import { startRedis } from '../../support/redis.ts';
import { shared } from '../../support/shared.ts';
import { closeRedis, connectRedis } from '../../../src/redis/connection.ts';

const peer = shared(async () => startOAuthPeer());
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

test('one login serves the calls; a scope that it lacks is named with the command that widens it', async () => {
  const store = storeOn(redis.connection, uniquePrefix());
  const server = peer.server();
  const { call } = openPoolWith({ logins: store }, server);
  expect(failureOf(await call('use')).error).toMatchObject({
    type: 'auth',
    message: expect.stringContaining('nobody has logged in: run `adjutant mcp login crm`') as string,
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
});
