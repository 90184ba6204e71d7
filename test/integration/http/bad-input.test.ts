/** What a careless or hostile caller may send, over a real socket: each is refused with its place, and the service stays up.
 *  It must not reach into the service: only HTTP. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { type Problem, problemSchema } from '../../../src/contract/problem.ts';
import { startService } from '../../support/running-service.ts';
import { shared, useRedis } from '../../support/shared.ts';

const redis = useRedis();
const service = shared(async () => startService({ redisUrl: redis.url, roles: { api: true } }));

afterEach(async () => {
  const response = await fetch(`${service.url}/readyz`);
  expect(response.status, 'the service stays up').toBe(200);
  await response.body?.cancel();
});

const DIRECTIVE = { type: 'tool_exec', tool_name: 'peer.echo' };
const SLOW = { ...DIRECTIVE, timeout_ms: '5s' };

async function post(
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
): Promise<Problem> {
  return send('/v1/directives', body, headers);
}

/** Without a body there is no type of one. */
async function send(
  path: string,
  body?: string | Uint8Array<ArrayBuffer>,
  more: Record<string, string> = {},
): Promise<Problem> {
  const headers = { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...more };
  const init = { method: 'POST', headers, ...(body === undefined ? {} : { body }) };
  return problemOf(await fetch(service.url + path, init));
}

async function problemOf(response: Response): Promise<Problem> {
  expect(response.headers.get('content-type')).toBe('application/problem+json; charset=utf-8');
  const problem = problemSchema.parse(await response.json());
  expect(problem.status).toBe(response.status);
  return problem;
}

const NESTED_KEY = 'arguments.constructor.prototype';

function withArguments(json: string): string {
  return `{"type":"tool_exec","tool_name":"peer.echo","arguments":${json}}`;
}

function nested(depth: number): string {
  return withArguments(`${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`);
}

