/** Questions of tools, through the whole service: a real server asks, somebody answers over HTTP, the tool goes on.
 *  It must never answer for the service: what nobody answers is declined by it. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { describe, expect, test } from 'vitest';
import { createHttpClient } from '../../../src/client/http-client.ts';
import type { DirectiveClient } from '../../../src/contract/directive/directive-client.ts';
import { resultSchema } from '../../../src/contract/result.ts';
import type { Signal } from '../../../src/contract/signal/signal.ts';
import type { OpenInput } from '../../../src/contract/tool/tool-question.ts';
import { runCommand, startCommand } from '../../support/command.ts';
import { ownServerEntry } from '../../support/mcp-servers.ts';
import { createAnswerer } from '../../../src/directives/answer-question.ts';
import { openStore } from '../../support/store.ts';
import { refusal } from '../../support/pipeline.ts';
import { startService } from '../../support/running-service.ts';
import { shared, useRedis } from '../../support/shared.ts';

const FOLDER = mkdtempSync(join(tmpdir(), 'asking-'));
const LOG = join(FOLDER, 'log');
const env = { ASKING_LOG: LOG };
const asking = ownServerEntry('asking-peer.ts', env);
const legacy = ownServerEntry('asking-peer.ts', { ...env, ASKING_ERA: 'legacy' });

const mcpServers = {
  modern: { ...asking, questions: true },
  hasty: { ...asking, questions: true, question_timeout_ms: 1_000 },
  silent: asking,
  legacy: { ...legacy, questions: true },
  hastylegacy: { ...legacy, questions: true, question_timeout_ms: 1_000 },
};

/** A model that books, and ends with what the tool says. */
function scripted(): object {
  const file = join(FOLDER, 'turns.json');
  const book = { tool_calls: [{ name: 'modern.book', arguments: { label: 'run' } }] };
  writeFileSync(
    file,
    JSON.stringify({ turns: [{ when: { tool_results: true }, text: '{{modern.book}}' }, book] }),
  );
  return {
    providers: { scripted: { type: 'scripted', file } },
    models: { scripted: 'scripted:any' },
  };
}

const agents = {
  booker: {
    description: 'Books',
    model_alias: 'scripted',
    tools: ['modern.book'],
    policies: { approvals: { '*': 'auto' } },
  },
};

const redis = useRedis();
const service = shared(async () =>
  startService({ redisUrl: redis.url, config: { mcpServers, agents, ...scripted() } }),
);
const client = shared(async () => {
  const made = createHttpClient({ baseUrl: service.url });
  return Object.assign(made, { [Symbol.asyncDispose]: async () => made.close() });
});

async function start(tool_name: string, fields: object = {}) {
  const request_id = randomUUID();
  const label = request_id.slice(0, 8);
  await client.submit({ type: 'tool_exec', tool_name, id: 'c', request_id, arguments: { label }, ...fields });
  return { request_id, label };
}

/** The questions that are open once there are any after `before`. */
async function asked({ request_id }: { request_id: string }, before: readonly OpenInput[] = []) {
  const known = new Set(before.map(({ input_id: id }) => id));
  const poll = async () => {
    const { inputs = [] } = (await client.directive(request_id, 'c')) ?? {};
    return inputs.filter(({ input_id: id }) => !known.has(id));
  };
  await expect.poll(poll, { interval: 50 }).not.toEqual([]);
  return poll();
}

async function payloadOf(
  { request_id }: { request_id: string },
  by: DirectiveClient = client,
): Promise<unknown> {
  const signal = await by.result(request_id, 'c', { timeoutMs: 90_000 });
  const result = resultSchema.parse(signal && 'result' in signal.data ? signal.data.result : null);
  return result.ok ? result.payload : result.error;
}

async function logOf({ request_id }: { request_id: string }): Promise<Signal[]> {
  return (await client.page(request_id, { limit: 100 })).signals;
}

const done = (label: string) =>
  readFileSync(LOG, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith(`book ${label} `));

