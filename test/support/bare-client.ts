/** A direct client over the store of a test, with the options of a service without a configuration.
 *  It must never open a connection, nor close one. */
import { DEFAULT_REQUEST_BYTES } from '../../src/store/request/journal.ts';
import { createPreparer } from '../../src/directives/prepare.ts';
import type { RedisConnection } from '../../src/platform/redis/connection.ts';
import { type ClientOptions, createClient } from '../../src/service/client.ts';
import type { Store } from '../../src/service/store.ts';

export function bareClient(store: Store, listening: RedisConnection, more: Partial<ClientOptions> = {}) {
  return createClient(store, listening, {
    preparer: createPreparer(store.catalog, () => null),
    customTypes: new Map(),
    argumentsBytes: 1_000_000,
    requestBytes: DEFAULT_REQUEST_BYTES,
    maxDirectives: 10,
    maxQueuedIn: () => null,
    maxOpen: null,
    ...more,
  });
}
