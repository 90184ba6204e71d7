/** `/mcp` of a running service, through the clients of both eras: what hosts list, call, repeat and cancel.
 *  It must not look into the server: only the clients, the public API and what the tools themselves have recorded. */
import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import type { Roles } from '../../../../src/service/roles/roles.ts';
import { eventually, untilListed } from '../../../support/eventually.ts';
import { type Answered, ERAS, openHost, openTaskHost, textOf } from '../../../support/mcp-clients.ts';
import { modernPeer, namedTools, ownServerEntry } from '../../../support/mcp-servers.ts';
import { PROGRAM } from '../../../support/program.ts';
import { askModern } from '../../../support/modern-requests.ts';
import { get } from '../../../support/public-api.ts';
import { startRedis } from '../../../support/redis.ts';
import { type RunningService, startService } from '../../../support/running-service.ts';
import { shared } from '../../../support/shared.ts';

const JSON_HEADERS = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};
const MANY = 1_000;
const LONG_NAME = `a tool/with.odd:characters ${'x'.repeat(100)}`;
const STRUCTURED = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] };
const MIRRORED = { type: 'string', 'x-mcp-header': 'Region' };
/** What the model of the agent answers. */
const TURNS = [
  { when: { tool_results: false }, tool_calls: [{ name: 'peer.add', arguments: { a: 2, b: 3 } }] },
  { text: 'It is 5.' },
];
const ODD_TOOLS = [
  ...Array.from({ length: MANY }, (_, index) => `tool-${index}`),
  'a.b',
  'a/b',
  '__proto__',
  'конвертировать',
  LONG_NAME,
  { name: 'rows', outputSchema: STRUCTURED, result: { content: [], structuredContent: { n: 7 } } },
  { name: 'picture', result: { content: [{ type: 'image', data: 'AAAA', mimeType: 'image/png' }] } },
  { name: 'mirrored', inputSchema: { type: 'object', properties: { region: MIRRORED } } },
  { name: 'broken', result: { isError: true, content: [{ type: 'text', text: 'no such row' }] } },
];

const PEER_ALONE = { mcpServers: { peer: ownServerEntry('modern-peer.ts') } };

const service = shared(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'adjutant-mcp-server-'));
  const redis = await startRedis();
  const files = { counter: join(folder, 'counter.jsonl'), peer: join(folder, 'peer.log') };
  await Promise.all([files.counter, files.peer].map((file) => writeFile(file, '')));
  const { transport: odd } = namedTools(ODD_TOOLS);
  const { transport: peer } = modernPeer({ PEER_LOG: files.peer });
  const mcpServers = {
    counting: ownServerEntry('counting.ts', { COUNTER_FILE: files.counter }),
    odd: { command: odd.command, args: odd.args },
    peer: { command: peer.command, args: peer.args, env: peer.env },
    asking: { ...ownServerEntry('asking-peer.ts'), questions: true },
    secret: { command: odd.command, args: odd.args, expose: false },
  };
  const script = join(folder, 'script.json');
  await writeFile(script, JSON.stringify({ pace: 10_000, turns: TURNS }));
  const models = { providers: { play: { type: 'scripted', file: script } }, models: { fast: ['play:m'] } };
  const adder = { model_alias: 'fast', description: 'Adds numbers.', tools: ['peer.add'] };
  const agents = { adder, careful: { ...adder, policies: { approvals: { 'peer.add': 'ask' } } } };
  const config = { mcpServers, ...models, agents };
  const running = await startService({ redisUrl: redis.url, config });
  const looking = new Redis(redis.url);
  await untilListed(running.url, 'asking.book', 'counting.once', 'odd.broken', 'peer.add', 'secret.broken');
  return {
    url: `${running.url}/mcp`,
    api: running.url,
    executions: (label: string) =>
      readFileSync(files.counter, 'utf8').split(`"label":${JSON.stringify(label)}`).length - 1,
    peerLog: () => readFileSync(files.peer, 'utf8'),
    /** Processes of another installation, with the server `peer` and no agents. */
    startRoles: async (...all: Partial<Roles>[]) => {
      const options = { redisUrl: redis.url, prefix: `${running.prefix}-other`, config: PEER_ALONE };
      const none = { api: false, engine: false, worker: false };
      const start = async (roles: Partial<Roles>) =>
        startService({ ...options, roles: { ...none, ...roles } });
      return Promise.all(all.map(start)) as Promise<[RunningService, RunningService]>;
    },
    /** The workers of the installation now serve nothing of what they did: what time does to those that have stopped. */
    serveOthers: async (prefix: string) => {
      const fields = await looking.hkeys(`${prefix}:catalog`);
      const present = JSON.stringify({ serves: ['others'], seenAt: Date.now() });
      for (const field of fields.filter((name) => name.startsWith('worker:')))
        await looking.hset(`${prefix}:catalog`, field, present);
    },
    /** What other APIs find of calls whose clients were lost: how long it stays, milliseconds. */
    waits: async () => {
      const keys = await looking.keys(`${running.prefix}:{*}:waited`);
      return new Map(await Promise.all(keys.map(async (key) => [key, await looking.pttl(key)] as const)));
    },
    async [Symbol.asyncDispose]() {
      await running.stop();
      looking.disconnect();
      await redis.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
});

