/** REST APIs as servers: real HTTP, and documents in the shape of public ones (Petstore 3.0; 3.1 with references and circles).
 *  An API that answers nothing, too much, or elsewhere is one of them. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { OpenApiTransportOptions } from '../../../src/mcp/server-options.ts';
import { operationsOf } from '../../../src/mcp/openapi/operations.ts';
import { probeServer } from '../../../src/mcp/probe.ts';
import { TRACEPARENT, openPool } from '../../support/mcp-pool.ts';
import { shared } from '../../support/shared.ts';

const PET = {
  type: 'object',
  required: ['name'],
  properties: {
    id: { type: 'integer', format: 'int64' },
    name: { type: 'string', example: 'doggie' },
    tag: { type: 'string', nullable: true },
  },
};
const petId = {
  name: 'petId',
  in: 'path',
  required: true,
  schema: { type: 'integer', minimum: 0, exclusiveMinimum: true },
};
const json = (schema: object) => ({ content: { 'application/json': { schema } } });

/** The shape of https://petstore3.swagger.io/api/v3/openapi.json. */
const PETSTORE = {
  openapi: '3.0.4',
  info: { title: 'Petstore', version: '1' },
  paths: {
    '/pet': {
      post: {
        operationId: 'addPet',
        summary: 'Add a pet',
        requestBody: { required: true, ...json({ $ref: '#/components/schemas/Pet' }) },
      },
    },
    '/pet/findByStatus': {
      get: {
        operationId: 'findPetsByStatus',
        parameters: [{ name: 'status', in: 'query', schema: { type: 'array', items: { type: 'string' } } }],
      },
    },
    '/pet/{petId}': {
      parameters: [petId],
      get: { operationId: 'getPetById', description: 'One pet' },
      delete: {
        operationId: 'delete pet!',
        parameters: [{ name: 'api_key', in: 'header', schema: { type: 'string' } }],
      },
      put: { operationId: 'getPetById' },
    },
    '/file/{name}': {
      get: {
        operationId: 'getFile',
        parameters: [{ name: 'name', in: 'path', required: true, schema: { type: 'string' } }],
      },
    },
    '/pet/{petId}/uploadImage': {
      post: {
        operationId: 'upload',
        parameters: [petId],
        requestBody: { required: true, content: { 'multipart/form-data': {} } },
      },
    },
  },
  components: { schemas: { Pet: PET } },
};

const NODE = {
  type: 'object',
  properties: {
    children: { type: 'array', items: { $ref: '#/components/schemas/Node' } },
    value: { $ref: '#/$defs/a~1b' },
  },
};
const ORDERS = {
  openapi: '3.1.0',
  info: { title: 'Orders', version: '1' },
  paths: {
    '/orders': {
      post: {
        operationId: 'createOrder',
        parameters: [{ $ref: '#/components/parameters/Key' }],
        requestBody: { $ref: '#/components/requestBodies/Order' },
      },
      patch: { operationId: 'patchOrder' },
    },
  },
  $defs: { 'a/b': { type: ['string', 'null'] } },
  components: {
    parameters: {
      Key: { name: 'Idempotency-Key', in: 'header', required: true, schema: { type: 'string' } },
    },
    requestBodies: { Order: { required: true, ...json({ $ref: '#/components/schemas/Node' }) } },
    schemas: { Node: NODE },
  },
};

const toolsOf = (document: unknown, names: string[] | null = null) =>
  new Map(operationsOf(document, names).callable.map(({ tool }) => [tool.name, tool]));