describe('a body', () => {
  test.each([
    ['malformed', '{"type": "tool_exec",'],
    ['two values', '{} {}'],
    ['a number that JSON does not know', '{"type": NaN}'],
  ])('that is %s JSON is refused', async (_, body) => {
    const problem = await post(body);
    expect(problem).toMatchObject({ status: 400, code: 'invalid_json', errors: [{ path: '' }] });
  });

  // Clients set the header for every request, also for one without a body (axios, Postman, `curl -XPOST -H`).
  test.each(['', ' \n '])('that is empty JSON (%j) is an absent one on every route', async (body) => {
    const { paths } = (await (await fetch(`${service.url}/openapi.json`)).json()) as {
      paths: Record<string, Record<string, unknown>>;
    };
    // A second reindex is refused while the first is under way.
    const isRepeatable = (path: string): boolean => path !== '/v1/reindex' && 'post' in (paths[path] ?? {});
    const routes = Object.keys(paths).filter(isRepeatable);
    expect(routes).toContain('/v1/requests/{request_id}/cancel');
    for (const route of routes) {
      const url = service.url + route.replaceAll(/\{\w+\}/g, 'x');
      const absent = await fetch(url, { method: 'POST' });
      const headers = { 'content-type': 'application/json' };
      const empty = await fetch(url, { method: 'POST', headers, body });
      expect([route, empty.status, await empty.text()]).toEqual([route, absent.status, await absent.text()]);
      expect(empty.status, route).toBeLessThan(500);
    }
  });

  // RFC 8259, section 6: integers are interoperable within ±(2^53 - 1).
  test.each([
    ['{"a":[1,{"b c":9007199254740993}]}', 'arguments.a[1]["b c"]'],
    ['{"a":-9007199254740993}', 'arguments.a'],
    ['{"a":1e400}', 'arguments.a'],
    ['{"a":1e-400}', 'arguments.a'],
    ['{"text":"\\"9007199254740993","a":12345678901234567890.5}', 'arguments.a'],
  ])('with a number that would change is refused at its place: %s', async (json, path) => {
    const problem = await post(withArguments(json));
    expect(problem).toMatchObject({ status: 400, code: 'invalid_body', errors: [{ path }] });
    expect(problem.detail).toContain('send it as a string');
  });

  test('that is not UTF-8 is refused', async () => {
    const problem = await post(new Uint8Array([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d]));
    expect(problem).toMatchObject({ status: 400, code: 'invalid_json' });
  });

  // One fault of each kind: test/unit/contract/directive.test.ts has all of them.
  test.each([
    ['a list', JSON.stringify([DIRECTIVE]), ''],
    ['an unknown key', JSON.stringify({ ...DIRECTIVE, colour: 'red' }), 'colour'],
    ['an unknown type', JSON.stringify({ ...DIRECTIVE, type: 'launch' }), 'type'],
    ['an id with a control character', JSON.stringify({ ...DIRECTIVE, id: 'a\u0000b' }), 'id'],
    ['a mistake in a batch', JSON.stringify({ directives: [DIRECTIVE, SLOW] }), 'directives[1].timeout_ms'],
    ['a key __proto__', JSON.stringify(DIRECTIVE).replace('}', ',"__proto__":{"admin":true}}'), '__proto__'],
    ['a key constructor.prototype', withArguments('{"constructor":{"prototype":{}}}'), NESTED_KEY],
  ])('with %s is refused at its place', async (_, body, path) => {
    expect(await post(body)).toMatchObject({ status: 400, code: 'invalid_body', errors: [{ path }] });
    expect(({} as { admin?: boolean }).admin).toBeUndefined();
  });

  test.each([
    [100, /^arguments\.a\.a/],
    [1_000, /^arguments\.a\.a/],
    // Not looked at.
    [10_000, /^$/],
    [500_000, /^$/],
  ])('nested %i deep is refused, at its place where it is looked at', async (depth, path) => {
    const problem = await post(nested(depth));
    expect(problem).toMatchObject({ status: 400, code: 'invalid_body' });
    expect(problem.errors?.[0]?.path).toMatch(path);
  });

  test('of 10 MB is refused, with or without a content length', async () => {
    const text = JSON.stringify({ ...DIRECTIVE, arguments: { text: 'x'.repeat(10 * 1024 * 1024) } });
    expect(await post(text)).toMatchObject({ status: 413, code: 'body_too_large' });
    const chunks = new Blob([text]).stream();
    const headers = { 'content-type': 'application/json' };
    const init = { method: 'POST', headers, body: chunks, duplex: 'half' };
    const streamed = await fetch(`${service.url}/v1/directives`, init as RequestInit);
    expect(await problemOf(streamed)).toMatchObject({ status: 413 });
  });

  // Issue 33, point 1: a body without a key was parsed up to 4 MB. The bound is read before the JSON, which is none here.
  test.each([
    ['POST', '/v1/session', 16 * 1024],
    ['DELETE', '/v1/session', 16 * 1024],
    ['POST', '/v1/requests/r/cancel', 16 * 1024],
    ['POST', '/v1/workers/w/drain', 16 * 1024],
    ['POST', '/v1/requests/cancel', 16 * 1024],
    ['POST', '/v1/dead-letters/redrive', 512 * 1024],
    ['PUT', '/v1/schedules/s', 4 * 1024 * 1024],
    ['POST', '/mcp/', 4 * 1024 * 1024],
  ])('of %s %s above %i bytes is refused before it is parsed', async (method, path, mostBytes) => {
    const headers = { 'content-type': 'application/json' };
    const answer = async (bytes: number) =>
      fetch(service.url + path, { method, headers, body: '{'.repeat(bytes) });
    expect(await problemOf(await answer(mostBytes + 1))).toMatchObject({
      status: 413,
      code: 'body_too_large',
    });
    const within = await answer(mostBytes);
    expect(within.status).toBe(400);
    await within.body?.cancel();
  });

  // Issue 33, point 3: 250 000 refused members held the loop for 1.5 s.
  test('with more values than a body may have is refused before it is parsed', async () => {
    const members = (count: number) =>
      withArguments(`{${Array.from({ length: count }, (_, at) => `"a${at}":1`).join()}`);
    // Not closed, so that a parser would refuse it as no JSON.
    expect(await post(members(20_001))).toMatchObject({ status: 413, code: 'body_too_large' });
    expect(await post(members(19_990))).toMatchObject({ status: 400, code: 'invalid_json' });
  });

  test('with a thousand directives of ten arguments each is not too large', async () => {
    const args = Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`a${at}`, at]));
    const directives = Array.from({ length: 1_000 }, () => ({ ...DIRECTIVE, arguments: args, urgency: 1 }));
    expect(await post(JSON.stringify({ directives }))).toMatchObject({ status: 400, code: 'invalid_body' });
  });

  test('with thousands of unknown members names the first ten', async () => {
    const unknown = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`a${at}`, 1]));
    const problem = await send('/v1/session', JSON.stringify({ key: 'x', ...unknown }));
    expect(problem).toMatchObject({ status: 400, code: 'invalid_body' });
    expect(problem.errors).toHaveLength(11);
    expect(problem.errors?.at(-1)).toEqual({ path: '', message: 'has 990 more unknown keys' });
  });

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'nonsense',
  ])('of the type %s is refused', async (type) => {
    expect(await post(JSON.stringify(DIRECTIVE), { 'content-type': type })).toMatchObject({
      status: 415,
      code: 'unsupported_media_type',
    });
  });
});

