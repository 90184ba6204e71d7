/** Careless and hostile requests to a real process: each is refused at its place, and the process stays up.
 *  It must not repeat every case of the API's own tests: one of each kind. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Problem, problemSchema } from '../../src/contract/problem.ts';
import type { Submission } from '../../src/contract/submission.ts';
import { auditRequest } from '../support/audit.ts';
import { countingCall } from '../support/calls.ts';
import { type AdjutantProcess, install, type Installation } from '../support/installation.ts';
import { post } from '../support/public-api.ts';

let installation: Installation;
let service: AdjutantProcess;

beforeAll(async () => {
  installation = await install();
  service = await installation.start('up');
});
afterAll(async () => installation?.[Symbol.asyncDispose]());

const CALL = countingCall('once', 0, { requestId: 'refused' });
const nested = (depth: number): string =>
  JSON.stringify(CALL).replace('"delay_ms":0', `"deep":${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`);

test.each<[string, unknown, number, string]>([
  ['malformed JSON', '{"type": "tool_exec",', 400, ''],
  ['an unknown key', { ...CALL, colour: 'red' }, 400, 'colour'],
  ['an unknown type', { ...CALL, type: 'launch' }, 400, 'type'],
  ['a wrong type', { ...CALL, timeout_ms: '5s' }, 400, 'timeout_ms'],
  ['a mistake in a batch', { directives: [CALL, { ...CALL, id: 7 }] }, 400, 'directives[1].id'],
  ['an id with a control character', { ...CALL, id: 'a\u0000b' }, 400, 'id'],
  ['a __proto__ key', JSON.stringify(CALL).replace('"delay_ms"', '"__proto__"'), 400, 'arguments.__proto__'],
  ['a directive nested 10,000 deep', nested(10_000), 400, `arguments.deep${'.a'.repeat(62)}`],
])('%s is refused', async (_, body, status, path) => {
  const answer = await post<Problem>(`${service.url}/v1/directives`, body);
  expect(answer.status).toBe(status);
  const problem = problemSchema.parse(answer.body);
  expect(problem.status).toBe(status);
  expect(problem.errors?.[0]?.path).toBe(path);
});

test('a body of 10 MB is refused, and its sender receives the answer, each time', async () => {
  const body = JSON.stringify({ ...CALL, arguments: { label: 'x'.repeat(10 * 1024 * 1024) } });
  for (let time = 0; time < 20; time += 1) {
    const answer = await post<Problem>(`${service.url}/v1/directives`, body);
    expect(answer).toMatchObject({ status: 413, body: { status: 413, code: 'body_too_large' } });
  }
});

test('a client that leaves in the middle of its body is not a failure of the service', async () => {
  const { hostname, port } = new URL(service.url);
  const socket = connect(Number(port), hostname);
  const head = `POST /v1/directives HTTP/1.1\r\nHost: ${hostname}:${port}\r\nContent-Type: application/json`;
  socket.write(`${head}\r\nExpect: 100-continue\r\nContent-Length: 100\r\n\r\n`);
  const [told] = (await once(socket, 'data')) as [Buffer];
  expect(told.toString()).toMatch(/^HTTP\/1.1 100 /);
  socket.destroy();
  await once(socket, 'close');
});

test('after all of that, the same process makes a call, and has made no other', async () => {
  const call = countingCall('once', 1, { requestId: 'accepted' });
  const { status } = await post<Submission>(`${service.url}/v1/directives?wait_ms=20000`, call);
  expect(status).toBe(200);
  await auditRequest(service.url, 'accepted', ['once-1']);
  expect(installation.executions().map(({ label }) => label)).toEqual(['once-1']);
  const refused = await fetch(`${service.url}/v1/requests/refused`);
  expect(refused.status).toBe(404);
  expect(await service.stop()).toEqual({ code: 0, signal: null });
  expect(service.lines.join()).not.toContain('"level":50');
});