describe('the tools of a document', () => {
  test('have names that hosts accept, schemas without references, and repeat hints by method', () => {
    const tools = toolsOf(PETSTORE);
    expect([...tools.keys()]).toEqual(
      ['addPet', 'findPetsByStatus', 'getPetById', 'getPetById_2', 'delete_pet', 'getFile'].toSorted(
        (a, b) => [...tools.keys()].indexOf(a) - [...tools.keys()].indexOf(b),
      ),
    );
    expect(tools.get('addPet')).toMatchObject({
      inputSchema: {
        required: ['body'],
        properties: { body: { required: ['name'], properties: { tag: { type: ['string', 'null'] } } } },
      },
      annotations: {},
    });
    expect(JSON.stringify(tools.get('addPet'))).not.toMatch(/example|nullable|\$ref/);
    expect(tools.get('findPetsByStatus')?.annotations).toEqual({ readOnlyHint: true });
    expect(tools.get('delete_pet')?.annotations).toMatchObject({ idempotentHint: true });
    expect(tools.get('delete_pet')?.inputSchema).toMatchObject({
      properties: { petId: { exclusiveMinimum: 0 } },
      required: ['petId'],
    });
    expect([...toolsOf(PETSTORE, ['get*']).keys()]).toEqual(expect.not.arrayContaining(['addPet']));
  });

  test('are bounded in number and size, whatever names and references a document repeats', () => {
    const paths = Object.fromEntries(
      Array.from({ length: 60_000 }, (_, at) => [`/${at}`, { get: { operationId: 'same' } }]),
    );
    expect(() => toolsOf({ openapi: '3.1.0', paths }, ['other'])).toThrow('has no operation "other"');
    const names = Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`p${at}`, {}]));
    const schemas = { Large: { type: 'object', properties: names } };
    const body = { content: { 'application/json': { schema: { $ref: '#/components/schemas/Large' } } } };
    const many = Array.from({ length: 30 }, (_, at) => [`/${at}`, { post: { requestBody: body } }]);
    const tools = toolsOf({ openapi: '3.1.0', paths: Object.fromEntries(many), components: { schemas } });
    expect([tools.size, JSON.stringify([...tools.values()]).match(/"p\d+"/g)?.length ?? 0]).toEqual([
      30, 150_000,
    ]);
  });

  test('take references and circles of 3.1, and an Idempotency-Key is no argument', () => {
    const tools = toolsOf(ORDERS);
    expect(tools.get('createOrder')).toMatchObject({
      annotations: { idempotentHint: true },
      inputSchema: {
        required: ['body'],
        properties: {
          body: { properties: { children: { items: {} }, value: { type: ['string', 'null'] } } },
        },
      },
    });
    expect(Object.keys(tools.get('createOrder')?.inputSchema.properties ?? {})).toEqual(['body']);
    expect(tools.get('patchOrder')?.annotations).toEqual({});
  });

  test.each([
    ['another version', { swagger: '2.0' }, 'is no OpenAPI'],
    [
      'a reference to another host',
      { ...PETSTORE, paths: { '/x': { get: { parameters: [{ $ref: 'http://evil.example/p.json' }] } } } },
      'only references within',
    ],
    [
      'a reference into a prototype',
      { ...PETSTORE, paths: { '/x': { get: { parameters: [{ $ref: '#/constructor' }] } } } },
      'does not have',
    ],
    ['references in a circle', { ...PETSTORE, paths: { '/x': { $ref: '#/paths/~1x' } } }, 'circle'],
  ])('are none with %s, and the reason is named', (_what, document, reason) => {
    expect(() => operationsOf(document, null)).toThrow(reason);
  });
});

interface Asked {
  readonly line: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

const api = shared(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'adjutant-openapi-'));
  const asked: Asked[] = [];
  let respond: (response: ServerResponse, at: Asked) => void = (response) => response.end('{}');
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      const at = { line: `${request.method} ${request.url}`, headers: request.headers, body };
      asked.push(at);
      respond(response, at);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const base = `http://127.0.0.1:${port}/api/v3`;
  const files = { petstore: join(folder, 'petstore.json'), orders: join(folder, 'orders.json') };
  await writeFile(files.petstore, JSON.stringify(PETSTORE));
  await writeFile(files.orders, JSON.stringify(ORDERS));
  return {
    base,
    asked,
    files,
    answer: (status: number, body: unknown, headers: Record<string, string> = {}) => {
      respond = (response) =>
        response
          .writeHead(status, { 'content-type': 'application/json', ...headers })
          .end(typeof body === 'string' ? body : JSON.stringify(body));
    },
    respond: (with_: typeof respond) => void (respond = with_),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
});

