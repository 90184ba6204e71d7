/** Both transports of the directive client against one running service.
 *  It must not hold a test of its own: both transports make the same promises. */
import { createHttpClient } from '../../src/client/http-client.ts';
import { createDirectClient } from '../../src/service/direct-client.ts';
import { startService } from '../support/running-service.ts';
import { directiveClientContract } from './directive-client.contract.ts';
import { shared, useRedis } from '../support/shared.ts';

const redis = useRedis();
const service = shared(async () => startService({ redisUrl: redis.url }));

directiveClientContract('HTTP', async () => ({
  client: createHttpClient({ baseUrl: service.url }),
  stop: async () => {},
}));

directiveClientContract('direct', async () => ({
  client: await createDirectClient({ redisUrl: redis.url, prefix: service.prefix }),
  stop: async () => {},
}));
