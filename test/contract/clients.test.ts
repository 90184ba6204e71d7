/** Directives and runs through both transports and the Python client, against one running service with an engine.
 *  It must not hold a case of its own: all clients make the same promises. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { LLMock } from '@copilotkit/aimock';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHttpClient } from '../../src/client/http-client.ts';
import { directiveEndedEvent } from '../../src/contract/signal/webhook-event.ts';
import { signedHeaders } from '../../src/features/webhooks/signature.ts';
import { createDirectClient } from '../../src/service/direct-client.ts';
import { CLIENT_PACKAGES, pythonOfTests } from '../support/python.ts';
import { type RunningService, startService } from '../support/running-service.ts';
import { clientCases } from './client-cases.ts';
import { directiveClientContract } from './directive-client.contract.ts';
import { untilHolds } from '../support/eventually.ts';
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
  const client = createHttpClient({ baseUrl: service.url });
  await untilHolds(async () => expect((await client.tools()).tools).not.toHaveLength(0));
  await client.close();
});
afterAll(async () => {
  await service?.stop();
  await mock.stop();
});

for (const contract of [clientCases, directiveClientContract, requestListContract, runClientContract]) {
  contract('HTTP', async () => ({
    client: createHttpClient({ baseUrl: service.url }),
    url: service.url,
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

const WEBHOOK = directiveEndedEvent({
  requestId: 'r',
  tenant: 'default',
  directive: { type: 'tool_exec' },
  id: 'd',
  succeeded: true,
  signal: { result: { ok: true, payload: { text: 'é', none: null } } },
  lane: 'tool.peer',
  attempts: 1,
  sequence: 2,
  accepted_at: '2026-01-01T00:00:00.000Z',
  started_at: null,
  ended_at: '2026-01-01T00:00:00.000Z',
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
});

const PYTHON_CLIENT = 'clients/python';

test('the Python client passes the same cases, blocking and asynchronous', async ({ skip }) => {
  const python = await pythonOfTests(CLIENT_PACKAGES);
  if (python === null) return skip('There is no python3 of version 3.10 or newer.');
  const at = new Date();
  const secrets = ['first', 'second'].map(
    (name) => `whsec_${Buffer.from(name.padEnd(32, '.')).toString('base64')}`,
  );
  const body = JSON.stringify(WEBHOOK);
  const headers = signedHeaders(secrets, { id: 'webhook.1', body, at });
  const message = { secrets, headers, body, at_s: Math.floor(at.getTime() / 1_000) };
  const cases = join(import.meta.dirname, 'client-cases.json');
  const args = [`${PYTHON_CLIENT}/tests/run_cases.py`, service.url, cases, JSON.stringify(message)];
  const env = { ...process.env, PYTHONPATH: `${PYTHON_CLIENT}/src`, PYTHONDONTWRITEBYTECODE: '1' };
  const ran = promisify(execFile)(python, args, { env });
  const { stdout, stderr } = await ran.catch((error: { stdout: string; stderr: string }) => error);
  expect(stderr + stdout).toMatch(/^\d+ passed, 0 failed\n$/);
});