interface Place {
  readonly request_id: string;
  readonly id: string;
}

function placeOf({ _meta }: Answered): Place {
  return _meta?.['adjutant/directive'] as Place;
}

async function viewOf({ request_id, id }: Place) {
  const { body } = await get<{ status: string; trace_id: string; directive: object }>(
    `${service.api}/v1/requests/${request_id}/directives/${id}`,
  );
  return body;
}

describe.each(ERAS)('a %s client', (era) => {
  test('lists every tool under a name that hosts accept, with schema and annotations', async () => {
    await using host = await openHost(era, service.url);
    const tools = await host.list();
    const names = tools.map(({ name }) => name);
    expect(names).toHaveLength(new Set(names).size);
    expect(names.filter((name) => !/^[A-Za-z0-9_-]{1,48}$/.test(name))).toEqual([]);
    expect(names.filter((name) => name.startsWith('odd__'))).toHaveLength(ODD_TOOLS.length);
    expect(names.filter((name) => name.startsWith('secret'))).toEqual([]);
    const read = tools.find(({ name }) => name === 'counting__read');
    expect(read).toMatchObject({ annotations: { readOnlyHint: true } });
    expect(read?.inputSchema).toMatchObject({
      properties: { label: { type: 'string' } },
      required: ['label'],
    });
    expect(tools.find(({ name }) => name === 'odd__rows')?.outputSchema).toEqual(STRUCTURED);
  });

  test('is told what the visible servers say of themselves', async () => {
    await using host = await openHost(era, service.url);
    expect(host.instructions()).toMatch(/outcome_unknown[^]*\n\npeer: Use add for sums\.$/);
  });

  test('calls tools with odd names, each by the name that was listed', async () => {
    await using host = await openHost(era, service.url);
    const odd = (await host.list()).filter(({ name }) => name.startsWith('odd__') && !/tool-\d/.test(name));
    const said = await Promise.all(odd.map(async ({ name }) => textOf(await host.call(name))));
    expect(said).toEqual(expect.arrayContaining(['a.b', 'a/b', '__proto__', 'конвертировать', LONG_NAME]));
    expect(textOf(await host.call('odd.a.b')), 'the dotted name').toBe('a.b');
  });

  test('gets text, structured content, media and errors as the tool gave them', async () => {
    await using host = await openHost(era, service.url);
    expect(textOf(await host.call('peer__add', { a: 2, b: 3 }))).toBe('5');
    expect(await host.call('odd__rows')).toMatchObject({ structuredContent: { n: 7 } });
    expect((await host.call('odd__picture')).content).toEqual([
      { type: 'image', data: 'AAAA', mimeType: 'image/png' },
    ]);
    const broken = await host.call('odd__broken');
    expect(broken.isError).toBe(true);
    expect(JSON.parse(textOf(broken))).toMatchObject({
      error: { type: 'tool_error', message: 'no such row' },
    });
  });

  test('a tool that is hidden and one that does not exist are refused in the same words', async () => {
    await using host = await openHost(era, service.url);
    const refusals = ['secret__broken', 'nobody__broken', 'secret.broken'].map(async (name) =>
      host.call(name).then(
        () => 'answered',
        (error: Error & { code: number }) => `${error.code} ${error.message.replaceAll(name, 'NAME')}`,
      ),
    );
    const [hidden, missing, dotted] = await Promise.all(refusals);
    expect(hidden).toMatch(/^-32602 .*Unknown tool: NAME$/);
    expect([missing, dotted]).toEqual([hidden, hidden]);
  });

  test('the same key is the same call; with other arguments it is refused', async () => {
    await using host = await openHost(era, service.url);
    const label = `key-${era}`;
    const options = { meta: { 'adjutant/idempotencyKey': label } };
    const both = await Promise.all([1, 2].map(async () => host.call('counting__once', { label }, options)));
    const again = await host.call('counting__once', { label }, options);
    expect(both.map(textOf)).toEqual([textOf(again), textOf(again)]);
    expect(service.executions(label)).toBe(1);
    await expect(host.call('counting__once', { label: 'other' }, options)).rejects.toMatchObject({
      code: -32_602,
    });
    expect(service.executions('other')).toBe(0);
  });

  test('a failure that passes is retried where repeating is safe, and nowhere else', async () => {
    await using host = await openHost(era, service.url);
    const [safe, unsafe] = [`safe-${era}`, `unsafe-${era}`];
    expect((await host.call('counting__idempotent', { label: safe, failures: 1 })).isError).toBeFalsy();
    expect((await host.call('counting__once', { label: unsafe, failures: 1 })).isError).toBe(true);
    expect([service.executions(safe), service.executions(unsafe)]).toEqual([2, 1]);
  });

  test('hears the progress of the tool', async () => {
    await using host = await openHost(era, service.url);
    const heard: number[] = [];
    const onprogress = ({ progress }: { progress: number }): void => void heard.push(progress);
    // What comes after the answer is not heard: a second is time enough to begin to listen.
    await host.call('peer__beat', { beats: 100 }, { onprogress });
    expect(heard.length).toBeGreaterThan(0);
    expect(heard).toEqual(heard.toSorted((left, right) => left - right));
  });

  test('asks an agent as a tool, once for the same key, and hears its steps', async () => {
    await using host = await openHost(era, service.url);
    const asked = (await host.list()).find(({ name }) => name === 'ask_adder');
    expect(asked).toMatchObject({ description: expect.stringContaining('Adds numbers.') });
    const steps: (string | undefined)[] = [];
    const onprogress = ({ message }: { message?: string }): void => void steps.push(message);
    const meta = { 'adjutant/idempotencyKey': `agent-${era}` };
    const answer = await host.call('ask_adder', { query: 'What is 2+3?' }, { meta, onprogress });
    expect(textOf(answer)).toBe('It is 5.');
    expect(steps).toContain('calls peer.add');
    const again = await host.call('ask_adder', { query: 'What is 2+3?' }, { meta });
    expect(again._meta).toEqual(answer._meta);
    for (const [query, key] of [
      ['other', `agent-${era}`],
      ['', 'new'],
    ] as const) {
      const options = { meta: { 'adjutant/idempotencyKey': key } };
      await expect(host.call('ask_adder', { query }, options)).rejects.toMatchObject({ code: -32_602 });
    }
  });

  test('continues its trace', async () => {
    await using host = await openHost(era, service.url);
    const traceId = `${era === 'modern' ? 'a' : 'b'}`.repeat(32);
    const meta = { traceparent: `00-${traceId}-00f067aa0ba902b7-01` };
    const answer = await host.call('peer__meta', {}, { meta });
    expect((await viewOf(placeOf(answer))).trace_id).toBe(traceId);
    expect(textOf(answer)).toContain(traceId);
  });
});

