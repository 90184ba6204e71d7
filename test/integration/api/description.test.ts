/** The API's description of itself: valid OpenAPI 3.1 that names every route, and pages that need no network.
 *  It must not compare the document with a copy of it. */
import { Validator } from '@seriousme/openapi-schema-validator';
import { beforeAll, expect, test } from 'vitest';
import { startService } from '../../support/running-service.ts';
import { shared, useRedis } from '../../support/shared.ts';

interface Operation {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, unknown>>;
}
interface OpenApi {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, unknown>> };
}

const redis = useRedis();
const service = shared(async () => startService({ redisUrl: redis.url, roles: { api: true } }));
let document: OpenApi;

beforeAll(async () => {
  document = (await (await fetch(`${service.url}/openapi.json`)).json()) as OpenApi;
});

test('the description is valid OpenAPI 3.1', async () => {
  const { valid, errors } = await new Validator().validate(structuredClone({ ...document }));
  expect(errors).toBeUndefined();
  expect(valid).toBe(true);
  expect(document.openapi).toBe('3.1.0');
});

test('it names every route, once', () => {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(operations.toSorted()).toEqual([
    'DELETE /v1/keys/{key_id}',
    'DELETE /v1/schedules/{schedule_id}',
    'DELETE /v1/session',
    'GET /healthz',
    'GET /metrics',
    'GET /openapi.json',
    'GET /readyz',
    'GET /v1/agents',
    'GET /v1/approvals',
    'GET /v1/audit',
    'GET /v1/budgets',
    'GET /v1/dead-letters',
    'GET /v1/dead-letters/groups',
    'GET /v1/keys',
    'GET /v1/lanes',
    'GET /v1/requests',
    'GET /v1/requests/{request_id}',
    'GET /v1/requests/{request_id}/archive',
    'GET /v1/requests/{request_id}/directives/{directive_id}',
    'GET /v1/requests/{request_id}/directives/{directive_id}/payload',
    'GET /v1/requests/{request_id}/signals',
    'GET /v1/requests/{request_id}/timeline',
    'GET /v1/requests/{request_id}/trace',
    'GET /v1/schedules',
    'GET /v1/schedules/{schedule_id}',
    'GET /v1/session',
    'GET /v1/tools',
    'GET /v1/workers',
    'POST /v1/dead-letters/redrive',
    'POST /v1/directives',
    'POST /v1/keys',
    'POST /v1/reindex',
    'POST /v1/requests',
    'POST /v1/requests/cancel',
    'POST /v1/requests/redrive',
    'POST /v1/requests/{request_id}/approvals/{call_id}',
    'POST /v1/requests/{request_id}/cancel',
    'POST /v1/requests/{request_id}/directives/{directive_id}/cancel',
    'POST /v1/requests/{request_id}/directives/{directive_id}/priority',
    'POST /v1/requests/{request_id}/input',
    'POST /v1/requests/{request_id}/inputs/{input_id}',
    'POST /v1/schedules',
    'POST /v1/schedules/{schedule_id}/pause',
    'POST /v1/schedules/{schedule_id}/resume',
    'POST /v1/schedules/{schedule_id}/trigger',
    'POST /v1/session',
    'POST /v1/workers/{worker_id}/drain',
    'POST /v1/workers/{worker_id}/resume',
    'PUT /v1/schedules/{schedule_id}',
  ]);
  const ids = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).map(({ operationId }) => operationId),
  );
  expect(new Set(ids).size).toBe(ids.length);
});

test('every path it names answers', async () => {
  for (const path of Object.keys(document.paths)) {
    const response = await fetch(service.url + path.replaceAll(/\{\w+\}/g, 'x'), { method: 'HEAD' });
    expect([200, 404, 405], path).toContain(response.status);
  }
});

test('every reference has its schema, and every schema is used', () => {
  const references = JSON.stringify(document).matchAll(/"#\/components\/schemas\/([^"]+)"/g);
  const named = new Set([...references].map(([, name = '']) => name));
  expect([...named].toSorted()).toEqual(Object.keys(document.components.schemas).toSorted());
});

test.each([
  ['GET', '/v1/tools', 200],
  ['GET', '/v1/session', 200],
  ['GET', '/v1/requests/none', 404],
  ['GET', '/v1/no-such-route', 404],
  ['PUT', '/v1/tools', 405],
  ['POST', '/v1/directives', 400],
])('no proxy or browser keeps the answer to %s %s, or guesses its type', async (method, path, status) => {
  const headers = { 'content-type': 'application/json' };
  const body = method === 'POST' ? { body: '{' } : {};
  const answer = await fetch(service.url + path, { method, headers, ...body });
  expect(answer.status).toBe(status);
  expect(answer.headers.get('cache-control')).toBe('no-store');
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
});

test('the pages load everything from the service itself', async () => {
  const page = await fetch(`${service.url}/docs`);
  expect(page.status).toBe(200);
  const policy = page.headers.get('content-security-policy') ?? '';
  for (const directive of [
    "default-src 'none'",
    "script-src 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ])
    expect(policy.split('; ')).toContain(directive);
  expect(page.headers.get('content-security-policy')).not.toContain('http');
  const html = await page.text();
  const links = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link = '']) => link);
  expect(links.length).toBeGreaterThan(3);
  for (const link of links) {
    const url = new URL(link, page.url);
    expect(url.origin).toBe(service.url);
    const asset = await fetch(url);
    expect(asset.status, link).toBe(200);
    await asset.body?.cancel();
  }
});
