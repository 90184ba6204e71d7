/** What becomes of a key where nothing is heard of its end, and where a caller writes it in the wrong place.
 *  It must not name what the log masks: it looks for the secrets. */
import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createGate } from '../../../src/http/access/gate.ts';
import { createViewTokens } from '../../../src/http/access/view-tokens.ts';
import { createApi } from '../../../src/http/api.ts';
import { createHttpClient } from '../../../src/client/http-client.ts';
import { createKnownSecrets } from '../../../src/contract/json/secret-text.ts';
import { createFailureLog } from '../../../src/platform/telemetry/failure-log.ts';
import { logOn } from '../../../src/platform/telemetry/log.ts';
import { NO_METERS } from '../../../src/platform/telemetry/metrics/meters.ts';
import { eventually } from '../../support/eventually.ts';
import { useKeyedService } from '../../support/keyed-service.ts';
import { startService } from '../../support/running-service.ts';

const { redis, roles, service, ADMIN, adminAt, make } = useKeyedService();

describe('a key', () => {
  test('is refused after its revocation by an API that can hear of nothing, as it asks', async () => {
    const operator = new Redis(redis.url);
    onTestFinished(() => operator.disconnect());
    await operator.call('ACL', 'SETUSER', 'deaf', 'on', '>deaf', '~*', '&*', '+@all');
    await using other = await startService({
      redisUrl: redis.url.replace('://', '://deaf:deaf@'),
      roles,
      prefix: service.prefix,
    });
    const heard = async () => String(await operator.call('CLIENT', 'LIST', 'TYPE', 'pubsub'));
    expect(await heard()).toContain('user=deaf');
    // Redis ends its subscriptions, and refuses each further one.
    await operator.call('ACL', 'SETUSER', 'deaf', 'resetchannels');
    const { key, id } = await make({ scopes: ['read'] });
    const ofOther = createHttpClient({ baseUrl: other.url, apiKey: key });
    await eventually(async () => ofOther.lanes().then(() => 'known')).toBe('known');
    await adminAt(service.url).revoke(id);
    await eventually(async () => ofOther.lanes().catch((error: Error) => error.message)).toMatch(/not known/);
    expect(await heard()).not.toContain('user=deaf');
  });

  test('is in no line of the log, wherever a caller writes it', async () => {
    const lines: string[] = [];
    const output = { write: (text: string) => lines.push(text) };
    const adminKey = randomBytes(32).toString('hex');
    const configured = [adminKey];
    const secrets = createKnownSecrets();
    secrets.add(() => configured);
    const logger = logOn(output, { level: 'trace', isText: false, hasColours: false, secrets });
    const token = `eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn0.${randomBytes(32).toString('base64url')}`;
    const known = {
      find: () => undefined,
      size: 1,
      wereUsed: true,
      mayAdmin: () => true,
      isFresh: true,
      refresh: async () => {},
      doubt: () => {},
    };
    const app = createApi({
      client: createHttpClient({ baseUrl: service.url, apiKey: ADMIN }),
      access: {
        gate: createGate({
          known,
          adminKey,
          verifyToken: null,
          closed: true,
          reopens: false,
          onUse: () => {},
        }),
        sessions: {
          open: async () => null,
          admit: async () => ({ kind: 'refused', reason: 'wrong' }),
          close: async () => {},
          openPerson: async () => null,
          hasKeys: async () => true,
        },
        views: createViewTokens({ keys: { find: async () => null }, secret: async () => 'secret' }),
        others: { reading: async () => null, changing: async (caller) => caller },
        keys: adminAt(service.url),
      },
      mcp: {
        handle: async () => Promise.reject(new Error('broken')),
        written: () => {},
        close: async () => {},
      },
      ready: async () => ({ ok: true, checks: {} }),
      reports: { meters: NO_METERS, failures: createFailureLog(logger) },
      logger,
      version: '0',
    });
    const url = await app.listen({ host: '127.0.0.1', port: 0 });
    onTestFinished(async () => app.close());
    const { key } = await make();
    const send = async (path: string, init: RequestInit, authorization = `Bearer ${adminKey}`) => {
      const headers = new Headers(init.headers);
      headers.set('authorization', authorization);
      if (init.body) headers.set('content-type', 'application/json');
      await (await fetch(url + path, { ...init, headers })).text();
    };
    for (const secret of [key, adminKey, token]) {
      await send(`/v1/requests/${secret}`, {});
      await send(`/v1/no/${secret}/such`, { method: 'POST', body: '{}' });
      await send('/v1/lanes', {}, `Bearer ${secret.slice(0, -1)}`);
      await send('/v1/lanes', {}, `Basic ${secret}`);
      await send(`/v1/lanes?api_key=${secret}`, {}, '');
      await send(`/v1/lanes?x&key='${secret}`, {});
      await send(`/no/such?key=${secret}`, {});
      await send(`/v1/%zz?key=${secret}`, {});
      await send(`/mcp?key=${secret}`, { method: 'POST', body: '{}' });
      await send('/v1/directives', {
        method: 'POST',
        body: '{}',
        headers: { 'idempotency-key': `${secret} ` },
      });
    }
    await send(`/v1/keys/${key}`, { method: 'DELETE' });
    await send(`/v1/requests/${key}?${key}`, {});
    await send('/v1/directives', { method: 'POST', body: JSON.stringify({ type: key }) });
    const text = lines.join('');
    expect(lines.length).toBeGreaterThan(15);
    expect(text).toContain('/v1/lanes?…&key=…');
    expect(text).toContain('A request failed');
    for (const secret of [key.slice(-43), adminKey, token.slice(-43)])
      expect(lines.filter((line) => line.includes(secret.slice(0, -1)))).toEqual([]);
  });
});