test.each(ERAS)('adjutant mcp gives a %s client the same tools on its standard streams', async (era) => {
  const env = { ...(process.env as Record<string, string>), ADJUTANT_URL: service.api };
  const place = { command: process.execPath, args: [PROGRAM, 'mcp'], env };
  await using host = await openHost(era, place);
  expect((await host.list()).map(({ name }) => name)).toContain('counting__once');
  const label = `stdio-${era}`;
  const options = { meta: { 'adjutant/idempotencyKey': label } };
  const first = await host.call('counting__once', { label }, options);
  await using other = await openHost(era, service.url);
  expect(textOf(await other.call('counting__once', { label }, options))).toBe(textOf(first));
  expect(service.executions(label)).toBe(1);
  await expect(host.call('secret__broken')).rejects.toMatchObject({ code: -32_602 });
});

test('the next adjutant mcp of a folder fetches the task that the last one has given', async () => {
  const cwd = await mkdtemp(join(tmpdir(), 'adjutant-mcp-folder-'));
  await mkdir(join(cwd, '.adjutant'));
  const env = { ...(process.env as Record<string, string>), ADJUTANT_URL: service.api };
  const place = { command: process.execPath, args: [PROGRAM, 'mcp'], env, cwd };
  const first = await openTaskHost(place);
  const taskId = await first.begin('peer__wait', {});
  await first[Symbol.asyncDispose]();
  {
    await using next = await openTaskHost(place);
    expect(await next.task(taskId)).toMatchObject({ taskId, status: 'working' });
  }
  await rm(cwd, { recursive: true });
  await using elsewhere = await openTaskHost({ ...place, cwd: tmpdir() });
  await expect(elsewhere.task(taskId), 'another seal').rejects.toMatchObject({ code: -32_602 });
});

