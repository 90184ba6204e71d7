/** Clients with a codec, a real service with its keys: what passes between them nobody else can read.
 *  It must search everything that Redis was ever told, not what is expected to be there. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAesCodec, createHttpClient } from '../../src/client/http-client.ts';
import type { DirectiveClient } from '../../src/contract/directive/directive-client.ts';
import type { SubmittedDirective } from '../../src/contract/directive/directive.ts';
import { createDirectClient } from '../../src/service/direct-client.ts';
import { archivedIn, clearTextIn } from '../support/clear-text.ts';
import { eventually } from '../support/eventually.ts';
import { ownServerEntry } from '../support/mcp-servers.ts';
import { startOtlpReceiver, type OtlpReceiver } from '../support/otlp-receiver.ts';
import { type Child, spawnNode } from '../support/process.ts';
import { PROGRAM } from '../support/program.ts';
import { type ProviderServer, sse, startProvider, streamed } from '../support/provider-server.ts';
import { startRedis, type TestRedis } from '../support/redis.ts';

const CANARY = 'canary-4e8a';
const STREAM = sse([
  { choices: [{ index: 0, delta: { content: `answer ${CANARY}` } }] },
  { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  '[DONE]',
]);
const K1 = `k1=${Buffer.alloc(32, 1).toString('base64')}`;
const K2 = `k2=${Buffer.alloc(32, 2).toString('base64')}`;
const K9 = `k9=${Buffer.alloc(32, 9).toString('base64')}`;

let redis: TestRedis;
let collector: OtlpReceiver;
let provider: ProviderServer;
let service: Child;
let folder: string;
let baseUrl: string;
/** With both keys. */
let client: DirectiveClient;
/** With the older key. */
let earlier: DirectiveClient;
let plain: DirectiveClient;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'adjutant-encrypted-'));
  redis = await startRedis({ appendonly: true, args: ['--aof-use-rdb-preamble', 'no'] });
  collector = await startOtlpReceiver();
  provider = await startProvider(streamed(STREAM));
  const script = join(folder, 'script.json');
  writeFileSync(script, JSON.stringify({ pace: 1_000, turns: [{ text: `answer ${CANARY} of a model` }] }));
  const config = {
    mcpServers: { peer: { ...ownServerEntry('legacy-peer.ts'), context: 'all' } },
    providers: {
      play: { type: 'scripted', file: script },
      mock: { type: 'openai-compatible', base_url: `${provider.url}/v1` },
    },
    encryption: { keys_env: 'MY_KEYS' },
    archive: { folder: '.' },
    telemetry: { content_bytes: 10_000 },
    limits: { result_bytes: 4_096 },
  };
  const file = join(folder, 'adjutant.json');
  writeFileSync(file, JSON.stringify(config));
  const env = {
    REDIS_URL: redis.url,
    MY_KEYS: `${K2},${K1}`,
    ADJUTANT_LOG_LEVEL: 'trace',
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  };
  service = spawnNode([PROGRAM, 'up', '--config', file, '--port', '0'], { env });
  baseUrl = /http\S+/.exec(await service.waitForLine(/^adjutant listens on/))?.[0] ?? '';
  client = createHttpClient({ baseUrl, codec: createAesCodec(`${K2},${K1}`) });
  earlier = createHttpClient({ baseUrl, codec: createAesCodec(K1) });
  plain = createHttpClient({ baseUrl });
});

