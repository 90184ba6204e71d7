/** What a modern client hears while Redis, the sealing key or every worker of a server is away: its calls go on.
 *  It must not need Redis: the client of the service is a fake that goes away at a chosen moment. */
import { expect, test, vi } from 'vitest';
import type { DirectiveClient } from '../../../../src/contract/directive/directive-client.ts';
import { DirectiveRefused, problem, ServiceUnavailable } from '../../../../src/contract/problem.ts';
import { sharedSecret } from '../../../../src/store/access/shared-secret.ts';
import type { Signal } from '../../../../src/contract/signal/signal.ts';
import { createMcpEndpoint } from '../../../../src/http/mcp/endpoint.ts';
import type { Scope } from '../../../../src/http/mcp/offered-tools.ts';

const SPEC = 'io.modelcontextprotocol/';
const TASKS = `${SPEC}tasks`;
const TOOL = { name: 's.once', server: 's', tool: 'once', input_schema: { type: 'object' }, effect: 'once' };
const KEY = 'k'.repeat(64);
const SECRET_TEXT = 'connect EACCES /home/op/redis.sock password=hunter2';
const CALL = { name: 's__once', arguments: {} };
const AT = '2026-01-01T00:00:00.000Z';

const away = async (): Promise<never> => {
  throw new ServiceUnavailable('Redis is unreachable', { retryAfterMs: 1_000 });
};
const broken = async (): Promise<never> => {
  throw new Error(SECRET_TEXT);
};

function fakeClient() {
  const running = { result: null, accepted_at: AT, started_at: AT, ended_at: null, deadline_at: AT };
  const directive = vi.fn(async () => running as unknown);
  const result = vi.fn(async () => null as unknown);
  const submit = vi.fn(async (sent: { request_id: string; id: string }) => ({
    request_id: sent.request_id,
    directives: [{ id: sent.id, status: 'accepted' }],
  }));
  const tools = vi.fn(
    async (_which?: { remembered?: boolean }) => ({ tools: [TOOL], servers: [] }) as unknown,
  );
  const agents = async () => ({ agents: [] });
  const decide = vi.fn(async () => ({}));
  const log: Signal[] = [];
  const signals = vi.fn(async function* (_id: string, { after = 0 }: { after?: number } = {}) {
    for (const signal of log) if (signal.sequence > after) yield signal;
  });
  const calls = { directive, result, submit, tools, agents, cancel: vi.fn(async () => ({})) };
  return { ...calls, log, signals, runs: { decide } };
}

type Fake = ReturnType<typeof fakeClient>;

