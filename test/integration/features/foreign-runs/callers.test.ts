/** Runs of other programs through the doors that their programs use: the MCP address, the routes and the client of steps (issue 37, section B).
 *  It looks at what the tool has counted and at the public API. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { createHttpClient, createRunClient } from '../../../../src/client/http-client.ts';
import { compareCases } from '../../../../src/contract/case/compare.ts';
import { caseText } from '../../../../src/features/cases/case-file.ts';
import { recordRequest } from '../../../../src/features/cases/record.ts';
import { startCuttingProxy } from '../../../support/cutting-proxy.ts';
import { eventually, untilListed } from '../../../support/eventually.ts';
import { ERAS, openHost, textOf } from '../../../support/mcp-clients.ts';
import { askModern } from '../../../support/modern-requests.ts';
import { ownServerEntry } from '../../../support/mcp-servers.ts';
import { useKeyedService } from '../../../support/keyed-service.ts';
import { type Child, spawnNode } from '../../../support/process.ts';
import { PROGRAM } from '../../../support/program.ts';
import { startOtlpReceiver } from '../../../support/otlp-receiver.ts';
import { json, sse, startProvider, STREAM_HEAD } from '../../../support/provider-server.ts';
import { get } from '../../../support/public-api.ts';
import { startService } from '../../../support/running-service.ts';
import { shared, useRedis } from '../../../support/shared.ts';

const redis = useRedis();
const keyed = useKeyedService();
const collector = shared(startOtlpReceiver);

/** A turn that calls a tool, then one that answers. */
function anthropicTurn(messages: number): object[] {
  const isFirst = messages === 1;
  const block = isFirst
    ? { type: 'tool_use', id: 'toolu_1', name: 'counting__once', input: {} }
    : { type: 'text', text: '' };
  const delta = isFirst
    ? { type: 'input_json_delta', partial_json: '{"label":"anthropic"}' }
    : { type: 'text_delta', text: 'Refunded.' };
  const message = {
    id: 'msg',
    type: 'message',
    role: 'assistant',
    model: 'm',
    content: [],
    stop_reason: null,
  };
  const usage = { input_tokens: 3, output_tokens: 1 };
  return [
    { type: 'message_start', message: { ...message, usage } },
    { type: 'content_block_start', index: 0, content_block: block },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: isFirst ? 'tool_use' : 'end_turn' }, usage },
    { type: 'message_stop' },
  ];
}

function chatTurn({ model, messages }: { model: string; messages: object[] }): object {
  const mail = { name: 'send_mail', arguments: '{"to":"ana"}' };
  const asked = /^(?:mailer|agent(?:-(?<label>.+)-(?<delay>\d+))?)$/.exec(model);
  if (asked === null) return { content: `read ${messages.length}` };
  const { label, delay } = asked.groups ?? {};
  if (label === undefined && messages.length > 1) return { content: 'Refunded.' };
  const args = label === undefined ? { label: 'ai-sdk' } : { label, delay_ms: Number(delay) };
  const called = model === 'mailer' ? mail : { name: 'counting__once', arguments: JSON.stringify(args) };
  return { content: null, tool_calls: [{ id: 'call_1', type: 'function', function: called }] };
}

/** Answers with the number of messages that it was sent. */
const provider = shared(async () =>
  startProvider(async (response, request, index) => {
    const { messages } = request.body as { messages: object[] };
    if (request.path.endsWith('/messages')) {
      response.writeHead(200, STREAM_HEAD);
      response.end(sse(anthropicTurn(messages.length), { named: true }));
      return;
    }
    const message = { role: 'assistant', ...chatTurn(request.body as { model: string; messages: object[] }) };
    const choices = [{ index: 0, message, finish_reason: 'stop' }];
    await json(200, { id: `chat-${index}`, object: 'chat.completion', model: 'm', choices })(
      response,
      request,
      index,
    );
  }),
);