test('a call that is repeated on adjutant mcp has its answer while no worker serves its tool', async () => {
  const [api, worker] = await service.startRoles({ api: true }, { worker: true });
  await untilListed(api.url, 'peer.add');
  const env = { ...(process.env as Record<string, string>), ADJUTANT_URL: api.url };
  await using host = await openHost('modern', { command: process.execPath, args: [PROGRAM, 'mcp'], env });
  const add = async () =>
    host.call('peer__add', { a: 1, b: 1 }, { meta: { 'adjutant/idempotencyKey': 'sum' } });
  const answer = await add();
  expect(textOf(answer)).toBe('2');
  await worker.stop();
  await service.serveOthers(worker.prefix);
  await eventually(async () => host.list()).toEqual([]);
  expect(await add()).toEqual(answer);
  const { body } = await get<{ servers: object[] }>(`${api.url}/v1/tools?remembered=true`);
  expect(body.servers).toMatchObject([{ name: 'peer', served: false }]);
  await api.stop();
});

test.each(ERAS)(
  '/mcp/{server} has the tools of one server under their own names: a %s client',
  async (era) => {
    await using host = await openHost(era, `${service.url}/odd`);
    const names = (await host.list()).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['a.b', 'a/b', '__proto__', LONG_NAME]));
    expect(names).not.toContain('once');
    expect(textOf(await host.call('a/b'))).toBe('a/b');
  },
);

test.each(['secret', 'nobody'])('/mcp/%s does not exist', async (server) => {
  const response = await fetch(`${service.url}/${server}`, {
    method: 'POST',
    headers: JSON_HEADERS,
    body: '{}',
  });
  expect(response.status).toBe(404);
  const { detail } = (await response.json()) as { detail: string };
  expect(detail).toContain('Known servers: asking, counting, odd, peer. ');
});

test('hosts of both eras hear that the list has changed, once they have been told', async () => {
  const heard = { modern: Promise.withResolvers<void>(), legacy: Promise.withResolvers<void>() };
  await using _modern = await openHost('modern', service.url, heard.modern.resolve);
  await using legacy = await openHost('legacy', service.url, heard.legacy.resolve);
  await legacy.call('peer__grow');
  await Promise.all([heard.modern.promise, heard.legacy.promise]);
  expect((await legacy.list()).map(({ name }) => name)).toContain('peer__extra-1');
});

async function signalsOf({ request_id }: Place): Promise<{ type: string; data: object }[]> {
  const { body } = await get<{ signals: { type: string; data: object }[] }>(
    `${service.api}/v1/requests/${request_id}/signals?limit=1000`,
  );
  return body.signals;
}