interface Reply {
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

function scene(client: Fake = fakeClient(), sealingKey = async () => KEY, scope: Scope = { kind: 'all' }) {
  const onError = vi.fn();
  const service = client as unknown as DirectiveClient;
  const keysFrom = ['claudecode/toolUseId'];
  const options = { client: service, version: '1', onError, sealingKey, scope, holdMs: 1, keysFrom };
  const endpoint = createMcpEndpoint(options);
  const ask = async (
    method: string,
    name: string,
    params: object,
    knowsTasks = false,
    more = {},
  ): Promise<Reply> => {
    const capabilities = { ...(knowsTasks ? { extensions: { [TASKS]: {} } } : {}), ...more };
    const _meta = {
      ...(params as { _meta?: object })._meta,
      [`${SPEC}protocolVersion`]: '2026-07-28',
      [`${SPEC}clientInfo`]: { name: 'x', version: '1' },
      [`${SPEC}clientCapabilities`]: capabilities,
    };
    const body = { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } };
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      'mcp-name': name,
    };
    const request = new Request('http://localhost/mcp', {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    return (await endpoint.handle(request, body)).json() as Promise<Reply>;
  };
  return {
    client,
    onError,
    call: async (more: { name?: string; [member: string]: unknown } = {}, knowsTasks = false) =>
      ask('tools/call', more.name ?? CALL.name, { ...CALL, ...more }, knowsTasks),
    task: async (taskId: unknown) => ask('tasks/get', String(taskId), { taskId }, true),
    update: async (taskId: unknown, inputResponses: object, elicitation: object = {}) =>
      ask('tasks/update', String(taskId), { taskId, inputResponses }, true, { elicitation }),
  };
}

test('while the sealing key cannot be read, a held call and a task are to be tried again, not lost', async () => {
  const before = scene();
  const held = await before.call();
  const task = await before.call({}, true);
  const restarted = scene(fakeClient(), broken);
  const { requestState } = held.result as { requestState: string };
  for (const reply of [
    await restarted.call({ requestState }),
    await restarted.task(task.result?.['taskId']),
  ]) {
    expect(reply.error).toMatchObject({ code: -32_603, data: { retry_after_ms: 1_000 } });
    expect(reply.error?.message).toContain('Try again');
    expect(reply.error?.message).not.toContain('hunter2');
  }
  expect((await before.call({ requestState: `${requestState}x` })).error, 'a wrong seal').toMatchObject({
    code: -32_602,
    data: { reason: 'invalid_request_state' },
  });
  expect((await before.task(`${String(task.result?.['taskId'])}x`)).error?.message).toBe('Unknown task');
});

test('nothing is submitted while its client could not come back for it', async () => {
  const { call, client } = scene(fakeClient(), broken);
  expect((await call()).error?.message).toContain('Try again');
  expect(client.submit).not.toHaveBeenCalled();
});

test.each([
  ['no worker serves its tool', async () => ({ tools: [], servers: [] })],
  ['the catalog cannot be read', away],
])('a held call is rejoined while %s', async (_, tools) => {
  const { requestState } = (await scene().call()).result as { requestState: string };
  const client = fakeClient();
  client.tools.mockImplementation(tools);
  const reply = await scene(client).call({ requestState });
  expect(reply.result).toMatchObject({ resultType: 'input_required', requestState: expect.any(String) });
});

test('an accepted call is a task although nothing can be read of it yet', async () => {
  const client = fakeClient();
  client.directive.mockImplementation(away);
  const { result } = await scene(client).call({}, true);
  expect(result).toMatchObject({ resultType: 'task', status: 'working', taskId: expect.any(String) });
});

test('the error of an accepted call names it, and no internal text', async () => {
  const client = fakeClient();
  client.result.mockImplementation(broken);
  const { call, onError } = scene(client);
  const { error } = await call();
  const { request_id } = client.submit.mock.calls[0]?.[0] ?? {};
  expect(error).toEqual({
    code: -32_603,
    message: `Internal error. The call was accepted and goes on: \`adjutant get ${request_id} call\` has its answer.`,
    data: { request_id, id: 'call' },
  });
  expect(onError.mock.lastCall?.[0]).toMatchObject({ message: SECRET_TEXT });
});

test('an internal error is reported here, and is only its kind for the client', async () => {
  const client = fakeClient();
  client.submit.mockImplementation(broken);
  const { call, onError } = scene(client);
  expect((await call()).error).toEqual({ code: -32_603, message: 'Internal error' });
  expect(onError.mock.lastCall?.[0]).toMatchObject({ message: SECRET_TEXT });
});

test('a submission without an answer: a client with a key repeats it, another one looks it up', async () => {
  const client = fakeClient();
  client.submit.mockImplementation(away);
  const { call } = scene(client);
  const keyed = await call({ _meta: { 'adjutant/idempotencyKey': 'a' } });
  expect(keyed.error?.message).toContain('Redis is unreachable. Whether');
  expect(keyed.error?.message).toContain('repeat it with the same _meta["adjutant/idempotencyKey"]');
  const { error } = await call();
  const { request_id } = client.submit.mock.lastCall?.[0] ?? {};
  expect(error?.message).not.toContain('repeat');
  expect(error?.message).toContain(`adjutant get ${request_id} call`);
  expect(error?.data).toMatchObject({ request_id, id: 'call', retry_after_ms: 1_000 });
});

test('a call may take as long as the lane of its server lets it', async () => {
  const { call, client } = scene();
  await call();
  expect(client.submit.mock.lastCall?.[0]).toMatchObject({ deadline_ms: 24 * 60 * 60_000 });
});

test('a shared secret is read while Redis takes no writes', async () => {
  const set = vi.fn(broken);
  expect(await sharedSecret({ get: async () => 'known', set } as never, 'key')).toBe('known');
  expect(set).not.toHaveBeenCalled();
});

test('a repeated call with a key is found while no worker serves its tool; any other is unknown', async () => {
  const client = fakeClient();
  const remembered = [TOOL, { ...TOOL, name: 's.hidden', tool: 'hidden', exposed: false }];
  client.tools.mockImplementation(async (which) => ({
    tools: which?.remembered === true ? remembered : [],
    servers: [],
  }));
  const { call } = scene(client);
  const unknown = { error: { code: -32_602, message: expect.stringContaining('Unknown tool') } };
  expect(await call({ _meta: {} })).toMatchObject(unknown);
  const keyed = { _meta: { 'adjutant/idempotencyKey': 'k' } };
  expect(await call({ ...keyed, name: 's__hidden' })).toMatchObject(unknown);
  expect((await call(keyed)).result).toMatchObject({ resultType: 'input_required' });
  client.directive.mockImplementation(async () => null);
  expect(await call(keyed)).toMatchObject(unknown);
  client.tools.mockImplementation(async (which) => {
    if (which?.remembered !== true) return { tools: [], servers: [] };
    throw new DirectiveRefused(problem('invalid_query'));
  });
  expect(await call(keyed), 'an older API').toMatchObject(unknown);
  expect(client.submit).toHaveBeenCalledTimes(1);
});

test('what the host calls a call is its key where the operator wants that, but never before a key of ours', async () => {
  const { client, call } = scene();
  const used = 'claudecode/toolUseId';
  const metas = [
    { [used]: 'toolu_1' },
    { [used]: 'toolu_1' },
    { [used]: 'toolu_2' },
    { [used]: 5 },
    { [used]: 5 },
    { [used]: 'toolu_1', 'adjutant/idempotencyKey': 'toolu_1' },
    { 'adjutant/idempotencyKey': 'toolu_1' },
  ];
  for (const _meta of metas) await call({ _meta });
  const ids = client.submit.mock.calls.map(([{ request_id }]) => request_id);
  const groups = ids.map((id) => ids.indexOf(id));
  expect(groups).toEqual([0, 0, 2, 3, 4, 5, 5]);
});

test('a held call is that of its name and of the endpoint of its server, for a leg and for a task', async () => {
  const { requestState } = (await scene().call()).result as { requestState: string };
  const taskId = (await scene().call({}, true)).result?.['taskId'];
  const refused = { error: { code: -32_602 } };
  expect(await scene().call({ requestState, name: 'no-such-tool' })).toMatchObject(refused);
  const other = scene(fakeClient(), async () => KEY, { kind: 'server', server: 'evil' });
  expect(await other.call({ requestState, name: 's__once' })).toMatchObject(refused);
  expect((await other.task(taskId)).error?.message).toBe('Unknown task');
  const own = scene(fakeClient(), async () => KEY, { kind: 'server', server: 's' });
  for (const reply of [
    await scene().call({ requestState, name: 's.once' }),
    await own.call({ requestState, name: 's__once' }),
    await own.task(taskId),
  ])
    expect(reply.result).toBeDefined();
});

test('a task takes no decision about an approval that its host could not show', async () => {
  const { client, call, update } = scene();
  const { taskId } = (await call({}, true)).result as { taskId: string };
  const asked = (sequence: number, call_id: string, text: string) =>
    ({
      type: 'ai.tool.approval_requested',
      sequence,
      data: { call_id, tool_name: 's.pay', arguments: { text }, metadata: {} },
    }) as unknown as Signal;
  client.log.push(asked(1, 'large', 'x'.repeat(9_000)), asked(2, 'small', 'x'));
  const approve = { action: 'accept', content: { decision: 'approve' } };
  const answers = { 'approval:large': approve, 'approval:made-up': approve };
  expect((await update(taskId, answers)).result?.['_meta']).toMatchObject({
    'adjutant/notices': [expect.stringContaining('large'), expect.stringContaining('made-up')],
  });
  await update(taskId, { 'approval:small': approve }, { url: {} });
  expect(client.runs.decide).not.toHaveBeenCalled();
  await update(taskId, { 'approval:small': approve });
  expect(client.runs.decide).toHaveBeenCalledTimes(1);
});