describe.each(['modern', 'legacy'])('a tool of a %s server that asks', (server) => {
  test('is listed among what people are asked, until it has its answer', async () => {
    const call = await start(`${server}.book`);
    const [question] = await asked(call);
    const listed = async () =>
      (await client.approvals()).approvals.filter(({ request_id: id }) => id === call.request_id);
    await expect.poll(listed, { interval: 50 }).toMatchObject([
      {
        kind: 'question',
        call_id: 'c',
        input_id: 'c.1',
        tool: `${server}.book`,
        agent: null,
        message: question?.message,
        since: expect.any(String),
        deadline_at: question?.deadline_at,
      },
    ]);
    await client.answer(call.request_id, 'c.1', { action: 'decline' });
    await payloadOf(call);
    expect(await listed()).toEqual([]);
  });

  test('waits visibly, gets the answer with the defaults, and acts once', async () => {
    const call = await start(`${server}.book`);
    const [question] = await asked(call);
    expect(question).toMatchObject({
      input_id: 'c.1',
      mode: 'form',
      message: 'How many seats for seats?',
      schema: { required: ['seats'] },
    });
    const view = await client.directive(call.request_id, 'c');
    expect(view?.waiting).toMatchObject({ reason: 'input_required', until: question?.deadline_at });
    expect((await client.request(call.request_id))?.directives[0]?.inputs).toHaveLength(1);
    const recorded = await client.answer(call.request_id, 'c.1', {
      action: 'accept',
      content: { seats: 2 },
      by: 'Ada',
    });
    expect(recorded).toMatchObject({ call_id: 'c', input_id: 'c.1', action: 'accept', by: 'Ada' });
    expect(await payloadOf(call)).toBe('{"window":true,"seats":2}');
    expect(done(call.label)).toHaveLength(1);
    const after = await client.directive(call.request_id, 'c');
    expect(after).toMatchObject({ status: 'succeeded', failures: 0, attempts: server === 'modern' ? 2 : 1 });
    expect(after?.inputs).toBeUndefined();
    const types = (await logOf(call)).map(({ type }) => type);
    expect(types).toEqual([
      'ai.tool.started',
      'ai.tool.input_requested',
      'ai.tool.input_answered',
      'ai.tool.result',
    ]);
  });

  test('refuses an answer that does not fit, and a second one: who comes second sees who decided', async () => {
    const call = await start(`${server}.book`);
    await asked(call);
    const answer = (seats: unknown, by: string) =>
      client.answer(call.request_id, 'c.1', { action: 'accept', content: { seats }, by });
    expect(await refusal(answer(99, 'Ada'))).toMatchObject({
      code: 'invalid_body',
      errors: [{ path: 'content.seats' }],
    });
    const [first, second] = await Promise.allSettled([answer(1, 'Ada'), answer(2, 'Bob')]);
    const winner = first.status === 'fulfilled' ? 'Ada' : 'Bob';
    expect([first.status, second.status].toSorted()).toEqual(['fulfilled', 'rejected']);
    const late = await refusal(answer(3, 'Eve'));
    expect(late).toMatchObject({ code: 'already_decided' });
    expect(late.detail).toMatch(new RegExp(`was accepted at .* by ${winner}$`));
    // The same again is the same.
    expect(await answer(winner === 'Ada' ? 1 : 2, winner)).toMatchObject({ by: winner });
    expect(await payloadOf(call)).toMatch(/"seats":[12]/);
    expect(done(call.label)).toHaveLength(1);
  });

  test('reads that nobody wants to answer', async () => {
    const call = await start(`${server}.book`);
    await asked(call);
    await client.answer(call.request_id, 'c.1', { action: 'decline' });
    expect(await payloadOf(call)).toBe('decline');
  });

  test('waits for a URL to be opened, which is shown in the form that a browser reads', async () => {
    const call = await start(`${server}.visit`);
    const [question] = await asked(call);
    expect(question).toMatchObject({ mode: 'url', url: 'https://xn--bcher-kva.example/in?a=b' });
    const body = { action: 'accept', content: { a: 1 } } as const;
    expect(await refusal(client.answer(call.request_id, 'c.1', body))).toMatchObject({
      code: 'invalid_body',
    });
    await client.answer(call.request_id, 'c.1', { action: 'accept' });
    expect(await payloadOf(call)).toBe('visited');
  });

  test('is cancelled while it waits', async () => {
    const call = await start(`${server}.book`);
    await asked(call);
    await client.cancel(call.request_id, 'c', { reason: 'enough' });
    expect(await payloadOf(call)).toMatchObject({ type: 'cancelled' });
    const late = await refusal(client.answer(call.request_id, 'c.1', { action: 'decline' }));
    expect(late.detail).toMatch(/is over|was withdrawn/);
    // By the older protocol its question ends as cancelled, too, and the tool may hear of that first.
    const told = server === 'legacy' ? [[], [`book ${call.label} cancel`]] : [[]];
    expect(told).toContainEqual(done(call.label));
  });

  test('asks too much: its call fails, and names the limit', async () => {
    const call = await start(`${server}.huge`);
    expect(JSON.stringify(await payloadOf(call))).toContain('8192 characters');
  });
});