function openApi(document: string, more: Partial<OpenApiTransportOptions> = {}) {
  const headers = { Authorization: 'Bearer of-the-operator' };
  const given = { document, baseUrl: api.base, operations: null, headers, privateAddresses: true };
  return openPool({ name: 'pets', transport: { kind: 'openapi', ...given, ...more } });
}

// Issue 38: parameters above the bound were dropped, and the operation was called without them.
test('an operation with too many parameters is left out by name, with the reason that `adjutant doctor` shows', async () => {
  const parameters = Array.from({ length: 101 }, (_, at) => ({ name: `p${at}`, in: 'query', schema: {} }));
  const get = (operationId: string, count: number) => ({
    get: { operationId, parameters: parameters.slice(0, count) },
  });
  const paths = { '/many': get('many', 101), '/most': get('most', 100) };
  const file = join(dirname(api.files.orders), 'crowded.json');
  await writeFile(file, JSON.stringify({ openapi: '3.1.0', paths }));
  const given = { document: file, baseUrl: api.base, operations: ['many', 'most'], headers: {} };
  const transport = { kind: 'openapi', ...given, privateAddresses: true } as const;
  const probe = await probeServer({ name: 'crowded', transport }, { limitMs: 30_000 });
  expect(probe).toMatchObject({
    ok: true,
    tools: [{ name: 'most' }],
    faults: [{ tool: 'many', message: 'has more than 100 parameters, and is left out' }],
  });
});