const service = shared(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'adjutant-foreign-'));
  const counter = join(folder, 'counter.jsonl');
  await writeFile(counter, '');
  const mcpServers = { counting: ownServerEntry('counting.ts', { COUNTER_FILE: counter }) };
  const running = await startService({
    redisUrl: redis.url,
    environment: { ANTHROPIC_API_KEY: 'sk-ant-0123', OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
    config: {
      mcpServers,
      providers: {
        play: { type: 'openai-compatible', base_url: provider.url },
        claude: { type: 'anthropic', base_url: provider.url },
      },
    },
  });
  await untilListed(running.url, 'counting.once');
  return {
    url: running.url,
    executions: (label: string) =>
      readFileSync(counter, 'utf8').split(`"label":${JSON.stringify(label)}`).length - 1,
    async [Symbol.asyncDispose]() {
      await running.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
});

test.each(ERAS)(
  'a %s host at the MCP address of a run: an equal once call is the same one, in another run another one',
  async (era) => {
    const [run, label] = [`once-${era}`, `label-${era}`];
    const call = async (name: string): Promise<string> => {
      await using host = await openHost(era, `${service.url}/runs/${name}/mcp`);
      return textOf(await host.call('counting__once', { label }));
    };
    const first = await call(run);
    expect(first).toContain('"execution":1');
    expect(await call(run)).toBe(first);
    expect(service.executions(label)).toBe(1);
    expect(await call(`${run}-other`)).toContain('"execution":1');
    expect(service.executions(label)).toBe(2);
    await using one = await openHost(era, `${service.url}/runs/${run}/mcp/counting`);
    expect(textOf(await one.call('once', { label })), 'the address of one server').toBe(first);
  },
);

test('a host that is lost in the middle of a call of a run does not end it: the next one joins', async () => {
  const url = `${service.url}/runs/lost/mcp`;
  const lost = new AbortController();
  const params = { name: 'counting__once', arguments: { label: 'lost', delay_ms: 1_000 } };
  const raw = askModern(url, { method: 'tools/call', name: params.name, params, signal: lost.signal });
  await eventually(async () => service.executions('lost')).toBe(1);
  lost.abort();
  await expect(raw).rejects.toThrow();
  await using host = await openHost('modern', url);
  expect(textOf(await host.call('counting__once', { label: 'lost', delay_ms: 1_000 }))).toContain(
    '"execution":1',
  );
  expect(service.executions('lost')).toBe(1);
});

// Issue 37, C13: the connection of a host that outlives it breaks before the answer, and its model asks for the same refund again.
test.each(ERAS)(
  'a %s host whose answer was cut off gets it for the next turn; after a whole answer, an equal call is another one',
  async (era) => {
    const [run, label] = [`cut-${era}`, `cut-${era}`];
    const told = { role: 'assistant', content: 'ECONNRESET' };
    const turn = async (...more: readonly object[]) =>
      ask(run, [SYSTEM, USER, ...more], {}, `agent-${label}-500`);
    const args = { label, delay_ms: 500 };
    const proxy = await startCuttingProxy({ target: service.url });
    await using cut = await openHost(era, `${proxy.url}/runs/${run}/mcp`);
    await turn();
    cut.call('counting__once', args).catch(() => {});
    await eventually(async () => service.executions(label)).toBe(1);
    await proxy.stop();
    await turn(told);
    await using host = await openHost(era, `${service.url}/runs/${run}/mcp`);
    await host.call('counting__once', args);
    expect(service.executions(label)).toBe(1);
    await turn(told, told);
    await host.call('counting__once', args);
    expect(service.executions(label)).toBe(2);
  },
);

test('an answer that is given as a task is given, too: an equal once call of a later turn is another one', async () => {
  const args = { label: 'task', delay_ms: 1_100 };
  const turn = async (...more: readonly object[]) =>
    ask('task', [SYSTEM, USER, ...more], {}, 'agent-task-1100');
  const send = async (method: string, name: string, params: object) => {
    const extensions = ['io.modelcontextprotocol/tasks'];
    const asked = { method, name, params: params as Record<string, unknown>, extensions };
    return (await askModern(`${service.url}/runs/task/mcp`, asked)).result ?? {};
  };
  const call = async () => send('tools/call', 'counting__once', { name: 'counting__once', arguments: args });
  await turn();
  const { taskId } = await call();
  await eventually(async () => (await send('tasks/get', String(taskId), { taskId }))['status']).toBe(
    'completed',
  );
  await turn({ role: 'assistant', content: 'once more' });
  await call();
  expect(service.executions('task')).toBe(2);
});

test('names of runs that are none are refused, and so is an unknown tool', async () => {
  const response = await fetch(`${service.url}/runs/a%20b/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: '{}',
  });
  expect(response.status).toBe(400);
  await using host = await openHost('modern', `${service.url}/runs/unknown/mcp`);
  await expect(host.call('counting__nothing')).rejects.toThrow('Unknown tool');
});

test('a step runs once: a second client gets its result, waits for one that runs, and sees an error of a once step again', async () => {
  const [one, two] = [createRunClient({ baseUrl: service.url }), createRunClient({ baseUrl: service.url })];
  let ran = 0;
  const charge = async (): Promise<{ paid: number }> => ({ paid: (ran += 1) });
  expect(await one.step('steps', 'charge', charge)).toEqual({ paid: 1 });
  expect(await two.step('steps', 'charge', charge)).toEqual({ paid: 1 });
  expect(await one.step('steps', 'charge', charge), 'its second one').toEqual({ paid: 2 });
  expect(await two.step('steps', 'charge', charge)).toEqual({ paid: 2 });

  const gate = Promise.withResolvers<string>();
  const running = one.step('steps', 'slow', () => gate.promise);
  await eventually(async () => (await one.read('steps')).steps).toBe(3);
  const joined = two.step('steps', 'slow', () => 'not run');
  gate.resolve('run');
  expect(await Promise.all([running, joined])).toEqual(['run', 'run']);

  const fail = (): never => {
    throw new Error('no funds');
  };
  await expect(one.step('steps', 'broken', fail)).rejects.toThrow('no funds');
  await expect(two.step('steps', 'broken', () => 1)).rejects.toThrow('no funds');
  await expect(one.step('steps', 'read', fail, { effect: 'read' })).rejects.toThrow('no funds');
  expect(await two.step('steps', 'read', () => 1, { effect: 'read' })).toBe(1);
  expect(await one.close('steps', { result: 'done' })).toMatchObject({ status: 'completed', result: 'done' });
  await expect(two.step('steps', 'late', charge)).rejects.toMatchObject({
    problem: { code: 'request_closed' },
  });
});

test('a step whose process died is unknown to its successor until a decision', async () => {
  const dead = { key: 'refund', lease_ms: 1_000, token: 'dead' };
  await fetch(`${service.url}/v1/runs/dead/steps`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(dead),
  });
  const runs = createRunClient({ baseUrl: service.url });
  const refund = async () => runs.step('dead', 'refund', () => 'again', { key: 'refund' });
  await expect(refund()).rejects.toMatchObject({ problem: { code: 'outcome_unknown' } });
  await runs.decide('dead', 'refund', { result: 'it was refunded' });
  expect(await refund()).toBe('it was refunded');
});

test('a run is of the key that began it: another key of the tenant sees none, and one without scopes may nothing', async () => {
  const [ann, bob, reader] = await Promise.all([
    keyed.make(),
    keyed.make(),
    keyed.make({ scopes: ['read'] }),
  ]);
  const of = (key: string) => createRunClient({ baseUrl: keyed.service.url, apiKey: key });
  expect(await of(ann.key).step('own', 'id', () => 'of ann')).toBe('of ann');
  expect(await of(bob.key).step('own', 'id', () => 'of bob')).toBe('of bob');
  await of(ann.key).close('own');
  expect(await of(bob.key).read('own')).toMatchObject({ status: 'open' });
  await expect(of(reader.key).read('own')).rejects.toMatchObject({ problem: { code: 'not_found' } });
  await expect(of(reader.key).step('own', 'id', () => 1)).rejects.toMatchObject({
    problem: { code: 'forbidden' },
  });
});

const SYSTEM = { role: 'system', content: 'You count.' };
const USER = { role: 'user', content: 'Count.' };

async function ask(
  run: string,
  messages: readonly object[],
  headers: Record<string, string> = {},
  model = 'm',
) {
  const response = await fetch(`${service.url}/runs/${run}/openai/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ model: `play:${model}`, messages, metadata: { at: crypto.randomUUID() } }),
  });
  const { headers: answered } = response;
  return {
    text: await response.text(),
    place: ['pass', 'turn', 'replayed'].map((name) => answered.get(`adjutant-${name}`)),
    request: answered.get('adjutant-request') ?? '',
  };
}