test.each(['hasty', 'hastylegacy'])(
  'nobody answers %s in time: declined, and the log says so',
  async (server) => {
    const call = await start(`${server}.book`);
    expect(await payloadOf(call)).toBe('decline');
    const over = (await logOf(call)).find(({ type }) => type === 'ai.tool.input_answered');
    expect(over?.data).toMatchObject({ input_id: 'c.1', action: 'decline', cause: 'deadline' });
    const late = await refusal(client.answer(call.request_id, 'c.1', { action: 'decline' }));
    expect(late.detail).toContain('its time was up');
  },
);

test('two questions of a round are answered by two people; an output schema does not stand against it', async () => {
  const call = await start('modern.two');
  expect(await asked(call)).toHaveLength(2);
  await client.answer(call.request_id, 'c.2', { action: 'accept', content: { seats: 3, window: false } });
  await client.answer(call.request_id, 'c.1', { action: 'cancel' });
  expect(await payloadOf(call)).toBe('cancel {"window":false,"seats":3}');
  const other = await start('modern.structured');
  await asked(other);
  await client.answer(other.request_id, 'c.1', { action: 'accept', content: { seats: 1 } });
  expect(await payloadOf(other)).toMatchObject({ seats: '{"window":true,"seats":1}' });
});

test('what a held call asks at once is asked one by one: each answer is for the question that was shown', async () => {
  const call = await start('legacy.two');
  const [first] = await asked(call);
  expect(first).toMatchObject({ input_id: 'c.1', message: 'How many seats for there?' });
  await client.answer(call.request_id, 'c.1', { action: 'accept', content: { seats: 1 } });
  const [second] = await asked(call, first === undefined ? [] : [first]);
  expect(second).toMatchObject({ input_id: 'c.2', message: 'How many seats for back?' });
  await client.answer(call.request_id, 'c.2', { action: 'decline' });
  expect(await payloadOf(call)).toBe('{"window":true,"seats":1} decline');
});

test('a held call that asks more at once than a round holds gets the rest cancelled, unseen', async () => {
  const call = await start('legacy.flood');
  expect(await payloadOf(call)).toBe('cancel');
  const shown = (await logOf(call)).filter(({ type }) => type === 'ai.tool.input_requested');
  expect(shown.length).toBeLessThanOrEqual(1);
});

test('a tool that asks for ever fails after five rounds', async () => {
  const call = await start('modern.again');
  const seen: OpenInput[] = [];
  for (let round = 1; round <= 5; round += 1) {
    const [question] = await asked(call, seen);
    if (question === undefined) throw new Error('not asked');
    seen.push(question);
    await client.answer(call.request_id, question.input_id, { action: 'decline' });
  }
  expect(await payloadOf(call)).toMatchObject({ type: 'executor', message: /asked 5 times/ });
});

test('a server that nobody answers is told so, and refuses to ask', async () => {
  const error = await payloadOf(await start('silent.book'));
  expect(JSON.stringify(error)).toMatch(/elicitation|capabilit/);
  expect(error).toMatchObject({ details: { fix: expect.stringContaining('"questions"') } });
  expect(await payloadOf(await start('silent.plain'))).toBe('plain');
});

test('no such question: refused, and the wrong names with it', async () => {
  const call = await start('modern.plain');
  await payloadOf(call);
  for (const name of ['c.1', 'c', 'x.1', '__proto__.1', 'c.0'])
    expect(await refusal(client.answer(call.request_id, name, { action: 'decline' }))).toMatchObject({
      code: 'not_found',
    });
});

test('questions of several calls at once: each waits until it is known whose it is', async () => {
  const calls = await Promise.all(['slow', 'slow'].map(async (tool) => start(`legacy.${tool}`)));
  const asking = await start('legacy.book');
  await asked(asking);
  await client.answer(asking.request_id, 'c.1', { action: 'accept', content: { seats: 1 } });
  expect(await payloadOf(asking)).toContain('"seats":1');
  for (const call of calls) expect(await payloadOf(call)).toBe('slow');
});