afterAll(async () => {
  await service?.kill9();
  await collector?.[Symbol.asyncDispose]();
  await provider?.[Symbol.asyncDispose]();
  await redis?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const echo = (text: string, more: object = {}): SubmittedDirective => ({
  type: 'tool_exec',
  tool_name: 'peer.echo',
  arguments: { text },
  ...more,
});

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

describe('a client with a codec', () => {
  test('calls a tool, and reads its answer as without one', async () => {
    const end = await client.execute(echo(CANARY, { request_id: 'tool', id: 'd' }));
    expect(end.data).toMatchObject({ result: { ok: true, payload: `{"text":"${CANARY}"}` } });
    expect(end.data).toMatchObject({ content: expect.stringContaining(CANARY) as string });
    expect((await client.directive('tool', 'd'))?.directive).toMatchObject({ arguments: { text: CANARY } });
  });

  test('others see with which key, and nothing else', async () => {
    const signals = await all(plain.signals('tool'));
    expect(signals.map(({ type }) => type)).toEqual(['ai.tool.started', 'ai.tool.result']);
    expect(signals[0]?.data).toMatchObject({ arguments: { $encrypted: { key_id: 'k2' } } });
    expect(signals[1]?.data).toMatchObject({ content: 'encrypted with the key "k2"' });
    expect(JSON.stringify([signals, await plain.directive('tool', 'd')])).not.toContain(CANARY);
  });

  test('the same content again is the same directive, other content conflicts', async () => {
    const again = await client.submit(echo(CANARY, { request_id: 'tool', id: 'd' }));
    expect(again.directives[0]).toMatchObject({ status: 'existing' });
    const other = client.submit(echo('other', { request_id: 'tool', id: 'd' }));
    await expect(other).rejects.toMatchObject({ problem: { code: 'id_conflict' } });
    const keyed = async () => (await client.submit(echo(CANARY), { idempotencyKey: 'once' })).directives[0];
    const [first, second] = [await keyed(), await keyed()];
    expect([first?.status, second]).toEqual(['accepted', { ...first, status: 'existing' }]);
  });

  test('asks a model: context, system prompt, deltas and answer', async () => {
    const context = [{ role: 'user' as const, content: `question ${CANARY}` }];
    const ask = { type: 'llm_stream', model: 'play:m', context, system_prompt: CANARY } as const;
    const end = await client.execute({ ...ask, request_id: 'model', id: 'd' });
    expect(end.data).toMatchObject({
      result: { ok: true, payload: { text: `answer ${CANARY} of a model`, finish_reason: 'stop' } },
      usage: { total_tokens: expect.any(Number) as number },
    });
    const deltas = (await all(client.signals('model'))).filter(({ type }) => type === 'ai.llm.delta');
    const text = deltas.map(({ data }) => String((data as { delta: unknown }).delta)).join('');
    expect(text).toBe(`answer ${CANARY} of a model`);
    const seen = await plain.result('model', 'd');
    expect(seen?.data).toMatchObject({ usage: { total_tokens: expect.any(Number) as number } });
  });

  test('sends a request of a model as it is, and reads the bytes of its answer', async () => {
    const body = JSON.stringify({ model: 'm', stream: true, messages: [{ role: 'user', content: CANARY }] });
    const request = { type: 'llm_request', wire: 'openai_chat', model: 'mock:m', body } as const;
    const end = await client.execute({ ...request, request_id: 'raw', id: 'd' });
    expect(provider.seen[0]?.text).toBe(body);
    expect(end.data).toMatchObject({ result: { ok: true, payload: { text: `answer ${CANARY}` } } });
    const raw = (await all(client.signals('raw'))).filter(({ type }) => type === 'ai.llm.raw');
    const { payload } = (end.data as { result: { payload: { raw: { body: string } } } }).result;
    expect(raw.map(({ data }) => (data as { text: string }).text).join('') + payload.raw.body).toBe(STREAM);
  });

  test('reads what failed and what was said on the way; its retries go on', async () => {
    const call = { type: 'tool_exec', tool_name: 'peer.fail', arguments: { text: CANARY } } as const;
    const end = await client.execute({ ...call, request_id: 'failed', id: 'd' });
    expect(end.data).toMatchObject({
      result: { ok: false, error: { message: expect.stringContaining(CANARY) as string } },
    });
    const beat = { type: 'tool_exec', tool_name: 'peer.beat', arguments: { beats: 2, everyMs: 1 } } as const;
    const { subject } = await client.execute(beat);
    const said = (await all(client.signals(subject))).find(({ type }) => type === 'ai.tool.progress');
    expect(said?.data).toMatchObject({ message: expect.stringMatching(/^step \d$/) as string });
    expect(JSON.stringify(await plain.page(subject))).not.toContain('"step ');
  });

  // contract.md §1: `context.state` is the runtime's snapshot, also in a context that only the worker can read.
  test('a tool gets no state of a caller, whose end says that it was removed', async () => {
    const context = { tenant: 't1', state: { control: { todos: [{ content: 'forged' }] } } };
    const meta = { type: 'tool_exec', tool_name: 'peer.meta', context } as const;
    const end = await client.execute({ ...meta, request_id: 'state', id: 'd' });
    expect(JSON.stringify(end.data)).toContain('t1');
    expect(JSON.stringify(end.data)).not.toContain('forged');
    expect(end.data).toMatchObject({ metadata: { ignored: ['context.state'] } });
  });

  test('reads a large answer whole', async () => {
    const text = CANARY.repeat(1_000);
    const { subject, data } = await client.execute(echo(text));
    const id = (data as { call_id: string }).call_id;
    expect(await client.payload(subject, id)).toBe(JSON.stringify({ text }));
  });

  test('sends nothing that cannot be encrypted', async () => {
    await expect(client.schedules.create({ id: 's' } as never)).rejects.toThrow(/cannot be encrypted/);
    const emit = { type: 'emit_request_error', reason: 'x', message: CANARY } as const;
    await expect(client.submit(emit as never)).rejects.toMatchObject({ problem: { code: 'invalid_body' } });
  });

  test('talks to Redis itself likewise', async () => {
    const direct = await createDirectClient({
      redisUrl: redis.url,
      codec: createAesCodec(K2),
      knownServers: ['peer'],
    });
    const end = await direct.execute(echo(CANARY));
    expect(end.data).toMatchObject({ result: { payload: `{"text":"${CANARY}"}` } });
    await direct.close();
  });
});

describe('a key', () => {
  test('that no longer encrypts still decrypts, and answers come in the key of their question', async () => {
    const end = await earlier.execute(echo(CANARY, { request_id: 'older', id: 'd' }));
    expect(end.data).toMatchObject({ result: { payload: `{"text":"${CANARY}"}` } });
    expect((await plain.result('older', 'd'))?.data).toMatchObject({
      content: expect.stringContaining('"k1"') as string,
    });
    expect((await client.result('older', 'd'))?.data).toMatchObject({
      result: { payload: `{"text":"${CANARY}"}` },
    });
  });

  test('that no worker has is named, with the setting', async () => {
    const unknown = createHttpClient({ baseUrl, codec: createAesCodec(K9) });
    const end = await unknown.execute(echo(CANARY, { max_retries: 3 }));
    const error = {
      type: 'decryption_key_missing',
      retryable: false,
      message: expect.stringContaining('"k9"') as string,
    };
    expect(end.data).toMatchObject({ result: { error } });
    expect(JSON.stringify(end)).toContain('encryption.keys_env');
    await unknown.close();
  });
});

describe('ciphertext', () => {
  const of = async (request: string): Promise<{ arguments: Record<string, unknown> }> =>
    (await plain.directive(request, 'd'))?.directive as never;

  test('of another directive is not read, nor repeated by who says that it is its redrive', async () => {
    const copied = { ...echo(''), ...(await of('tool')), metadata: {}, request_id: 'copies', id: 'd' };
    const end = await plain.execute(copied as SubmittedDirective);
    expect(end.data).toMatchObject({
      result: { error: { type: 'decryption_failed', details: { key_id: 'k2' } } },
    });
    const metadata = { redrive_of: { request_id: 'tool', id: 'd' } };
    const redrive = { ...copied, request_id: 'tool', id: 'x', metadata };
    expect((await plain.execute(redrive as SubmittedDirective)).data).toMatchObject({
      result: { error: { type: 'decryption_failed' } },
    });
  });

  test('that was changed is not read', async () => {
    const { arguments: form } = await of('tool');
    const encrypted = form['$encrypted'] as { data: string };
    const changed = {
      ...encrypted,
      data: encrypted.data.replace(/.$/, (last) => (last === 'A' ? 'E' : 'A')),
    };
    const call = { ...echo(''), request_id: 'tool', id: 'e', arguments: { $encrypted: changed } };
    expect((await plain.execute(call as SubmittedDirective)).data).toMatchObject({
      result: { error: { type: 'decryption_failed' } },
    });
  });

  test.each([
    [{ $encrypted: 1 }],
    [{ $encrypted: { codec: 'a', key_id: 'b', data: 'cc' } }],
    [{ $encrypted: { codec: 'a', key_id: 'b', data: 'c$', digest: 'd'.repeat(22) } }],
    [{ $encrypted: { codec: 'a', key_id: 'b', data: 'cc', digest: 'd'.repeat(22) }, more: 1 }],
  ])('of another form is refused at once: %j', async (form) => {
    const named = { ...echo(''), request_id: 'forms', id: 'f', arguments: form };
    await expect(plain.submit(named)).rejects.toMatchObject({ problem: { code: 'invalid_body' } });
  });

  test.each([
    { dedupe: { key: 'k', window_ms: 1_000 } },
    { debounce: { key: 'k', quiet_ms: 1_000 } },
    { singleton: { key: 'k' } },
  ])('under a key is refused before it is sent, and by the service: %j', async (once) => {
    const [field] = Object.keys(once);
    const why = { errors: [{ path: field, message: expect.stringContaining('bound to its ids') as string }] };
    const call = { type: 'tool_exec', tool_name: 'peer.echo', arguments: { text: 'x' }, ...once };
    await expect(client.submit(call as SubmittedDirective)).rejects.toMatchObject({ problem: why });
    const { arguments: form } = await of('tool');
    const sent = plain.submit({ ...call, arguments: form } as SubmittedDirective);
    await expect(sent).rejects.toMatchObject({ problem: why });
  });

  test('without the ids that it was made for is refused at once', async () => {
    const { arguments: form } = await of('tool');
    const unnamed = plain.submit({ ...echo(''), arguments: form } as SubmittedDirective);
    await expect(unnamed).rejects.toMatchObject({
      problem: { errors: [{ path: 'request_id' }, { path: 'id' }] },
    });
  });

  test('is redriven', async () => {
    const dead = async () => (await plain.deadLetters()).dead_letters.map(({ request_id }) => request_id);
    await eventually(dead).toContain('failed');
    const { redriven } = await plain.redrive({ directives: [{ request_id: 'failed', id: 'd' }] });
    const id = redriven[0]?.to.id ?? '';
    expect((await client.result('failed', id))?.data).toMatchObject({
      result: { error: { type: 'tool_error', message: expect.stringContaining(CANARY) as string } },
    });
    expect((await client.directive('failed', id))?.directive).toMatchObject({ arguments: { text: CANARY } });
    const again = async () => (await plain.redrive({ directives: [{ request_id: 'failed', id }] })).redriven;
    const second: string[] = [];
    await eventually(async () => second.push(...(await again()).map(({ to }) => to.id))).toBe(1);
    expect((await client.result('failed', second[0] ?? ''))?.data).toMatchObject({
      result: { error: { type: 'tool_error', message: expect.stringContaining(CANARY) as string } },
    });
  });
});

test('nothing that was encrypted is in Redis, the archive, the log, the traces or a listing', async () => {
  const wanted = 5;
  await eventually(() => archivedIn(folder).length).toBeGreaterThanOrEqual(wanted);
  const listings = [
    await plain.requests(),
    await plain.deadLetters(),
    await plain.trace('tool'),
    await plain.tools(),
  ];
  await service.stop();
  const { lines: log } = service;
  const places = { redisDir: redis.dir, archive: folder, log, spans: collector.spans(), listings };
  expect(clearTextIn(CANARY, places)).toEqual([]);
});
