/** Runs of a client with a codec, on processes that are killed in the middle of them: who has the key reads everything, and nobody else anything.
 *  It must search everything that Redis was ever told, not what is expected to be there. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAesCodec, createHttpClient } from '../../src/client/http-client.ts';
import type { DirectiveClient } from '../../src/contract/directive/directive-client.ts';
import type { Signal } from '../../src/contract/signal/signal.ts';
import { encryptRun } from '../../src/platform/encryption/encrypted-run.ts';
import { runCommand } from '../support/command.ts';
import { archivedIn, clearTextIn } from '../support/clear-text.ts';
import { eventually } from '../support/eventually.ts';
import { ownServerEntry } from '../support/mcp-servers.ts';
import { startOtlpReceiver, type OtlpReceiver } from '../support/otlp-receiver.ts';
import { type PlannedModel, planOf, startPlannedModel } from '../support/planned-model.ts';
import { type Child, spawnNode } from '../support/process.ts';
import { PROGRAM } from '../support/program.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

const CANARY = 'canary-7b1d';
const K1 = `k1=${Buffer.alloc(32, 1).toString('base64')}`;
const K2 = `k2=${Buffer.alloc(32, 2).toString('base64')}`;
const K9 = `k9=${Buffer.alloc(32, 9).toString('base64')}`;
const STRATEGY = fileURLToPath(new URL('../support/modules/patient-strategy.ts', import.meta.url));

let redis: TestRedis;
let collector: OtlpReceiver;
let model: PlannedModel;
let folder: string;
let file: string;
let baseUrl: string;
const children: Child[] = [];
let client: DirectiveClient;
let plain: DirectiveClient;

async function start(role: 'api' | 'engine' | 'worker'): Promise<Child> {
  const args = [PROGRAM, role, '--config', file, ...(role === 'api' ? ['--port', '0'] : [])];
  const env = {
    REDIS_URL: redis.url,
    ADJUTANT_LOG_LEVEL: 'trace',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    PLANNED_KEY: 'x',
    ...(role === 'api' ? {} : { ADJUTANT_ENCRYPTION_KEYS: `${K2},${K1}` }),
  };
  const child = spawnNode(args, { env });
  children.push(child);
  const line = await child.waitForLine(/^adjutant (works|listens on)/);
  if (role === 'api') baseUrl = /http\S+/.exec(line)?.[0] ?? '';
  return child;
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'adjutant-encrypted-runs-'));
  redis = await startRedis({ appendonly: true, args: ['--aof-use-rdb-preamble', 'no'] });
  [collector, model] = [await startOtlpReceiver(), await startPlannedModel()];
  const config = {
    mcpServers: {
      peer: { ...ownServerEntry('legacy-peer.ts'), context: 'all', effects: { beat: 'idempotent' } },
    },
    providers: { plan: { type: 'openai-compatible', base_url: model.url, api_key_env: 'PLANNED_KEY' } },
    agents: {
      helper: {
        model: 'plan:m',
        stream: false,
        tools: ['peer.*'],
        policies: { approvals: { 'peer.say': 'ask' }, overrides: 'any' },
      },
      patient: { strategy: 'patient', tools: ['peer.*'] },
    },
    strategies: [STRATEGY],
    encryption: {},
    archive: { folder: '.' },
    telemetry: { content_bytes: 10_000 },
    worker: { lease_ms: 2_000 },
  };
  file = join(folder, 'adjutant.json');
  writeFileSync(file, JSON.stringify(config));
  await start('api');
  client = createHttpClient({ baseUrl, codec: createAesCodec(K1) });
  plain = createHttpClient({ baseUrl });
});

afterAll(async () => {
  await Promise.all(children.map((child) => child.kill9()));
  await model?.[Symbol.asyncDispose]();
  await collector?.[Symbol.asyncDispose]();
  await redis?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function until(type: Signal['type'], requestId: string, from = client): Promise<Signal> {
  for await (const signal of from.signals(requestId)) if (signal.type === type) return signal;
  const ends = (await from.page(requestId)).signals.slice(-1);
  throw new Error(`no ${type}, but ${JSON.stringify(ends)}`);
}

const PLAN = planOf(
  CANARY,
  [
    ['peer.echo', { text: CANARY }],
    ['peer.fail', { text: CANARY }],
    [`peer.${CANARY}`, {}],
  ],
  [['peer.beat', { beats: 10, everyMs: 100 }]],
  [['peer.say', { texts: [`${CANARY} asked`] }]],
);

test('a run with tools, a failure and an approval goes on though its engine and worker are killed', async () => {
  const [engine, worker] = await Promise.all([start('engine'), start('worker')]);
  const overrides = { system_prompt: `You know ${CANARY}`, tool_context: { secret: CANARY } };
  const run = { agent: 'helper', query: PLAN, request_id: 'run', conversation_id: 'talk', overrides };
  expect(await client.runs.start(run)).toMatchObject({ request_id: 'run', status: 'pending' });
  expect(await client.runs.start(run)).toMatchObject({ request_id: 'run' });
  await expect(client.runs.start({ ...run, query: 'other' })).rejects.toMatchObject({
    problem: { code: 'id_conflict' },
  });
  await until('ai.tool.progress', 'run');
  await Promise.all([engine.kill9(), worker.kill9()]);
  await Promise.all([start('engine'), start('worker')]);

  const asked = await until('ai.tool.approval_requested', 'run');
  expect(asked.data).toMatchObject({ tool_name: 'peer.say', arguments: { texts: [`${CANARY} asked`] } });
  const { call_id } = asked.data as { call_id: string };
  const [mine] = (await listed(client)).approvals;
  const [theirs] = (await listed(plain)).approvals;
  expect(mine).toMatchObject({ call_id, arguments: expect.stringContaining(CANARY) as string });
  expect(theirs).toMatchObject({ call_id, arguments: expect.stringContaining('"key_id":"k1"') as string });
  await expect(plain.runs.input('run', { content: 'in clear' })).rejects.toThrow(/must be encrypted/);
  await expect(
    plain.runs.decide('run', call_id, { decision: 'approve', arguments: { texts: [] } }),
  ).rejects.toThrow(/must be encrypted/);
  for (const each of [() => plain.again('run'), () => plain.fork('run', { at: 1, say: 'in clear' })])
    await expect(each()).rejects.toMatchObject({ problem: { code: 'encryption_required' } });
  await expect(client.fork('run', { at: 1, say: CANARY })).rejects.toThrow(/cannot be encrypted/);
  await client.runs.input('run', { content: `${CANARY} input`, input_id: 'i' });
  await client.runs.input('run', { content: `${CANARY} input`, input_id: 'i' });
  const edited = { decision: 'approve', arguments: { texts: [`${CANARY} edited`] }, reason: CANARY } as const;
  await client.runs.decide('run', call_id, edited);

  const end = await until('ai.request.completed', 'run');
  expect(end.data).toMatchObject({ result: `did ${CANARY}`, termination_reason: 'final_answer' });
  const view = (await client.request('run'))?.run;
  expect(view).toMatchObject({ query: PLAN, result: `did ${CANARY}`, status: 'completed' });
  const said = JSON.stringify(view?.messages);
  for (const each of [
    `{\\\\\\"text\\\\\\":\\\\\\"${CANARY}\\\\\\"}`,
    `${CANARY} edited`,
    `${CANARY} input`,
    'Unknown tool',
  ])
    expect(said).toContain(each);
  const last = model.given(PLAN).at(-1);
  expect(last?.messages[0]).toMatchObject({ role: 'system', content: `You know ${CANARY}` });
});

const listed = async (from: DirectiveClient) => {
  await eventually(async () => (await from.approvals()).approvals.length).toBe(1);
  return from.approvals();
};

test('others see how it went, and no word of it', async () => {
  const view = await plain.request('run');
  expect(view?.run).toMatchObject({
    status: 'completed',
    query: 'encrypted with the key "k1"',
    iterations: 4,
    result: { $encrypted: { key_id: 'k1' } },
    termination_reason: 'final_answer',
  });
  const signals: Signal[] = [];
  for await (const signal of plain.signals('run')) signals.push(signal);
  expect(signals.map(({ type }) => type)).toContain('ai.tool.approval_decided');
  expect(JSON.stringify([view, signals])).not.toContain(CANARY);
});

test('the next run of the conversation knows what was said, and one in clear cannot go on with it', async () => {
  const talk = { agent: 'helper', conversation_id: 'talk', overrides: { busy: 'queue' } } as const;
  const next = { ...talk, query: `${CANARY} next`, request_id: 'next' };
  const newer = createHttpClient({ baseUrl, codec: createAesCodec(`${K2},${K1}`) });
  await newer.runs.start(next);
  await until('ai.request.completed', 'next', newer);
  await newer.close();
  const { messages } = model.given(PLAN).at(-1) ?? { messages: [] };
  expect(JSON.stringify(messages.at(-1))).toContain(`${CANARY} next`);
  expect(messages.length).toBeGreaterThan(8);
  await plain.runs.start({ ...talk, query: 'hello', request_id: 'clear' });
  expect((await until('ai.request.failed', 'clear', plain)).data).toMatchObject({
    error: { type: 'decryption_key_missing', message: expect.stringContaining('"talk"') as string },
  });
});

test('the command line encrypts what it asks, and prints the answer', async () => {
  const asked = ['ask', `${CANARY} cli`, '--agent', 'helper', '--request', 'cli', '--encrypt'];
  const refused = await runCommand(asked, baseUrl);
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('needs a key') as string });
  const { stdout } = await runCommand(asked, baseUrl, { ADJUTANT_ENCRYPTION_KEYS: K1 });
  expect(stdout).toBe(`did ${CANARY} cli\n`);
});

test('what a strategy throws is read with the key only', async () => {
  await client.runs.start({ agent: 'patient', query: CANARY, request_id: 'broken' });
  const { data } = await until('ai.request.failed', 'broken');
  expect(data).toMatchObject({ error: { message: expect.stringContaining(CANARY) as string } });
  expect((await until('ai.request.failed', 'broken', plain)).data).toMatchObject({
    error: { message: 'encrypted with the key "k1"' },
  });
});

test('a run in a key that no engine has ends at once, with what is to be done', async () => {
  const unknown = createHttpClient({ baseUrl, codec: createAesCodec(K9) });
  await unknown.runs.start({ agent: 'helper', query: CANARY, request_id: 'unknown' });
  const { data } = await until('ai.request.failed', 'unknown', unknown);
  expect(data).toMatchObject({
    error: { type: 'decryption_key_missing', details: { key_id: 'k9', setting: 'encryption.keys_env' } },
  });
  await unknown.close();
});

test('what was encrypted for one run starts no other, and nothing beside it is in clear', async () => {
  const other = { agent: 'helper', request_id: 'other', query: CANARY };
  const { encrypted } = await encryptRun(createAesCodec(K1), other);
  const copied = { agent: 'helper', request_id: 'copied', encrypted };
  await plain.runs.start(copied);
  expect((await until('ai.request.failed', 'copied', plain)).data).toMatchObject({
    error: { type: 'decryption_failed', details: { key_id: 'k1' } },
  });
  for (const more of [
    { query: 'x' },
    { overrides: { system_prompt: 'x' } },
    { dedupe: { key: 'k', window_ms: 1 } },
  ])
    await expect(plain.runs.start({ ...copied, ...more })).rejects.toMatchObject({
      problem: { code: 'invalid_body' },
    });
  await expect(
    client.runs.start({ agent: 'helper', query: 'x', singleton: { key: 'k' } }),
  ).rejects.toMatchObject({ problem: { errors: [{ path: 'singleton' }] } });
});

test('nothing that was encrypted is in Redis, the archive, the log, the traces or a listing', async () => {
  const all = ['run', 'next', 'cli', 'broken', 'unknown', 'copied', 'clear'];
  await eventually(() => archivedIn(folder).length).toBeGreaterThanOrEqual(all.length);
  const listings = [await plain.requests(), await plain.deadLetters(), await plain.trace('run')];
  for (const request of all) listings.push((await plain.request(request)) as never);
  await Promise.all(children.map((child) => child.stop()));
  const log = children.flatMap(({ lines }) => lines);
  const places = { redisDir: redis.dir, archive: folder, log, spans: collector.spans(), listings };
  expect(clearTextIn(CANARY, places)).toEqual([]);
});