describe('a call', () => {
  test('is one request with the parameters of the document and the headers of the operator', async () => {
    api.answer(200, [{ id: 1 }]);
    const { call } = openApi(api.files.petstore);
    expect(await call('findPetsByStatus', { status: ['sold', 'a&b'] })).toMatchObject({
      kind: 'result',
      result: { structuredContent: { result: [{ id: 1 }] } },
    });
    expect(api.asked.at(-1)).toMatchObject({
      line: 'GET /api/v3/pet/findByStatus?status=sold&status=a%26b',
      headers: { authorization: 'Bearer of-the-operator', traceparent: TRACEPARENT },
    });
    api.answer(200, { id: 7, name: 'rex' });
    expect(await call('addPet', { body: { name: 'rex' } })).toMatchObject({
      result: { structuredContent: { id: 7 } },
    });
    expect(api.asked.at(-1)).toMatchObject({ line: 'POST /api/v3/pet', body: '{"name":"rex"}' });
  });

  test('sends the key of the directive where the operation takes one', async () => {
    api.answer(201, {});
    await openApi(api.files.orders).call('createOrder', { body: {} }, { idempotencyKey: 'the-key' });
    expect(api.asked.at(-1)?.headers['idempotency-key']).toBe('the-key');
  });

  test('cannot lead to another path, host or header', async () => {
    const { call } = openApi(api.files.petstore);
    const before = api.asked.length;
    // OWASP's path traversal: a server that decodes %2F first would follow the steps of one argument.
    for (const name of ['..', '../../admin', 'a\\..\\b', './x'])
      expect(await call('getFile', { name })).toMatchObject({
        kind: 'failed',
        error: { type: 'validation_error' },
      });
    expect(await call('delete_pet', { petId: 1, api_key: 'x\r\nHost: evil' })).toMatchObject({
      kind: 'failed',
    });
    expect(api.asked).toHaveLength(before);
    api.answer(200, {});
    await call('getFile', { name: '..a/admin?x=1#y' });
    expect(api.asked.at(-1)?.line).toBe('GET /api/v3/file/..a%2Fadmin%3Fx%3D1%23y');
  });

  test.each([
    [404, {}, { kind: 'result', result: { isError: true } }],
    [302, { location: 'http://127.0.0.1:1/' }, { kind: 'result', result: { isError: true } }],
    [401, {}, { kind: 'failed', sent: false, error: { type: 'auth' } }],
    [
      429,
      { 'retry-after': '2' },
      { kind: 'failed', sent: false, error: { type: 'rate_limited', details: { retry_after_ms: 2_000 } } },
    ],
    [
      503,
      { 'retry-after': '3' },
      { kind: 'failed', sent: true, error: { type: 'provider_error', details: { retry_after_ms: 3_000 } } },
    ],
  ])(
    'that is answered with HTTP %i has the end that a call of an MCP server has',
    async (status, headers, outcome) => {
      api.answer(status, { message: 'why' }, headers);
      expect(await openApi(api.files.petstore).call('getPetById', { petId: 1 })).toMatchObject(outcome);
    },
  );

  // To parse four million values holds up a process for a second; those of MCP servers have the same bound.
  test.each([
    ['bytes', `"${'x'.repeat(5 * 1024 * 1024)}"`, 'larger than'],
    ['values', `[${'1,'.repeat(150_000)}1]`, 'more than 100000 values'],
    ['levels', `${'['.repeat(600)}${']'.repeat(600)}`, 'deeper than 512'],
  ])('whose answer has more %s than its bound ends, and is read no further', async (_, answer, why) => {
    api.respond((response) => response.writeHead(200, { 'content-type': 'application/json' }).end(answer));
    expect(await openApi(api.files.petstore).call('getPetById', { petId: 1 })).toMatchObject({
      kind: 'failed',
      sent: true,
      error: { type: 'invalid_result', message: expect.stringContaining(why) as string },
    });
  });

  // A worker that stood still while it connected must not send what another one makes again.
  test('is written only while its claim holds', async () => {
    api.answer(200, {});
    const before = api.asked.length;
    const { call } = openApi(api.files.petstore);
    const pet = { body: { name: 'x' } };
    expect(await call('addPet', pet, { mayBegin: async () => () => false })).toMatchObject({
      kind: 'failed',
      sent: false,
    });
    expect(api.asked).toHaveLength(before);
    const held = await call('addPet', pet, { mayBegin: async () => () => true });
    expect([held.kind, api.asked.length - before]).toEqual(['result', 1]);
  });

  // `sent` decides whether a call that may run once ends with an unknown outcome.
  test('whose connection breaks after the request may have acted, and one that was never connected has not', async () => {
    api.respond((response) => response.destroy());
    const before = api.asked.length;
    expect(await openApi(api.files.petstore).call('addPet', { body: { name: 'x' } })).toMatchObject({
      kind: 'failed',
      sent: true,
      error: { type: 'network' },
    });
    expect(api.asked.slice(before).filter(({ line }) => line.startsWith('POST'))).toHaveLength(1);
    const { call } = openApi(api.files.petstore, { baseUrl: 'http://127.0.0.1:1' });
    expect(await call('addPet', { body: { name: 'x' } })).toMatchObject({
      kind: 'failed',
      sent: false,
      error: { type: 'network' },
    });
  });

  test('does not reach a private address unless the operator allows it', async () => {
    const before = api.asked.length;
    const { call } = openApi(api.files.petstore, { privateAddresses: false });
    const outcome = await call('getPetById', { petId: 1 });
    expect(outcome).toMatchObject({ kind: 'failed', sent: false });
    expect(JSON.stringify(outcome)).toContain('no public address');
    expect(api.asked).toHaveLength(before);
  });
});

test('a fetched document may not send calls to another origin than its own', async () => {
  const { origin } = new URL(api.base);
  api.answer(200, { ...PETSTORE, servers: [{ url: 'https://evil.example/v1' }] });
  const refused = openApi(`${origin}/openapi.json`, { baseUrl: null });
  refused.pool.start();
  await refused.until(() => refused.pool.status('pets') === 'unavailable');
  expect(refused.statuses.at(-1)?.error).toContain('another origin');
  api.answer(200, { ...PETSTORE, servers: [{ url: '/v9' }] });
  const { call } = openApi(`${origin}/openapi.json`, { baseUrl: null });
  await call('getPetById', { petId: 3 });
  expect(api.asked.at(-1)?.line).toBe('GET /v9/pet/3');
});