describe('a header', () => {
  test.each(['x'.repeat(256), 'with space', 'ü'])('idempotency-key %s is refused', async (key) => {
    const problem = await post(JSON.stringify(DIRECTIVE), { 'idempotency-key': key });
    expect(problem).toMatchObject({ status: 400, code: 'invalid_header' });
    expect(problem.errors?.[0]?.path).toContain('idempotency-key');
  });

  test('a last-event-id that is not a sequence is refused', async () => {
    const headers = { accept: 'text/event-stream', 'last-event-id': 'abc' };
    const response = await fetch(`${service.url}/v1/requests/r/signals`, { headers });
    expect(await problemOf(response)).toMatchObject({ status: 400, code: 'invalid_header' });
  });
});

describe('a URL', () => {
  const get = async (path: string): Promise<Problem> => problemOf(await fetch(service.url + path));

  test.each([
    ['/v1/requests/r/signals?after=-1', 'after'],
    ['/v1/requests/r/signals?after=', 'after'],
    ['/v1/requests/r/signals?after=1e3', 'after'],
    ['/v1/requests/r/signals?after=99999999999999999999', 'after'],
    ['/v1/requests/r/signals?after=9007199254740992', 'after'],
    ['/v1/requests/r/signals?after=1&after=2', 'after'],
    ['/v1/requests/r/signals?limit=0', 'limit'],
    ['/v1/requests/r/signals?limit=1001', 'limit'],
    ['/v1/requests/r/signals?page=2', 'page'],
    ['/v1/requests/r/directives/d?wait_ms=soon', 'wait_ms'],
    ['/v1/requests/r/directives/d?wait_ms=300001', 'wait_ms'],
    ['/v1/tools?q=1', 'q'],
  ])('%s is refused at its parameter', async (path, name) => {
    expect(await get(path)).toMatchObject({ status: 400, code: 'invalid_query', errors: [{ path: name }] });
  });

  test('a bad wait_ms refuses the submission as a whole', async () => {
    const body = JSON.stringify({ ...DIRECTIVE, request_id: 'never' });
    const problem = await send('/v1/directives?wait_ms=x', body);
    expect(problem).toMatchObject({ code: 'invalid_query', errors: [{ path: 'wait_ms' }] });
    expect(await get('/v1/requests/never')).toMatchObject({ status: 404 });
  });

  test.each([
    ['a control character', '/v1/requests/a%00b', 'request_id'],
    ['a line break', '/v1/requests/a%0Ab/signals', 'request_id'],
    ['a space', '/v1/requests/r/directives/a%20b', 'directive_id'],
    ['a brace, which would move it to another slot', '/v1/requests/%7Br%7D', 'request_id'],
    ['too many characters', `/v1/requests/${'a'.repeat(129)}`, 'request_id'],
  ])('with %s in an id is refused at its place', async (_, path, name) => {
    expect(await get(path)).toMatchObject({ status: 400, code: 'bad_request', errors: [{ path: name }] });
  });

  test.each(['/v1/requests/%zz', `/v1/requests/${'a'.repeat(5_000)}`])('%s is refused', async (path) => {
    const problem = await get(path);
    expect(problem).toMatchObject({ status: 400, code: 'bad_request' });
    expect(problem.detail?.length).toBeLessThanOrEqual(300);
  });

  test.each([
    '/v1',
    '/v1/nothing',
    '/v1/requests/',
    '/v1/requests/none',
    '/v1/requests/none/signals',
    '/v1/requests/r/directives/d',
  ])('%s is not found', async (path) => {
    expect((await get(path)).status).toBe(path === '/v1/requests/' ? 400 : 404);
  });
});