/** What the client was told to do: `adjutant approve <request> <call>`. */
async function approve(told: string, by?: string): Promise<void> {
  const [, request, call] = /adjutant approve (\S+) (\S+)$/.exec(told) ?? [];
  const response = await fetch(`${service.api}/v1/requests/${request}/approvals/${call}`, {
    method: 'POST',
    headers: JSON_HEADERS,
    body: JSON.stringify({ decision: 'approve', ...(by && { by }) }),
  });
  expect(response.status).toBe(200);
}

test.each(ERAS)('a %s client that hears progress learns who waits for an approval', async (era) => {
  await using host = await openHost(era, service.url);
  const asked = Promise.withResolvers<string>();
  const onprogress = ({ message = '' }: { message?: string }): void => {
    if (message.includes('waits for an approval of peer.add')) asked.resolve(message);
  };
  const answer = host.call('ask_careful', { query: 'What is 2+3?' }, { onprogress });
  await approve(await asked.promise);
  expect(textOf(await answer)).toBe('It is 5.');
});

test('a client whose tool asks a question learns where the question is', async () => {
  await using host = await openHost('modern', service.url);
  const asked = Promise.withResolvers<string>();
  const onprogress = ({ message = '' }: { message?: string }): void => {
    const request = /a person is asked, until [\d:TZ-]+: adjutant get (\S+)$/.exec(message)?.[1];
    if (request !== undefined) asked.resolve(request);
  };
  const answer = host.call('asking__book', {}, { onprogress });
  const path = `/v1/requests/${await asked.promise}`;
  const { body } = await get<{ inputs: { input_id: string }[] }>(`${service.api}${path}/directives/call`);
  const response = await fetch(`${service.api}${path}/inputs/${body.inputs[0]?.input_id}`, {
    method: 'POST',
    headers: JSON_HEADERS,
    body: JSON.stringify({ action: 'accept', content: { seats: 2 } }),
  });
  expect(response.status).toBe(200);
  expect(JSON.parse(textOf(await answer))).toMatchObject({ seats: 2 });
});