async function adjutant(...args: string[]): Promise<string> {
  const command = [PROGRAM, '--url', service.url, ...args];
  return (await promisify(execFile)(process.execPath, command)).stdout;
}

test('steps count in the quota of a key, and one that is refused was not begun', async () => {
  // The run itself, and one step.
  const limited = await keyed.make({ per_day: 2 });
  const runs = createRunClient({ baseUrl: keyed.service.url, apiKey: limited.key });
  expect(await runs.step('quota', 'one', () => 1)).toBe(1);
  expect(await runs.step('quota', 'one', () => 2, { key: 'one' }), 'recorded').toBe(1);
  const refused = { problem: { code: 'rate_limited' } };
  await expect(runs.step('quota', 'two', () => 2)).rejects.toMatchObject(refused);
  expect(await runs.read('quota')).toMatchObject({ steps: 1 });
});

test('a pass that was made before is answered byte for byte; one that leaves it says so in the log of the turn that it left', async () => {
  const first = await ask('diverging', [SYSTEM, USER]);
  const history = [SYSTEM, USER, { role: 'assistant', content: 'one' }];
  const second = await ask('diverging', [...history, { role: 'user', content: 'Go on.' }]);
  expect([first.place, second.place]).toEqual([
    ['1', '1', null],
    ['1', '2', null],
  ]);
  const asked = provider.seen.length;
  expect(await ask('diverging', [SYSTEM, USER])).toEqual({ ...first, place: ['2', '1', 'true'] });
  expect(provider.seen).toHaveLength(asked);
  await ask('diverging', [...history, { role: 'user', content: 'Stop.', token: 'hidden' }]);
  const { body } = await get<{ signals: { type: string; data: object }[] }>(
    `${service.url}/v1/requests/${second.request}/signals`,
  );
  expect(body.signals.at(-1)).toMatchObject({
    type: 'run.diverged',
    source: '/run',
    data: {
      run: 'diverging',
      pass: 2,
      turn: 2,
      place: 'messages[3].content',
      recorded: '"Go on."',
      sent: '"Stop."',
    },
  });
  expect(JSON.stringify(body.signals)).not.toContain('hidden');
  expect(await get(`${service.url}/v1/runs/diverging`)).toMatchObject({
    body: { branched: true, turns: 3, diverged: { pass: 2, turn: 2, request_id: second.request } },
  });
  expect(await get(`${service.url}/v1/runs/diverging?turn=1`)).toMatchObject({
    body: { replays: 1, latest_turns: [{ turn: 1, request_id: first.request, replays: 1 }] },
  });
});

