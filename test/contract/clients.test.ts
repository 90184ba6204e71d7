/** Directives and runs through both transports, against one running service with an engine.
 *  It must not hold a test of its own: both transports make the same promises. */
import { LLMock } from '@copilotkit/aimock';
import { afterAll, beforeAll } from 'vitest';
import { createHttpClient } from '../../src/client/http-client.ts';
import { createDirectClient } from '../../src/service/direct-client.ts';
import { type RunningService, startService } from '../support/running-service.ts';
import { directiveClientContract } from './directive-client.contract.ts';
import { requestListContract } from './request-list.contract.ts';
import { runClientContract } from './run-client.contract.ts';
import { useRedis } from '../support/shared.ts';

const mock = new LLMock({ port: 0 });
const redis = useRedis();
let service: RunningService;

function configuration(): Record<string, unknown> {
  return {
    providers: { mock: { type: 'openai-compatible', base_url: `${mock.url}/v1` } },
    models: { fast: 'mock:m' },
    agents: {
      talker: { description: 'Talks' },
      careful: { model: 'mock:m', tools: ['peer.*'], policies: { approvals: { '*': 'ask' } } },
    },
  };
}

beforeAll(async () => {
  const toolCalls = [
    { id: 'call_add', name: 'peer_add', arguments: '{"a":2,"b":3}' },
    { id: 'call_echo', name: 'peer_echo', arguments: '{"said":"hi"}' },
  ];
  mock.onMessage('hello', { content: 'Hi.' });
  mock.onMessage('forked', { content: 'Done.' });
  mock.on({ hasToolResult: true }, { content: 'Done.' });
  mock.on({ userMessage: 'work', hasToolResult: false }, { toolCalls });
  await mock.start();
  service = await startService({ redisUrl: redis.url, config: configuration() });
});
afterAll(async () => {
  await service?.stop();
  await mock.stop();
});

for (const contract of [directiveClientContract, requestListContract, runClientContract]) {
  contract('HTTP', async () => ({
    client: createHttpClient({ baseUrl: service.url }),
    stop: async () => {},
  }));

  contract('direct', async () => ({
    client: await createDirectClient({ redisUrl: redis.url, prefix: service.prefix }),
    stop: async () => {},
  }));

  contract('direct, of a tenant', async () => ({
    client: await createDirectClient({ redisUrl: redis.url, prefix: service.prefix, tenant: 'acme' }),
    stop: async () => {},
  }));
}