describe.each(ERAS)('a %s client that can ask', (era) => {
  test('asks its person what the tool asks, and the tool gets the answer once', async () => {
    const asked: object[] = [];
    await using host = await openHost(era, service.url, undefined, (question) => {
      asked.push(question);
      return { action: 'accept', content: { seats: asked.length === 1 ? 99 : 2 } };
    });
    const answer = await host.call('asking__book', { label: `host-${era}` });
    expect(JSON.parse(textOf(answer))).toEqual({ seats: 2, window: true });
    expect(asked).toMatchObject([
      { message: 'asking.book asks: How many seats for seats?', requestedSchema: { required: ['seats'] } },
      { message: expect.stringMatching(/^The last answer was refused: content.seats.*\n\nasking.book asks/) },
    ]);
    const log = await signalsOf(placeOf(answer));
    expect(log.filter(({ type }) => type === 'ai.tool.input_answered')).toMatchObject([
      { data: { input_id: 'call.1', action: 'accept', cause: 'answer', by: 'MCP host host' } },
    ]);
  });

  test.each(['decline', 'cancel'])('passes on to the tool that its person would not: %s', async (action) => {
    await using host = await openHost(era, service.url, undefined, () => ({ action }));
    expect(textOf(await host.call('asking__book'))).toBe(action);
  });

  test('opens the page of a tool, as itself', async () => {
    await using host = await openHost(era, service.url, undefined, ({ mode, url }) => ({
      action: mode === 'url' && url === 'https://xn--bcher-kva.example/in?a=b' ? 'accept' : 'cancel',
    }));
    expect(textOf(await host.call('asking__visit'))).toBe('visited');
  });

  test('asks the questions of a round, each once', async () => {
    const asked: string[] = [];
    await using host = await openHost(era, service.url, undefined, ({ message }) => {
      asked.push(message);
      return { action: 'accept', content: { seats: asked.length } };
    });
    expect(textOf(await host.call('asking__two'))).toMatch(/"seats":1.*"seats":2/);
    expect(asked.join()).toMatch(/^asking.two asks: .* there\?,asking.two asks: .* back\?$/);
  });

  test('asks its person for the approvals of an agent, and the reason reaches the model', async () => {
    const asked: string[] = [];
    await using host = await openHost(era, service.url, undefined, ({ message }) => {
      asked.push(message);
      return { action: 'accept', content: { decision: 'approve', reason: 'a sum' } };
    });
    const answer = await host.call('ask_careful', { query: 'What is 2+3?' });
    expect(textOf(answer)).toBe('It is 5.');
    expect(asked).toEqual(['The agent wants to call peer.add with {"a":2,"b":3}\n\nApprove this call?']);
    const log = await signalsOf(placeOf(answer));
    expect(log.filter(({ type }) => type === 'ai.tool.approval_decided')).toMatchObject([
      { data: { decision: 'approve', reason: 'a sum', by: 'MCP host host' } },
    ]);
  });

  test('a refused approval is a denial, one that is put aside stays open for others', async () => {
    await using refusing = await openHost(era, service.url, undefined, () => ({ action: 'decline' }));
    const denied = await refusing.call('ask_careful', { query: 'denied' });
    expect(JSON.stringify(await signalsOf(placeOf(denied)))).toContain('"decision":"deny"');
    let times = 0;
    const putAside = Promise.withResolvers<void>();
    await using aside = await openHost(era, service.url, undefined, () => {
      times += 1;
      putAside.resolve();
      return { action: 'cancel' };
    });
    const told = Promise.withResolvers<string>();
    const onprogress = ({ message = '' }: { message?: string }): void => {
      if (message.includes('waits for an approval')) told.resolve(message);
    };
    const answer = aside.call('ask_careful', { query: 'aside' }, { onprogress });
    await putAside.promise;
    await approve(await told.promise);
    expect(textOf(await answer)).toBe('It is 5.');
    expect(times).toBe(1);
  });

  test('who comes second is told who was first', async () => {
    const asked = Promise.withResolvers<void>();
    const reason = Promise.withResolvers<string>();
    const late = Promise.withResolvers<object>();
    await using host = await openHost(era, service.url, undefined, async (_, signal) => {
      signal.addEventListener('abort', () => reason.resolve(String(signal.reason)));
      asked.resolve();
      return late.promise;
    });
    const meta = { 'adjutant/idempotencyKey': `second-${era}` };
    const answer = host.call('ask_careful', { query: 'late' }, { meta });
    await asked.promise;
    // The same call, by a client that cannot ask.
    await using other = await openHost('modern', service.url);
    const told = Promise.withResolvers<string>();
    const onprogress = ({ message = '' }: { message?: string }): void => {
      if (message.includes('waits for an approval')) told.resolve(message);
    };
    const same = other.call('ask_careful', { query: 'late' }, { meta, onprogress });
    await approve(await told.promise, 'Ada');
    expect(textOf(await same)).toBe('It is 5.');
    const first = expect.stringMatching(/was approved at \S+ by Ada$/);
    if (era === 'legacy') expect(await reason.promise).toEqual(first);
    late.resolve({ action: 'accept', content: { decision: 'deny' } });
    const { _meta, ...said } = await answer;
    expect(textOf(said as Answered)).toBe('It is 5.');
    if (era === 'modern') expect(_meta?.['adjutant/notices']).toEqual([first]);
  });
});

test('adjutant mcp asks its host too', async () => {
  const env = { ...(process.env as Record<string, string>), ADJUTANT_URL: service.api };
  const place = { command: process.execPath, args: [PROGRAM, 'mcp'], env };
  const answer = () => ({ action: 'accept', content: { seats: 6 } });
  for (const era of ERAS) {
    await using host = await openHost(era, place, undefined, answer);
    expect(textOf(await host.call('asking__book'))).toContain('"seats":6');
  }
});

const TASK = { extensions: ['io.modelcontextprotocol/tasks'] };
const ABLE = { ...TASK, capabilities: { elicitation: { form: {}, url: {} } } };

/** A task of a call that waits for a person, begun by a client that cannot ask. */
async function askingTask(name: string, args: object = {}) {
  const params = { name, arguments: args };
  const { result } = await askModern(service.url, { method: 'tools/call', name, params, ...TASK });
  const taskId = String(result?.['taskId']);
  const send = async (method: string, more: object, declared: object) =>
    askModern(service.url, { method, name: taskId, params: { taskId, ...more }, ...declared });
  return {
    get: async (declared: object) => (await send('tasks/get', {}, declared)).result,
    update: async (inputResponses: object) => send('tasks/update', { inputResponses }, ABLE),
  };
}

