/** The lane of the keyed server, with a service that serves it on a Redis of its own: where a bench submits what has a key.
 *  It must not limit anything that its bench does not. */
import { createHttpClient } from '../src/client/http-client.ts';
import { startKeyedServer } from '../test/support/keyed-server.ts';
import { startRedis } from '../test/support/redis.ts';
import { startService } from '../test/support/running-service.ts';

/** `lane`, `limits`: as in adjutant.json. */
export async function openKeyedLane(lane: Readonly<Record<string, number>>, limits = {}) {
  await using starting = new AsyncDisposableStack();
  const server = starting.use(await startKeyedServer());
  const redis = starting.use(await startRedis());
  const service = await startService({
    redisUrl: redis.url,
    roles: { api: true, worker: true },
    config: { mcpServers: { keyed: { url: server.url, lane } }, limits, worker: { drain_ms: 0 } },
  });
  starting.defer(() => service.stop());
  const started = starting.move();
  return {
    client: createHttpClient({ baseUrl: service.url }),
    redisPid: redis.pid,
    /** As the server counts them. */
    calls: server.calls,
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  };
}
