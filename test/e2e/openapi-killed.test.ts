/** A worker is killed while a REST API works on a POST of it: the call is not made again, and its outcome is unknown. */
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { untilListed } from '../support/eventually.ts';
import { installOn } from '../support/installation.ts';
import { follow, post } from '../support/public-api.ts';
import { startService } from '../support/running-service.ts';
import { useRedis } from '../support/shared.ts';

const REQUEST = 'post-killed';
const DOCUMENT = {
  openapi: '3.1.0',
  info: { title: 'Bank', version: '1' },
  paths: { '/pay': { post: { operationId: 'pay' } } },
};

const redis = useRedis();

test('a POST in flight at a worker that dies is sent once, and ends as outcome_unknown', async () => {
  const arrived = Promise.withResolvers<void>();
  const held: ServerResponse[] = [];
  const bank = createServer((request, response) => {
    if (request.method === 'GET') return void response.end(JSON.stringify(DOCUMENT));
    held.push(response);
    arrived.resolve();
  });
  await new Promise<void>((resolve) => bank.listen(0, '127.0.0.1', resolve));
  const { port } = bank.address() as AddressInfo;
  const openapi = `http://127.0.0.1:${port}/openapi.json`;
  const config = { mcpServers: { bank: { openapi, private_addresses: true } }, worker: { lease_ms: 1_000 } };
  try {
    await using doomed = await installOn(redis.url, { config });
    const shared = { redisUrl: redis.url, prefix: doomed.prefix, config };
    const worker = await doomed.start('worker');
    await using api = await startService({ ...shared, roles: { api: true } });
    await untilListed(api.url, 'bank.pay');
    const call = { type: 'tool_exec', request_id: REQUEST, id: 'c', tool_name: 'bank.pay', arguments: {} };
    expect((await post(`${api.url}/v1/directives`, call)).status).toBe(202);
    await arrived.promise;
    await worker.kill9();
    await using _next = await startService({ ...shared, roles: { worker: true } });
    const ends: unknown[] = [];
    for await (const { type, data } of follow(api.url, REQUEST)) {
      if (type === 'ai.tool.result') ends.push(data);
    }
    expect(ends).toMatchObject([{ result: { ok: false, error: { type: 'outcome_unknown' } } }]);
    expect(held).toHaveLength(1);
  } finally {
    bank.closeAllConnections();
    bank.close();
  }
});
