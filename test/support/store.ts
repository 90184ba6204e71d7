/** What one process keeps in Redis, for one test: as the service makes it, on a connection and under a prefix of its own.
 *  It must never share keys with another test. */
import type { SubmittedAgentDefinition } from '../../src/contract/run/agent-definition.ts';
import type { Signal } from '../../src/contract/signal/signal.ts';
import type { ToolExec } from '../../src/contract/directive/work-directive.ts';
import { NO_MODELS } from '../../src/store/catalog/known-models.ts';
import { defineAgent } from '../../src/agents/define-agent.ts';
import { DEFAULT_REQUEST_BYTES } from '../../src/store/request/journal.ts';
import type { Durability } from '../../src/queue/durability.ts';
import { closeRedis, connectRedis, type RedisConnection } from '../../src/platform/redis/connection.ts';
import { createStore } from '../../src/service/store.ts';
import { acceptance, claimOf, LANE, RETENTION_MS, toolCall, uniquePrefix } from './journal.ts';
import type { ClaimRef } from '../../src/store/refs.ts';

export interface TestStoreOptions {
  /** Default: a new one. */
  prefix?: string;
  /** Default: memory. */
  durability?: Durability;
  /** As in `JournalOptions`. */
  requestBytes?: number;
  /** Default: none. */
  agents?: readonly SubmittedAgentDefinition[];
  /** As in `StoreOptions`. */
  streamEntries?: number;
}

export function testStore(connection: RedisConnection, options: TestStoreOptions) {
  const { agents = [] } = options;
  return createStore(connection, {
    prefix: options.prefix ?? uniquePrefix(),
    retentionMs: RETENTION_MS,
    requestBytes: options.requestBytes ?? DEFAULT_REQUEST_BYTES,
    durability: options.durability ?? 'memory',
    configured: { servers: ['test'], models: NO_MODELS, agents: agents.map(defineAgent) },
    streamEntries: options.streamEntries,
  });
}

/** The store and its records by name, with what tests do to them again and again. */
export async function openStore(redisUrl: string, options: TestStoreOptions = {}) {
  const connection = connectRedis(redisUrl, 'commands');
  await connection.ping();
  const store = testStore(connection, options);
  const { keys, records, queue } = store;
  const { journal, index } = records;
  const { lanes } = queue;
  return {
    store,
    connection,
    keys,
    lanes,
    gated: store.queue.gated,
    ...records,

    /** Announced to the sweeper for the instant `dueAt`, and accepted, without a job: the state after a turn. */
    async accepted(fields: Partial<ToolExec> = {}, dueAt = Date.now() + 60_000): Promise<ToolExec> {
      const call = toolCall(fields);
      await index.add([{ requestId: call.request_id, id: call.id }], dueAt);
      await journal.accept(call.request_id, [acceptance(call)]);
      return call;
    },

    /** The claim of a worker, without its attempt. Fails when it is not granted. */
    async claimed(call: ToolExec, leaseMs = 60_000): Promise<ClaimRef> {
      const verdict = await journal.claim(claimOf(call, leaseMs));
      if (verdict.kind !== 'granted') throw new Error(`not granted but ${verdict.kind}`);
      return { requestId: call.request_id, id: call.id, fence: verdict.fence };
    },

    async log(requestId: string): Promise<Signal[]> {
      return (await journal.log.read(requestId, 0, { limit: 10_000, bytes: 100_000_000 })).signals;
    },

    /** Jobs of a lane in any state. */
    async jobs(lane: string = LANE): Promise<number> {
      const { waiting, active, delayed } = await lanes.counts(lane);
      return waiting + active + delayed;
    },

    /** Every key of a request without an expiry. */
    async keysWithoutExpiry(): Promise<string[]> {
      const found = await connection.keys(`${keys.prefix}:{*`);
      const expiries = await Promise.all(found.map((key) => connection.pttl(key)));
      return found.filter((_, position) => expiries[position] === -1);
    },

    async [Symbol.asyncDispose](): Promise<void> {
      await store.close();
      await closeRedis(connection);
    },
  };
}