// Issue 37, "attack it with the ten questions": two agents under one run at the same time, whose bodies differ in what is volatile.
test('agents that send the same call of a run at the same time get one answer, which is paid for once', async () => {
  const asked = provider.seen.length;
  const [first, ...others] = await Promise.all(
    Array.from({ length: 4 }, async () => ask('both', [SYSTEM, USER])),
  );
  expect(new Set([first, ...others].map((answer) => `${answer?.request} ${answer?.text}`)).size).toBe(1);
  expect(provider.seen).toHaveLength(asked + 1);
  expect(await get(`${service.url}/v1/runs/both`)).toMatchObject({ body: { turns: 1, branched: false } });
});

// Issue 37, B8 and B11, on the command line: no verb showed such a run.
test('adjutant get shows a run with its passes, turns and divergence; adjutant trace draws its calls', async () => {
  const { request } = await ask('shown', [SYSTEM, USER]);
  await ask('shown', [SYSTEM, USER]);
  await ask('shown', [{ role: 'system', content: 'You add.' }, USER]);
  const [shown, drawn, json] = await Promise.all([
    adjutant('get', 'shown'),
    adjutant('trace', 'shown'),
    adjutant('get', 'shown', '--json'),
  ]);
  expect(shown).toMatch(/^shown run of another program, open, last call .+ ago$/m);
  expect(shown).toMatch(/^passes +3, the last one left the record$/m);
  expect(shown).toMatch(/^turns +2, 1 answer from the record$/m);
  expect(shown).toMatch(new RegExp(`^divergence +pass 3 at turn 1: .*adjutant tail ${request}$`, 'm'));
  expect(shown).toMatch(new RegExp(`^ +1 +${request} +0 tool calls +from the record 1 time`, 'm'));
  expect(drawn).toContain(shown.split('\n')[2]);
  expect(drawn).toMatch(new RegExp(`^${request} .*━`, 'ms'));
  expect(JSON.parse(json)).toMatchObject({ run: 'shown', passes: 3 });
  await expect(adjutant('get', 'none')).rejects.toMatchObject({
    stderr: expect.stringContaining('no run of another program') as string,
  });
});

