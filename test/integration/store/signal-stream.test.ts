/** The stream of all signals (docs/redis.md): what a consumer group of another program sees of it, on a real Redis with real workers.
 *  It must read the stream by commands of Redis alone. */
import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Signal } from '../../../src/contract/signal/signal.ts';
import { okResult } from '../../../src/contract/result.ts';
import { scopedId } from '../../../src/contract/access/tenant.ts';
import { acceptance, claimOf, endOf, originOf, startedOf, toolCall } from '../../support/journal.ts';
import { draftSignal } from '../../../src/store/log/signal-draft.ts';
import { openPipeline } from '../../support/pipeline.ts';
import { startCluster } from '../../support/redis-cluster.ts';
import { openStore } from '../../support/store.ts';
import { useRedis } from '../../support/shared.ts';

const redis = useRedis();
const ENTRIES = { streamEntries: 1_000 };

type Fields = Readonly<Record<string, string>>;
type Open = Awaited<ReturnType<typeof openStore>>;

async function streamed({ connection, keys }: Pick<Open, 'connection' | 'keys'>, tenant = 'default') {
  const entries = await connection.xrange(keys.signals(tenant), '-', '+');
  return entries.map(([, fields]): Fields => {
    const pairs = Array.from({ length: fields.length / 2 }, (_, index) =>
      fields.slice(2 * index, 2 * index + 2),
    );
    return Object.fromEntries(pairs) as Fields;
  });
}

const signalOf = ({ signal = '' }: Fields): Signal => JSON.parse(signal) as Signal;

test('has each signal of a directive once, in order, with its ids as fields and the whole of it as JSON', async () => {
  await using open = await openPipeline(redis.url, ENTRIES);
  await open.startWorker(async ({ id }, { report }) => {
    report('ai.tool.progress', {
      call_id: id,
      tool_name: 't',
      progress: 1,
      message: '"run_id":"x"',
      metadata: {},
    });
    report('custom.note' as never, { seen: 1 } as never);
    return { result: okResult({ call_id: 'another', metadata: { run_id: 'another' } }) };
  });
  const request_id = randomUUID();
  const call = {
    type: 'tool_exec' as const,
    tool_name: 'test.echo',
    request_id,
    id: 'a',
    metadata: { run_id: 'mine "1"' },
  };
  await open.client.execute(call);
  const failure = {
    type: 'emit_request_error' as const,
    request_id,
    id: 'b',
    reason: 'late',
    message: 'too late',
    metadata: { run_id: 'mine "1"', metadata: { run_id: 'another' } },
  };
  await open.client.submit(failure);
  const entries = await streamed(open);
  const log = await open.log(request_id);
  expect(entries.map(signalOf)).toEqual(log);
  expect(log.map(({ type }) => type)).toContain('custom.note');
  for (const [index, { sequence, type, causationid }] of log.entries()) {
    expect(entries[index]).toMatchObject({
      request_id,
      directive_id: causationid,
      run_id: type.startsWith('custom') ? request_id : 'mine "1"',
      type,
      sequence: String(sequence),
    });
  }
});

test('of a tenant has its signals alone, under the ids that the tenant knows', async () => {
  await using open = await openStore(redis.url, ENTRIES);
  const call = { ...toolCall(), request_id: scopedId('acme', 'mine') };
  await open.journal.accept(call.request_id, [acceptance(call)]);
  await open.journal.claim(claimOf(call));
  await open.journal.finish({ requestId: call.request_id, id: call.id, fence: 1 }, 'succeeded', [
    endOf(call),
  ]);
  expect(await streamed(open)).toEqual([]);
  const entries = await streamed(open, 'acme');
  expect(entries.at(-1)).toMatchObject({ request_id: 'mine', directive_id: call.id });
  expect(entries.map(signalOf)).toEqual(await open.log(call.request_id));
});

test('has no signal twice that was sent twice because of a lost connection, and none that is refused', async () => {
  await using open = await openStore(redis.url, ENTRIES);
  const call = await open.accepted();
  const ref = await open.claimed(call);
  const signals = [startedOf(call), startedOf(call)];
  for (let times = 0; times < 2; times += 1) await open.journal.log.append(ref, signals);
  await open.journal.log.append({ ...ref, fence: 7 }, [startedOf(call)]);
  expect((await streamed(open)).map(signalOf)).toEqual(await open.log(call.request_id));
});

test('is bounded, and a signal that was trimmed is in the log of its request', async () => {
  await using open = await openStore(redis.url, ENTRIES);
  const call = await open.accepted();
  const ref = await open.claimed(call);
  const data = { call_id: call.id, tool_name: call.tool_name, progress: 1, message: 'x', metadata: {} };
  for (let times = 0; times < 15; times += 1)
    await open.journal.log.append(
      ref,
      Array.from({ length: 100 }, () => draftSignal('ai.tool.progress', data, originOf(call))),
    );
  const entries = await streamed(open);
  expect(entries.length).toBeGreaterThanOrEqual(1_000);
  expect(entries.length).toBeLessThanOrEqual(1_100);
  const [oldest] = entries.map(signalOf);
  const before = await open.journal.log.at(call.request_id, (oldest?.sequence ?? 0) - 1);
  expect(before).not.toBeNull();
});

test('is not there where it is not configured', async () => {
  await using open = await openStore(redis.url);
  const call = await open.accepted();
  await open.claimed(call);
  expect(await open.log(call.request_id)).not.toEqual([]);
  expect(await open.connection.exists(open.keys.signals('default'))).toBe(0);
});

test('is refused on a cluster, where it could lose signals', async () => {
  await using cluster = await startCluster();
  await expect(openStore(cluster.url, ENTRIES)).rejects.toThrow('has no stream of all signals');
});
