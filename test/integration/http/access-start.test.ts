/** Keys across a start of the service, and at the command line.
 *  It must never start a service on an address that others reach. */
import { expect, test } from 'vitest';
import { call } from '../../../src/cli/commands/call.ts';
import { createTerminal } from '../../../src/cli/terminal.ts';
import {
  createAccessClient,
  createArchiveClient,
  createRunClient,
  createHttpClient,
} from '../../../src/client/http-client.ts';
import { startService } from '../../support/running-service.ts';
import { useRedis } from '../../support/shared.ts';
import { textStream } from '../../support/text-stream.ts';

const redis = useRedis();
const roles = { api: true };

test('a service whose last key was revoked stays closed when it starts again, unless it is told to open', async () => {
  await using first = await startService({ redisUrl: redis.url, roles });
  const open = createAccessClient({ baseUrl: first.url });
  const lasting = { name: 'only', scopes: ['admin'] } as const;
  const expiring = { ...lasting, scopes: ['admin' as const], expires_at: '2999-01-01T00:00:00.000Z' };
  await expect(open.create(expiring)).rejects.toMatchObject({ problem: { code: 'invalid_body' } });
  const { key, id } = await open.create({ ...lasting, scopes: ['admin'] });
  await createAccessClient({ baseUrl: first.url, apiKey: key }).revoke(id, { force: true });
  const options = { redisUrl: redis.url, roles, prefix: first.prefix };
  await using again = await startService(options);
  expect((await fetch(`${again.url}/v1/lanes`)).status).toBe(401);
  await using told = await startService({ ...options, environment: { ADJUTANT_INSECURE: '1' } });
  expect((await fetch(`${told.url}/v1/lanes`)).status).toBe(200);
});

test('without read: the command line says what was accepted, with an exit code of its own', async () => {
  await using service = await startService({ redisUrl: redis.url, roles });
  const open = createAccessClient({ baseUrl: service.url });
  const { key } = await open.create({ name: 'tests', scopes: ['submit', 'admin'] });
  const client = createHttpClient({ baseUrl: service.url, apiKey: key });
  const at = { baseUrl: service.url, apiKey: key };
  const services = {
    client,
    encrypting: null,
    archive: createArchiveClient(at),
    foreignRuns: createRunClient(at),
  };
  const terminal = createTerminal(textStream(false), textStream(false));
  const interrupt = new AbortController().signal;
  const called = call(
    { ...services, baseUrl: '', terminal, keyboard: null, json: false, interrupt },
    'a.b',
    [],
    {
      request: 'unread',
      id: 'one',
    },
  );
  await expect(called).rejects.toMatchObject({
    message: expect.stringContaining('Accepted as one in request unread') as string,
    exitCode: 4,
    ids: { request_id: 'unread', directive_id: 'one' },
  });
});
