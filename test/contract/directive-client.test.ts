/** Both transports of the directive client against one running service.
 *  It must not hold a test of its own: both transports make the same promises. */
import { afterAll, beforeAll } from 'vitest';
import { createHttpClient } from '../../src/client/http-client.ts';
import { createDirectClient } from '../../src/service/direct-client.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';
import { type RunningService, startService } from '../support/running-service.ts';
import { directiveClientContract } from './directive-client.contract.ts';

let redis: TestRedis;
let service: RunningService;

beforeAll(async () => {
  redis = await startRedis();
  service = await startService({ redisUrl: redis.url });
});
afterAll(async () => {
  await service?.stop();
  await redis?.stop();
});

directiveClientContract('HTTP', async () => ({
  client: createHttpClient({ baseUrl: service.url }),
  stop: async () => {},
}));

directiveClientContract('direct', async () => ({
  client: await createDirectClient({ redisUrl: redis.url, prefix: service.prefix }),
  stop: async () => {},
}));
