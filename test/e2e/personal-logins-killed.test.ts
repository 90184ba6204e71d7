/** A call that waits for the login of its caller while every process of the service is killed, one of them right after it has stored the login.
 *  It must judge by what the server was sent. */
import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createAccessClient, createHttpClient } from '../../src/client/http-client.ts';
import { closeRedis, connectRedis } from '../../src/platform/redis/connection.ts';
import { accountOf } from '../../src/store/request/envelope.ts';
import { eventually } from '../support/eventually.ts';
import { install } from '../support/installation.ts';
import { loginAt, startOAuthPeer, storeOn, TOKEN_KEY } from '../support/oauth.ts';
import { freePort } from '../support/process.ts';

/** Issue 38, point 6. */
test('kill -9 of API and worker while a call waits for a login: it is made once, with that login', async () => {
  await using peer = await startOAuthPeer();
  const [port, admin] = [await freePort(), randomBytes(32).toString('hex')];
  const baseUrl = `http://127.0.0.1:${port}`;
  await using installation = await install({
    config: {
      mcpServers: { crm: { url: peer.server().transport.url, auth: { login: 'each' } } },
      access: { personal_logins: { public_url: baseUrl } },
      worker: { lease_ms: 1_000 },
    },
  });
  const env = { ADJUTANT_ADMIN_KEY: admin, ADJUTANT_TOKEN_KEY: TOKEN_KEY.toString('base64') };
  const begin = async () =>
    Promise.all([installation.start('api', port, env), installation.start('worker', 0, env)]);
  const processes = await begin();
  const access = createAccessClient({ baseUrl, apiKey: admin });
  const { key, id } = await access.create({ name: 'ada', scopes: ['submit', 'read'] });
  const client = createHttpClient({ baseUrl, apiKey: key });
  const { request_id: requestId } = await client.submit({
    type: 'tool_exec',
    tool_name: 'crm.use',
    arguments: { label: 'waited' },
  });
  const directive = async () => (await client.request(requestId))?.directives[0];
  await eventually(async () => (await directive())?.inputs?.[0]?.url).toBe(`${baseUrl}/login/upstream/crm`);
  await Promise.all(processes.map(async (each) => each.kill9()));
  // What an API leaves that dies after it has stored a login, and before the calls continue.
  const connection = connectRedis(installation.redis.url, 'commands');
  const login = await loginAt(peer.server());
  const store = storeOn(connection, installation.prefix, TOKEN_KEY, accountOf('default', { key: id }));
  await store.put('crm', { version: 'hers', login });
  await closeRedis(connection);
  await begin();
  await eventually(async () => (await directive())?.status).toBe('succeeded');
  expect((await peer.seen()).made).toEqual([{ account: 'ada@example.org', tool: 'use', label: 'waited' }]);
});