test('a process that dies right after it recorded the answer leaves the rest to the sweeper', async () => {
  const call = await start('modern.book');
  await asked(call);
  await using store = await openStore(redis.url, { prefix: service.prefix });
  const { journal, index, runs } = store.store.records;
  const answer = createAnswerer({
    journal,
    index,
    lanes: { requeue: async () => Promise.reject(new Error('dead')) },
    gated: store.gated,
    requestBytes: 1_048_576,
    checkContent: async () => [],
    runs,
  });
  await answer(call.request_id, 'c.1', { action: 'accept', content: { seats: 5 } });
  expect(await payloadOf(call)).toBe('{"window":true,"seats":5}');
});

test('nothing of what was asked or answered stays when the directive has ended, nor is an answer ever in the log', async () => {
  const call = await start('modern.book');
  await asked(call);
  const content = { seats: 7, window: false };
  await client.answer(call.request_id, 'c.1', { action: 'accept', content });
  await payloadOf(call);
  await using store = await openStore(redis.url, { prefix: service.prefix });
  const [, bodies] = store.keys.request(call.request_id);
  expect((await store.connection.hkeys(bodies)).filter((field) => /question|answer/.test(field))).toEqual([]);
  const answers = (await logOf(call)).filter(({ type }) => type === 'ai.tool.input_answered');
  expect(JSON.stringify(answers)).not.toContain('seats');
});

test('a run waits for the answer as a single directive does', async () => {
  const request_id = randomUUID();
  await client.runs.start({ request_id, agent: 'booker', query: 'book', overrides: { approvals: {} } });
  const inputs = async () =>
    ((await client.request(request_id))?.directives ?? []).flatMap((each) => each.inputs ?? []);
  await expect.poll(inputs).toHaveLength(1);
  const [question] = await inputs();
  await client.answer(request_id, question?.input_id ?? '', { action: 'accept', content: { seats: 6 } });
  await expect.poll(async () => (await client.request(request_id))?.run?.status).toBe('completed');
});

describe('the command line', () => {
  const cli = async (...args: string[]) => runCommand(args, service.url);

  test('call shows how to answer, get shows the question, answer answers, and the call ends', async () => {
    const request_id = randomUUID();
    const called = startCommand(
      ['call', 'modern.book', '{"label":"cli"}', '--request', request_id, '--id', 'c'],
      service.url,
    );
    await called.said(new RegExp(`adjutant answer ${request_id} c\\.1 '\\{…\\}'`));
    const shown = (await cli('get', request_id)).stdout;
    expect(shown).toMatch(/waits: a person is asked/);
    expect(shown).toMatch(/c\.1 until .*\n +How many seats for seats\?\n +- seats Seats \(integer\)/);
    expect((await cli('get', request_id, 'c')).stdout).toContain(
      `adjutant answer ${request_id} c.1 --decline`,
    );
    expect((await cli('answer', request_id, 'c.1', '{"seats":10}')).stderr).toContain('content.seats');
    expect((await cli('answer', request_id, 'c.1', '{}', '--decline')).code).toBe(2);
    expect(await cli('answer', request_id, 'c.1', '{"seats":3}', '--by', 'Ada')).toMatchObject({
      code: 0,
      stdout: 'c.1  accepted\n',
    });
    expect(await called.ended).toMatchObject({ code: 0, stdout: '{"window":true,"seats":3}\n' });
    const late = await cli('answer', request_id, 'c.1', '--decline');
    expect(late).toMatchObject({ code: 1 });
    expect(late.stderr).toMatch(/was accepted at .* by Ada/);
    expect((await cli('trace', request_id)).stdout).toMatch(/question asked/);
  });
});

test('an MCP host of the service hears that its call waits, and where to answer', async () => {
  const host = new Client({ name: 'host', version: '1' });
  await host.connect(new StreamableHTTPClientTransport(new URL(`${service.url}/mcp`)));
  const said: string[] = [];
  const onprogress = ({ message }: { message?: string | undefined }): void => void said.push(message ?? '');
  const called = host.callTool({ name: 'modern__book', arguments: { label: 'host' } }, { onprogress });
  const pattern = /^a person is asked, until \S+: adjutant get (\S+)$/;
  const heard = (): string =>
    said.map((line) => pattern.exec(line)?.[1]).find((found) => found !== undefined) ?? '';
  await expect.poll(heard).not.toBe('');
  const [directive] = (await client.request(heard()))?.directives ?? [];
  const inputId = directive?.inputs?.[0]?.input_id ?? '';
  await client.answer(heard(), inputId, { action: 'accept', content: { seats: 8 } });
  expect(JSON.stringify(await called)).toContain('seats');
  await host.close();
});
