/** The API's description of itself: valid OpenAPI 3.1 that names every route, and pages that need no network.
 *  It must not compare the document with a copy of it. */
import { Validator } from '@seriousme/openapi-schema-validator';
import { beforeAll, expect, test } from 'vitest';
import { ROUTES } from '../../../src/contract/operations/routes.ts';
import { startService } from '../../support/running-service.ts';
import { shared, useRedis } from '../../support/shared.ts';

interface Operation {
  readonly operationId: string;
  readonly requestBody?: { readonly required: boolean };
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
  const table = Object.values(ROUTES).map(
    ({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`,
  );
  expect(operations.toSorted()).toEqual(table.toSorted());
  const ids = Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).map(({ operationId }) => operationId),
  );
  expect(ids.toSorted()).toEqual(Object.keys(ROUTES).toSorted());
});

test('every path it names answers', async () => {
  for (const path of Object.keys(document.paths)) {
    // A search without words is refused.
    const query = path === '/v1/search' ? '?q=x' : '';
    const response = await fetch(service.url + path.replaceAll(/\{\w+\}/g, 'x') + query, { method: 'HEAD' });
    expect([200, 404, 405], path).toContain(response.status);
  }
});

test('every reference has its schema, and every schema is used', () => {
  const references = JSON.stringify(document).matchAll(/"#\/components\/schemas\/([^"]+)"/g);
  const named = new Set([...references].map(([, name = '']) => name));
  expect([...named].toSorted()).toEqual(Object.keys(document.components.schemas).toSorted());
});

test('directives and signals are components, told apart by their type', () => {
  const { SubmittedDirective, KnownSignal, ToolExec, SignalToolResult } = document.components.schemas;
  expect(SubmittedDirective).toMatchObject({
    discriminator: {
      propertyName: 'type',
      mapping: { tool_exec: '#/components/schemas/ToolExec', llm_stream: '#/components/schemas/LlmStream' },
    },
  });
  expect(KnownSignal).toMatchObject({
    discriminator: { mapping: { 'ai.tool.result': '#/components/schemas/SignalToolResult' } },
  });
  expect(ToolExec).toMatchObject({ properties: { type: { enum: ['tool_exec'] } } });
  expect(SignalToolResult).toMatchObject({ properties: { type: { enum: ['ai.tool.result'] } } });
});

test('a body that a caller may leave out is not required', () => {
  const { cancel, submit } = Object.fromEntries(
    Object.values(document.paths).flatMap((methods) =>
      Object.values(methods).map((each) => [each.operationId, each.requestBody?.required]),
    ),
  );
  expect({ cancel, submit }).toEqual({ cancel: false, submit: true });
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