test('a start names its pass by a header; a fresh answer is asked for by another one', async () => {
  const pass = (name: string) => ask('named', [SYSTEM, USER], { 'adjutant-pass': name });
  expect([await pass('a'), await pass('b'), await pass('b')].map(({ place }) => place)).toEqual([
    ['1', '1', null],
    ['2', '1', 'true'],
    ['2', '1', 'true'],
  ]);
  const fresh = await ask('named', [SYSTEM, USER], { 'adjutant-replay': 'off' });
  expect(fresh.place[1]).toBe('2');
});

test("an agent's own trace has each of its calls, and marks those that were replayed", async () => {
  const traceId = 'ab'.repeat(16);
  const traced = { traceparent: `00-${traceId}-${'cd'.repeat(8)}-01` };
  await ask('traced', [SYSTEM, USER], traced);
  await ask('traced', [SYSTEM, USER], traced);
  const marks = () =>
    collector
      .spans()
      .filter((span) => span.traceId === traceId && span.name.startsWith('POST /runs/'))
      .map(({ attributes }) => attributes['adjutant.replayed'] === true);
  await eventually(() => marks().toSorted((left, right) => Number(left) - Number(right))).toEqual([
    false,
    true,
  ]);
});

// Issue 37, B11: the trace of the run has each turn and each tool, and marks those that were replayed.
test('without a trace of its own, a start that is answered from the record marks each call in the trace of the run', async () => {
  const call = async () => {
    await ask('marked', [SYSTEM, USER]);
    await using host = await openHost('modern', `${service.url}/runs/marked/mcp`);
    return textOf(await host.call('counting__once', { label: 'marked' }));
  };
  expect(await call()).toBe(await call());
  const { body } = await get<{ trace_id: string }>(`${service.url}/v1/runs/marked`);
  const replays = () =>
    collector
      .spans()
      .filter(
        ({ traceId, attributes }) => traceId === body.trace_id && attributes['adjutant.replayed'] === true,
      )
      .map(({ name }) => name)
      .toSorted();
  await eventually(replays).toEqual(['replay counting.once', 'replay turn 1']);
});