test('a task asks a client that can ask, and takes its answers one by one', async () => {
  const task = await askingTask('asking__two');
  const asked = async () => {
    const { status, inputRequests = {} } = (await task.get(ABLE)) ?? {};
    return [status, ...Object.keys(inputRequests as object)];
  };
  await eventually(asked).toEqual(['input_required', 'input:call.1', 'input:call.2']);
  expect(await task.get(TASK), 'not declared').toMatchObject({ status: 'working' });
  const seats = (count: number) => ({ action: 'accept', content: { seats: count } });
  const { error } = await task.update({ 'input:call.1': seats(99) });
  expect(error?.message).toMatch(/does not fit: input:call.1:/);
  const some = await task.update({ 'input:call.1': seats(1), other: seats(1) });
  expect(some.result).toMatchObject({
    resultType: 'complete',
    _meta: { 'adjutant/notices': [expect.stringContaining('this call does not ask that')] },
  });
  expect(await asked()).toEqual(['input_required', 'input:call.2']);
  const late = JSON.stringify(await task.update({ 'input:call.1': seats(3) }));
  expect(late).toMatch(/was accepted at \S+ by MCP host raw/);
  await task.update({ 'input:call.2': seats(2) });
  await eventually(async () => task.get(ABLE)).toMatchObject({ status: 'completed' });
  expect(JSON.stringify(await task.get(ABLE))).toMatch(/seats\S+1\S+ \S+seats\S+2/);
});

test('a page is opened only where the client opens pages', async () => {
  const task = await askingTask('asking__visit');
  await eventually(async () => task.get(ABLE)).toMatchObject({ status: 'input_required' });
  const formsOnly = { ...TASK, capabilities: { elicitation: {} } };
  expect(await task.get(formsOnly)).toMatchObject({ status: 'working', statusMessage: expect.any(String) });
  await task.update({ 'input:call.1': { action: 'decline' } });
  await eventually(async () => task.get(ABLE)).toMatchObject({ result: { content: [{ text: 'decline' }] } });
});

test('a task asks for the approvals of an agent, and an unclear answer is none', async () => {
  const task = await askingTask('ask_careful', { query: 'What is 2+3?' });
  await eventually(async () => task.get(ABLE)).toMatchObject({ status: 'input_required' });
  const { inputRequests = {} } = (await task.get(ABLE)) as { inputRequests?: object };
  const [key = ''] = Object.keys(inputRequests);
  const { error } = await task.update({ [key]: { action: 'accept', content: {} } });
  expect(error?.message).toContain('decision is approve or deny');
  await task.update({ [key]: { action: 'accept', content: { decision: 'approve' } } });
  await eventually(async () => task.get(ABLE)).toMatchObject({ status: 'completed' });
});

test('a task says which approval it waits for', async () => {
  const extensions = ['io.modelcontextprotocol/tasks'];
  const params = { name: 'ask_careful', arguments: { query: 'What is 2+3?' } };
  const { result } = await askModern(service.url, {
    method: 'tools/call',
    name: 'ask_careful',
    params,
    extensions,
  });
  const taskId = String(result?.['taskId']);
  const task = async () =>
    (await askModern(service.url, { method: 'tasks/get', name: taskId, params: { taskId }, extensions }))
      .result;
  await eventually(task).toMatchObject({ statusMessage: expect.stringContaining('adjutant approve') });
  await approve(String((await task())?.['statusMessage']));
  await eventually(task).toMatchObject({ status: 'completed', result: { content: [{ text: 'It is 5.' }] } });
  expect(await task()).not.toHaveProperty('statusMessage');
});

test('an explicit cancel ends the call at its tool', async () => {
  await using host = await openHost('legacy', service.url);
  const abort = new AbortController();
  const call = host.call('peer__wait', {}, { signal: abort.signal });
  const refused = expect(call).rejects.toThrow();
  await eventually(() => service.peerLog()).toContain('waiting');
  abort.abort('enough');
  await refused;
  await eventually(() => service.peerLog()).toContain('cancelled');
});

