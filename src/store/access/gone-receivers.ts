// Addresses of callers whose receivers have said that they are gone: nothing is sent there for a day.
// Must never hold an address itself, nor the operator's.
import { hash } from 'node:crypto';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import type { KeySpace } from '../keys.ts';

const KEPT_MS = 86_400_000;

export function createGoneReceivers(connection: RedisConnection, keys: KeySpace) {
  const keyOf = (url: string, tenant: string): string =>
    keys.gone(hash('sha256', `${tenant} ${url}`, 'hex').slice(0, 32));
  return {
    has: async (url: string, tenant: string): Promise<boolean> =>
      (await connection.exists(keyOf(url, tenant))) === 1,
    async add(url: string, tenant: string): Promise<void> {
      await connection.set(keyOf(url, tenant), '1', 'PX', KEPT_MS);
    },
  };
}
