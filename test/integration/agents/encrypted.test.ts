/** Encrypted runs at their edges: an engine without the key, children that are asked nothing, what modules make.
 *  It must never look at anything but what Redis and the clients see. */
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { encodedIn, type PayloadCodec } from '../../../src/contract/encrypted/encrypted.ts';
import { askPlace, startPlace } from '../../../src/contract/encrypted/encrypted-run.ts';
import { okResult } from '../../../src/contract/result.ts';
import { decryptSignal } from '../../../src/platform/encryption/decrypted-signal.ts';
import { createAesCodec } from '../../../src/platform/encryption/aes-codec.ts';
import { encryptInput, encryptRun, openRunView } from '../../../src/platform/encryption/encrypted-run.ts';
import type { RunView } from '../../../src/contract/run/run.ts';
import type { Signal } from '../../../src/contract/signal/signal.ts';
import { decryptValue } from '../../../src/platform/encryption/payload-value.ts';
import { NO_KEYS } from '../../../src/platform/encryption/payload-keys.ts';
import { createCore } from '../../../src/agents/core/core.ts';
import { defineDirective } from '../../../src/agents/core/directive-exec.ts';
import { callTool, defineStrategy } from '../../../src/agents/strategies/strategy.ts';
import { type EngineTest, openEngineTest } from '../../support/engine.ts';
import { eventually } from '../../support/eventually.ts';
import { TEST_KEYS } from '../../support/pipeline.ts';
import { script, scriptedAgent } from '../../support/scripted-strategy.ts';
import { useRedis } from '../../support/shared.ts';

const redis = useRedis();
const codec = TEST_KEYS.codec as PayloadCodec;
const SECRET = 'canary-7b1d';

/** A module whose type has a name like those of the service, and whose strategy names a tool that nobody has. */
const audit = defineDirective({
  type: 'emit_audit',
  mode: 'queued',
  schema: z.strictObject({ what: z.string() }),
  execute: async () => ({ result: okResult(null) }),
});

const careless = defineStrategy({
  name: 'careless',
  init: () => null,
  reduce(state, signal, { spec }) {
    if (signal.type !== 'ai.request.started')
      return { state, outcome: { status: 'completed', result: spec.query } };
    if (spec.query === 'audit') return { state, directives: [{ type: 'emit_audit', id: 'a', what: SECRET }] };
    if (spec.query === 'tool')
      return {
        state,
        directives: [{ type: 'emit_tool_error', id: 't', tool_name: `budget.${SECRET}`, error: {} }],
      };
    if (spec.query === 'ask') return { state, directives: [callTool('w', 'ask', { password: SECRET })] };
    if (spec.query === 'child')
      return { state, directives: [{ type: 'spawn_agent', agent: 'careless', tag: 'one', input: '' }] };
    return { state, outcome: { status: 'completed', result: spec.query } };
  },
});

async function startSealed(
  { client }: EngineTest,
  run: { request_id: string; agent: string; query: string },
) {
  await client.start(await encryptRun(codec, run));
}

async function endOf(engines: EngineTest, id: string): Promise<object> {
  const last = (await engines.ended(id)).at(-1);
  return last === undefined ? {} : (await decryptSignal(codec, last)).data;
}

describe('an engine without the key', () => {
  test('ends the run, and its conversation goes on', async () => {
    await using engines = await openEngineTest(redis.url);
    const keyed = await engines.startEngine();
    const run = {
      request_id: 'lost',
      agent: 'scripted',
      query: script({ inputs: 1 }),
      conversation_id: 'talk',
    };
    await startSealed(engines, run);
    await eventually(async () => (await engines.runs.head('lost'))?.version).toBe(1);
    await keyed.stop();
    await engines.startEngine({ payloadKeys: NO_KEYS });
    await engines.wake('lost', 1);
    expect(await endOf(engines, 'lost')).toMatchObject({ error: { type: 'decryption_key_missing' } });
    await eventually(async () => (await engines.runs.head('lost'))?.outbox).toBe(0);
    await engines.client.start({ ...run, request_id: 'next', query: script() });
    expect(await endOf(engines, 'next')).toMatchObject({ termination_reason: 'final_answer' });
  });
});