describe('a cancellation', () => {
  test.each([
    ['a reason that is no text', '{"reason":5}', 'reason'],
    ['a reason that is too long', JSON.stringify({ reason: 'x'.repeat(1_001) }), 'reason'],
    ['an unknown key', '{"because":"no"}', 'because'],
    ['a list', '[]', ''],
  ])('with %s is refused at its place', async (_, body, path) => {
    for (const route of ['/v1/requests/r/cancel', '/v1/requests/r/directives/d/cancel'])
      expect(await send(route, body)).toMatchObject({
        status: 400,
        code: 'invalid_body',
        errors: [{ path }],
      });
  });

  test.each([
    ['/v1/requests/a%00b/cancel', 'request_id'],
    ['/v1/requests/r/directives/a%20b/cancel', 'directive_id'],
  ])('%s is refused at its id', async (path, name) => {
    expect(await send(path)).toMatchObject({ status: 400, code: 'bad_request', errors: [{ path: name }] });
  });

  test('with a query is refused at its parameter', async () => {
    expect(await send('/v1/requests/r/cancel?now=1')).toMatchObject({
      code: 'invalid_query',
      errors: [{ path: 'now' }],
    });
  });

  test.each(['/v1/requests/none/cancel', '/v1/requests/none/directives/d/cancel'])(
    '%s is not found',
    async (path) => {
      expect(await send(path)).toMatchObject({ status: 404, code: 'not_found' });
    },
  );
});

describe('dead letters', () => {
  const redrive = async (body?: string): Promise<Problem> => send('/v1/dead-letters/redrive', body);

  test.each([
    ['after=x', 'after'],
    ['after=-1', 'after'],
    ['limit=0', 'limit'],
    ['limit=1001', 'limit'],
    ['type=timeout', 'type'],
    ['order=lane', 'order'],
    [`lane=${'x'.repeat(129)}`, 'lane'],
  ])('?%s is refused at its parameter', async (query, path) => {
    const response = await fetch(`${service.url}/v1/dead-letters?${query}`);
    expect(await problemOf(response)).toMatchObject({ code: 'invalid_query', errors: [{ path }] });
  });

  test.each([
    ['nothing that says which', '{}', 'directives'],
    ['no directive', '{"directives":[]}', 'directives'],
    ['a name without its request', '{"directives":[{"id":"a"}]}', 'directives[0].request_id'],
    ['names and a filter', '{"directives":[{"request_id":"r","id":"a"}],"lane":"tool.a"}', 'directives'],
    ['all in other words', '{"all":"yes"}', 'all'],
    ['a limit of none', '{"all":true,"limit":0}', 'limit'],
    ['an unknown key', '{"all":true,"force":true}', 'force'],
  ])('redriven with %s are refused at the place', async (_, body, path) => {
    const problem = await redrive(body);
    expect(problem).toMatchObject({ status: 400, code: 'invalid_body' });
    expect(problem.errors?.map((error) => error.path)).toContain(path);
  });

  test('are not redriven without a body', async () => {
    expect((await redrive()).status).toBe(400);
  });
});

describe('a method', () => {
  test.each([
    ['GET', '/v1/directives', 'POST'],
    ['DELETE', '/v1/directives', 'POST'],
    ['POST', '/v1/tools', 'GET, HEAD'],
    ['PUT', '/v1/requests/r', 'GET, HEAD'],
    ['GET', '/v1/requests/r/cancel', 'POST'],
    ['DELETE', '/v1/dead-letters', 'GET, HEAD'],
  ])('%s on %s is refused with the allowed methods', async (method, path, allow) => {
    const response = await fetch(service.url + path, { method });
    expect(await problemOf(response)).toMatchObject({ status: 405, code: 'method_not_allowed' });
    expect(response.headers.get('allow')).toBe(allow);
  });
});

describe('a socket', () => {
  test('that is closed in the middle of its body is not a failure of the service', async () => {
    const { hostname, host, port } = new URL(service.url);
    const socket = connect(Number(port), hostname);
    const head = `POST /v1/directives HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json`;
    socket.write(`${head}\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n`);
    const [told] = (await once(socket, 'data')) as [Buffer];
    expect(told.toString()).toMatch(/^HTTP\/1.1 100 /);
    socket.destroy();
    await once(socket, 'close');
  });

  async function say(bytes: string): Promise<string> {
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1');
    let answer = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      answer += chunk;
    });
    socket.end(bytes);
    await once(socket, 'close');
    return answer;
  }

  test.each([
    ['no HTTP', 'hello there\r\n\r\n', 400],
    ['headers without end', `GET / HTTP/1.1\r\nhost: x\r\nbig: ${'x'.repeat(100_000)}\r\n\r\n`, 431],
  ])('that speaks %s is answered with a problem', async (_, bytes, status) => {
    const [head = '', body = ''] = (await say(bytes)).split('\r\n\r\n');
    expect(head).toContain(`HTTP/1.1 ${status}`);
    expect(problemSchema.parse(JSON.parse(body)).status).toBe(status);
  });
});
