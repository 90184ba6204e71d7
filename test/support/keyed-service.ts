/** A service that asks for keys: what the tests of access have in common.
 *  It must not hide what a key may do: each test says it. */
import { randomBytes } from 'node:crypto';
import { createAccessClient } from '../../src/client/http-client.ts';
import {
  type AccessClient,
  type CreatedKey,
  SCOPES,
  type SubmittedKey,
} from '../../src/contract/access/access.ts';
import { startService } from './running-service.ts';
import { shared, useRedis } from './shared.ts';

/** Only an API. Call it once in a file, outside of its tests. */
export function useKeyedService() {
  const redis = useRedis();
  const adminKey = randomBytes(32).toString('hex');
  const roles = { api: true };
  const service = shared(async () =>
    startService({ redisUrl: redis.url, roles, environment: { ADJUTANT_ADMIN_KEY: adminKey } }),
  );
  const adminAt = (baseUrl: string): AccessClient => createAccessClient({ baseUrl, apiKey: adminKey });
  /** With every scope, unless it is said otherwise. */
  const make = async (key: Partial<SubmittedKey> = {}): Promise<CreatedKey> =>
    adminAt(service.url).create({ name: 'tests', scopes: [...SCOPES], ...key });
  return { redis, roles, service, ADMIN: adminKey, adminAt, make };
}