test('a lost connection is known to the other APIs, for a grace', async () => {
  const gone = new AbortController();
  const params = { name: 'peer__wait', arguments: {}, _meta: { 'adjutant/idempotencyKey': 'lost' } };
  const before = service.peerLog().split('waiting').length;
  const others = await service.waits();
  const call = askModern(service.url, {
    method: 'tools/call',
    name: 'peer__wait',
    params,
    signal: gone.signal,
  });
  await eventually(() => service.peerLog().split('waiting').length).toBe(before + 1);
  gone.abort();
  await expect(call).rejects.toThrow();
  const lost = async () => [...(await service.waits())].filter(([key]) => !others.has(key));
  await eventually(lost).toHaveLength(1);
  const [[, forMs] = []] = await lost();
  expect(forMs).toBeLessThanOrEqual(30_000);
  expect(forMs).toBeGreaterThan(0);
});

test('a body that is too large is refused as everywhere, and a foreign origin too', async () => {
  const large = await fetch(service.url, {
    method: 'POST',
    headers: JSON_HEADERS,
    body: `"${'x'.repeat(5_000_000)}"`,
  });
  expect(large.status).toBe(413);
  const foreign = { ...JSON_HEADERS, origin: 'https://example.com' };
  expect((await fetch(service.url, { method: 'POST', headers: foreign, body: '{}' })).status).toBe(403);
});

test('a body that is nested too deep, or holds too many messages, is refused before it costs anything', async () => {
  const post = async (body: string) => fetch(service.url, { method: 'POST', headers: JSON_HEADERS, body });
  const deep = await post(`${'['.repeat(100_000)}${']'.repeat(100_000)}`);
  expect([deep.status, await deep.json()]).toEqual([400, expect.objectContaining({ code: 'invalid_body' })]);
  const list = { jsonrpc: '2.0', method: 'tools/list' };
  const many = await post(JSON.stringify(Array.from({ length: 17 }, (_, id) => ({ ...list, id }))));
  expect([many.status, await many.json()]).toMatchObject([400, { error: { code: -32_600 } }]);
});

test('a header that repeats an argument is compared for clients of the older protocol too', async () => {
  const post = async (body: unknown, headers: Record<string, string>): Promise<Response> =>
    fetch(service.url, {
      method: 'POST',
      headers: { ...JSON_HEADERS, ...headers },
      body: JSON.stringify(body),
    });
  const clientInfo = { name: 'older', version: '1' };
  const begin = { protocolVersion: '2025-03-26', capabilities: {}, clientInfo };
  const begun = await post({ jsonrpc: '2.0', id: 0, method: 'initialize', params: begin }, {});
  await begun.text();
  const session = { 'mcp-session-id': begun.headers.get('mcp-session-id') ?? '' };
  const call = (id: number, region: string) => {
    const params = { name: 'odd__mirrored', arguments: { region } };
    return { jsonrpc: '2.0', id, method: 'tools/call', params };
  };
  const eu = { ...session, 'mcp-param-region': 'eu' };
  for (const body of [call(1, 'us'), [call(2, 'eu'), call(3, 'us')]]) {
    const refused = await post(body, eu);
    expect([refused.status, await refused.json()]).toMatchObject([400, { error: { code: -32_020 } }]);
  }
  for (const headers of [eu, session]) {
    const taken = await post(call(4, 'eu'), headers);
    expect([taken.status, await taken.text()]).toEqual([200, expect.stringContaining('"mirrored"')]);
  }
});

test.each([
  ['a progress token', { _meta: { progressToken: 'x'.repeat(256) } }, 'at most 255 characters'],
  ['a state', { requestState: 'x'.repeat(1_000_000) }, 'Invalid or expired requestState'],
])('%s that is too large is refused, and nothing is called', async (what, more, words) => {
  const label = `large ${what}`;
  const params = { name: 'counting__once', arguments: { label }, ...more };
  const { error } = await askModern(service.url, { method: 'tools/call', name: 'counting__once', params });
  expect([error?.code, error?.message]).toEqual([-32_602, expect.stringContaining(words)]);
  expect(service.executions(label)).toBe(0);
});