describe('a module of an encrypted run', () => {
  const open = async () => {
    const core = createCore({ strategies: [careless], directives: [audit] });
    const engines = await openEngineTest(redis.url, {
      core,
      agents: [scriptedAgent({ name: 'careless', strategy: 'careless' })],
    });
    await engines.startEngine();
    return engines;
  };
  const written = async ({ connection, keys }: EngineTest, id: string) => {
    const [state, bodies, log] = keys.request(id);
    const texts = [
      await connection.hgetall(state),
      await connection.hgetall(bodies),
      await connection.lrange(log, 0, -1),
    ];
    return JSON.stringify(texts);
  };

  test('sends nothing in clear, whatever its types and tools are called', async () => {
    await using engines = await open();
    for (const query of ['audit', 'tool'])
      await startSealed(engines, { request_id: query, agent: 'careless', query });
    expect(await endOf(engines, 'audit')).toMatchObject({ error: { type: 'strategy_error' } });
    expect(await endOf(engines, 'tool')).toMatchObject({ termination_reason: 'final_answer' });
    for (const id of ['audit', 'tool']) expect(await written(engines, id)).not.toContain(SECRET);
  });

  test('shows no secret of a call that waits, to whoever has the key either', async () => {
    await using engines = await open();
    await startSealed(engines, { request_id: 'asks', agent: 'careless', query: 'ask' });
    const bodies = engines.keys.request('asks')[1];
    await eventually(async () => (await engines.runs.head('asks'))?.version).toBe(1);
    const text = Object.values(await engines.connection.hgetall(bodies)).find((each) =>
      each.includes('"held"'),
    );
    const { inner } = JSON.parse(text ?? '{}') as {
      inner: { held: { w: { call: { arguments: unknown } } } };
    };
    const encoded = encodedIn(inner.held.w.call.arguments);
    expect(encoded && (await decryptValue(codec, encoded, askPlace('asks', 'w')))).toEqual({
      password: '[REDACTED]',
    });
  });

  test('may ask a child nothing', async () => {
    await using engines = await open();
    await startSealed(engines, { request_id: 'family', agent: 'careless', query: 'child' });
    expect(await endOf(engines, 'family')).toMatchObject({ termination_reason: 'final_answer' });
    expect(await endOf(engines, 'family.c1')).toMatchObject({ result: '' });
  });
});

describe('a change of keys', () => {
  const [K1, K2] = [1, 2].map((byte) => `k${byte}=${Buffer.alloc(32, byte).toString('base64')}`);
  const keysOf = (...keys: (string | undefined)[]) => ({ ...NO_KEYS, codec: createAesCodec(keys.join(',')) });
  const [old, both] = [keysOf(K1), keysOf(K2, K1)];

  test('in the middle of a run and of its conversation: all of it is read, and the run keeps its key', async () => {
    await using engines = await openEngineTest(redis.url);
    const first = await engines.startEngine({ payloadKeys: old });
    const query = script({ inputs: 1 });
    const run = { request_id: 'first', agent: 'scripted', query, conversation_id: 'talk' };
    await engines.client.start(await encryptRun(old.codec, run));
    await eventually(async () => (await engines.runs.head('first'))?.version).toBe(1);
    await first.stop();
    await engines.startEngine({ payloadKeys: both });
    await engines.client.input('first', await encryptInput(both.codec, 'first', { content: SECRET }));
    const last = (await engines.ended('first')).at(-1);
    expect((await decryptSignal(old.codec, last as Signal)).data).toMatchObject({
      termination_reason: 'final_answer',
    });
    const next = { ...run, request_id: 'next', query: script() };
    await engines.client.start(await encryptRun(both.codec, next));
    expect(
      (await decryptSignal(both.codec, (await engines.ended('next')).at(-1) as Signal)).data,
    ).toMatchObject({
      termination_reason: 'final_answer',
    });
    const view = await openRunView(both.codec, (await engines.client.view('next'))?.view as RunView);
    expect(JSON.stringify(view.messages)).toContain('inputs');
  });
});

describe('what a caller with the key may encrypt', () => {
  const deep = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`;
  test.each([
    ['nothing', '{}'],
    ['null', 'null'],
    ['no JSON', '{"query":'],
    ['a name of Object.prototype', '{"query":"x","overrides":{"tool_context":{"__proto__":{"a":1}}}}'],
    ['other overrides', '{"query":"x","overrides":{"limits":{"max_cost":null}}}'],
    ['what is nested deep', `{"query":"x","overrides":{"tool_context":${deep}}}`],
    ['no messages', '{"messages":[]}'],
    ['another encryption', '{"query":"x","$encrypted":{"codec":"A256GCM","key_id":"k1","data":"AAAA"}}'],
  ])('is no %s', async (_, json) => {
    await using engines = await openEngineTest(redis.url);
    await engines.startEngine();
    const run = { request_id: 'odd', agent: 'scripted', conversation_id: 'talk' };
    const bytes = new TextEncoder().encode(json);
    const place = startPlace(run);
    const form = { ...(await codec.encode(bytes, place)), digest: await codec.digest(bytes, place, 'k1') };
    await engines.client.start({ ...run, overrides: {}, encrypted: { $encrypted: form } });
    const { data } = (await engines.ended('odd')).at(-1) as { data: { error?: { type: string } } };
    expect(['validation_error', 'decryption_failed']).toContain(data.error?.type);
    await eventually(async () => (await engines.runs.head('odd'))?.outbox).toBe(0);
  });
});
