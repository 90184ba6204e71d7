/** A delivery to an address of a caller whose receiver is gone, while Redis cannot be asked.
 *  It must not use Redis. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import type { ExecutionContext } from '../../../../src/worker/executors/definition.ts';
import { webhookSend } from '../../../../src/worker/executors/webhook-send.ts';

const REFUSED = async () => Promise.reject(new Error('OOM command not allowed'));

test('ends as gone, though that is neither known nor written', async () => {
  await using server = createServer((_request, response) => void response.writeHead(410).end());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const definition = webhookSend({
    receiverOf: () => ({ url, secrets: [], headers: {}, timeoutMs: 5_000, privateAddresses: true }),
    gone: { has: REFUSED, add: REFUSED },
    userAgent: 'test',
  });
  const context = { signal: new AbortController().signal, traceparent: '', tenant: 'default' };
  const directive = { type: 'webhook_send', url, webhook_id: 'msg_1', event: {} };
  const execution = await definition.execute(directive as never, context as unknown as ExecutionContext);
  const error = { type: 'webhook_failed', retryable: false, details: { reason: 'gone' } };
  expect(execution).toMatchObject({ result: { error } });
});