// Issue 37, B10: the service does not know the program of such a run, so that it cannot go on with it.
test('resume and fork refuse the requests of a run that another program leads; again asks anew, outside the run', async () => {
  const { request } = await ask('alone', [SYSTEM, USER]);
  const verb = async (name: string, body: object) => {
    const response = await fetch(`${service.url}/v1/requests/${request}/${name}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    return { status: response.status, text: await response.text() };
  };
  const refused = { status: 404, text: expect.stringContaining('there is no run in a request') as string };
  expect(await verb('resume', {})).toMatchObject(refused);
  expect(await verb('fork', { at: 1 })).toMatchObject(refused);
  expect((await verb('again', {})).status).toBe(202);
  expect(await get(`${service.url}/v1/runs/alone`)).toMatchObject({ body: { turns: 1 } });
});

// Issue 37, B10: a recorded model call was an empty case, and two different ones compared as the same.
test('record and diff read single requests of a run, without the bodies of model calls; eval refuses their cases', async () => {
  const one = await ask('cases', [SYSTEM, USER]);
  const two = await ask('cases', [SYSTEM, USER, { role: 'assistant', content: 'one' }, USER]);
  const client = createHttpClient({ baseUrl: service.url });
  const recorded = await recordRequest(client, one.request);
  expect(recorded.turns).toMatchObject([
    { model: { model: 'play:m', answer: { ok: true, payload: { text: 'read 2' } } } },
  ]);
  const text = caseText(recorded);
  expect(text).not.toMatch(/You count|chat\.completion/);
  expect(compareCases(recorded, await recordRequest(client, two.request)).parted).not.toBeNull();
  expect(compareCases(recorded, recorded).parted).toBeNull();
  const folder = await mkdtemp(join(tmpdir(), 'adjutant-case-'));
  await writeFile(join(folder, 'one.jsonl'), text);
  await expect(adjutant('eval', join(folder, 'one.jsonl'), '--offline')).rejects.toMatchObject({
    stderr: expect.stringMatching(/^(?!.* at ).*has no run of an agent/) as string,
  });
  await rm(folder, { recursive: true });
});

test('a step of the Python example runs once for each run', async () => {
  const program = ['examples/agents/steps.py', service.url];
  const python = async (run: string) => (await promisify(execFile)('python3', [...program, run])).stdout;
  const first = await python('python');
  expect(first).toMatch(/^[0-9a-f]{32}\n$/);
  expect(await python('python')).toBe(first);
  expect(await python('python-2')).not.toBe(first);
});

test.each(['anthropic', 'ai-sdk'])(
  'the agent examples/agents/%s.ts gets its whole pass from the record',
  async (agent) => {
    const env = {
      ANTHROPIC_BASE_URL: `${service.url}/runs/${agent}/anthropic`,
      ANTHROPIC_API_KEY: 'any',
      OPENAI_BASE_URL: `${service.url}/runs/${agent}/openai/v1`,
      OPENAI_API_KEY: 'any',
      MODEL: agent === 'anthropic' ? 'claude:m' : 'play:agent',
      MCP_URL: `${service.url}/runs/${agent}/mcp`,
    };
    const answer = async (): Promise<string> => {
      await using child = stopping(spawnNode([`examples/agents/${agent}.ts`], { env }));
      return await child.waitForLine(/^answer/);
    };
    expect(await answer()).toBe('answer: Refunded.');
    const asked = provider.seen.length;
    expect(await answer()).toBe('answer: Refunded.');
    expect(provider.seen).toHaveLength(asked);
    expect(service.executions(agent)).toBe(1);
  },
);

// Public rule: docs/any-agent.md, "What is not promised": a tool of the agent's own process needs a step.
test('a tool of the process of an AI SDK agent runs once, although the agent is killed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'adjutant-mail-'));
  const file = join(folder, 'mails.txt');
  const env = {
    ADJUTANT_URL: service.url,
    OPENAI_API_KEY: 'any',
    MODEL: 'play:mailer',
    RUN: 'mailer',
    MAIL_FILE: file,
  };
  const start = (): Child =>
    spawnNode(['--conditions=adjutant-source', 'examples/agents/ai-sdk-own-tools.ts'], { env });
  const first = start();
  await first.waitForLine(/^step: 1 calls/);
  await first.kill9();
  await using second = stopping(start());
  expect(await second.waitForLine(/^answer/)).toBe('answer: Refunded.');
  expect(readFileSync(file, 'utf8')).toBe('ana\n');
  await rm(folder, { recursive: true });
});

function stopping(child: Child): Child & AsyncDisposable {
  return { ...child, [Symbol.asyncDispose]: async () => void (await child.kill9()) };
}
