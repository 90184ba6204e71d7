/** Runs over a real socket: the answers to correct, careless and hostile callers.
 *  It must not reach into the service: only HTTP. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { problemSchema } from '../../../src/contract/problem.ts';
import { type RunningService, startService } from '../../support/running-service.ts';
import { useRedis } from '../../support/shared.ts';

const redis = useRedis();
let service: RunningService;

beforeAll(async () => {
  // Without an engine, started runs stay as they are.
  const config = { agents: { talker: { description: 'Talks' } } };
  service = await startService({ redisUrl: redis.url, roles: { api: true }, config });
});
afterAll(async () => {
  await service?.stop();
});
afterEach(async () => {
  const response = await fetch(`${service.url}/readyz`);
  expect(response.status, 'the service stays up').toBe(200);
  await response.body?.cancel();
});

async function post(path: string, body?: string, headers: Record<string, string> = {}): Promise<Response> {
  const init =
    body === undefined ? {} : { body, headers: { 'content-type': 'application/json', ...headers } };
  return fetch(service.url + path, { method: 'POST', ...init });
}

async function refused(response: Response): Promise<{ status: number; code: string; paths: string[] }> {
  expect(response.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
  const { status, code, errors = [] } = problemSchema.parse(await response.json());
  expect(response.status).toBe(status);
  return { status, code, paths: errors.map(({ path }) => path) };
}

test('a start is answered with 202 and the run’s URL, before any engine has read it', async () => {
  const response = await post(
    '/v1/requests',
    JSON.stringify({ request_id: 'r-1', agent: 'talker', query: 'hello' }),
  );
  expect(response.status).toBe(202);
  expect(response.headers.get('location')).toBe('/v1/requests/r-1');
  expect(await response.json()).toMatchObject({ request_id: 'r-1', agent: 'talker', status: 'pending' });
  const view = await fetch(`${service.url}/v1/requests/r-1`);
  expect(await view.json()).toMatchObject({ status: 'open', run: { status: 'pending', query: 'hello' } });
});

test('an input is answered with 202, a start again with the same run', async () => {
  await post('/v1/requests', JSON.stringify({ request_id: 'r-2', agent: 'talker', query: 'hello' }));
  const given = await post('/v1/requests/r-2/input', '{"content":"and more"}');
  expect(given.status).toBe(202);
  expect(await given.json()).toMatchObject({ request_id: 'r-2', queued: 1 });
  const again = await post(
    '/v1/requests',
    JSON.stringify({ request_id: 'r-2', agent: 'talker', query: 'hello' }),
  );
  expect(again.status).toBe(202);
  const other = await post(
    '/v1/requests',
    JSON.stringify({ request_id: 'r-2', agent: 'talker', query: 'bye' }),
  );
  expect(await refused(other)).toMatchObject({ status: 409, code: 'id_conflict' });
});

describe.each(['/v1/requests', '/v1/requests/r-1/input', '/v1/requests/r-1/approvals/c'])(
  'POST %s',
  (path) => {
    test.each([
      ['nothing', undefined],
      ['null', 'null'],
      ['a list', '[]'],
      ['a text', '"talker"'],
      ['an empty object', '{}'],
      ['a prototype', '{"__proto__":{"agent":"talker"},"agent":"talker","query":"a"}'],
      ['a deep one', `{"metadata":${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}}`],
    ])('with %s for a body is refused', async (_, body) => {
      expect(await refused(await post(path, body))).toMatchObject({ status: 400, code: 'invalid_body' });
    });

    test('with a body that is not JSON, or has another content type, is refused', async () => {
      expect(await refused(await post(path, '{"agent":'))).toMatchObject({
        status: 400,
        code: 'invalid_json',
      });
      const text = await post(path, 'hello', { 'content-type': 'text/plain' });
      expect(await refused(text)).toMatchObject({ status: 415, code: 'unsupported_media_type' });
    });

    test('accepts no query, and no other method', async () => {
      expect(await refused(await post(`${path}?wait_ms=1`, '{}'))).toMatchObject({
        status: 400,
        code: 'invalid_query',
      });
      const put = await fetch(service.url + path, { method: 'PUT' });
      expect(put.headers.get('allow')).toBe(path === '/v1/requests' ? 'GET, HEAD, POST' : 'POST');
      expect(await refused(put)).toMatchObject({ status: 405, code: 'method_not_allowed' });
    });
  },
);

test.each([
  ['a request id with a slash', '/v1/requests/a%2Fb/input', 400],
  ['a request id that is too long', `/v1/requests/${'a'.repeat(129)}/input`, 400],
  ['a request that is not there', '/v1/requests/nobody/input', 404],
  ['a call id that is too long', `/v1/requests/r-1/approvals/${'c'.repeat(257)}`, 400],
  ['a call that a model named oddly', '/v1/requests/r-1/approvals/call%2F1%20%C3%A4', 404],
])('%s is refused', async (_, path, status) => {
  const body = path.endsWith('input') ? '{"content":"a"}' : '{"decision":"approve"}';
  expect((await refused(await post(path, body))).status).toBe(status);
});

test('agents are listed, and the listing accepts no query', async () => {
  const listing = await fetch(`${service.url}/v1/agents`);
  expect(await listing.json()).toMatchObject({
    agents: [{ name: 'talker', description: 'Talks', strategy: 'react' }],
  });
  expect(await refused(await fetch(`${service.url}/v1/agents?all=1`))).toMatchObject({
    code: 'invalid_query',
  });
});
