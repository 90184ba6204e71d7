/** Redis refuses: full, read-only, loading, unable to save. Results are kept until it accepts writes again.
 *  It must not stop or start a worker in between. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import type { DirectiveClient } from '../../../../src/contract/directive/directive-client.ts';
import type { SubmittedDirective } from '../../../../src/contract/directive/directive.ts';
import { DirectiveRefused, ServiceUnavailable } from '../../../../src/contract/problem.ts';
import { okResult } from '../../../../src/contract/result.ts';
import { openPipeline } from '../../../support/pipeline.ts';
import { type Execute, gate } from '../../../support/executors.ts';
import { freePort } from '../../../support/process.ts';
import { startRedis, type RedisOptions, type TestRedis } from '../../../support/redis.ts';

interface Trouble {
  readonly name: string;
  /** The beginning of Redis' error. */
  readonly word: string;
  readonly options?: RedisOptions;
  begin(redis: TestRedis, admin: Redis): Promise<void>;
  end(redis: TestRedis, admin: Redis): Promise<void>;
}

/** While loading, Redis answers after every 1 024 commands: slow enough to be observed. */
const SLOW_LOAD = ['--key-load-delay', '500'];
const LOADED_COMMANDS = 40_000;
let loaded: Promise<void> = Promise.resolve();

const TROUBLES: readonly Trouble[] = [
  {
    name: 'out of memory',
    word: 'OOM',
    begin: async (_redis, admin) => void (await admin.config('SET', 'maxmemory', '1')),
    end: async (_redis, admin) => void (await admin.config('SET', 'maxmemory', '0')),
  },
  {
    name: 'a replica all of a sudden',
    word: 'READONLY',
    begin: async (_redis, admin) => void (await admin.replicaof('127.0.0.1', await freePort())),
    end: async (_redis, admin) => void (await admin.replicaof('NO', 'ONE')),
  },
  {
    name: 'loading a long append-only file',
    word: 'LOADING',
    options: { appendonly: true, appendfsync: 'always', args: SLOW_LOAD },
    async begin(redis, admin) {
      for (let count = 0; count < LOADED_COMMANDS; count += 1) void admin.incr('filler');
      await admin.ping();
      await redis.kill9();
      loaded = redis.restart();
    },
    async end(_redis, admin) {
      await admin.config('SET', 'key-load-delay', '0');
      await loaded;
    },
  },
  {
    name: 'unable to save its snapshot',
    word: 'MISCONF',
    async begin({ dir }, admin) {
      // A folder in place of the file that a snapshot is renamed to.
      await mkdir(join(dir, 'dump.rdb'));
      await writeFile(join(dir, 'dump.rdb', 'in-the-way'), '');
      await admin.config('SET', 'save', '3600 1');
      await admin.bgsave();
    },
    end: async (_redis, admin) => void (await admin.config('SET', 'stop-writes-on-bgsave-error', 'no')),
  },
];

const call = (id: string): SubmittedDirective => ({
  type: 'tool_exec',
  id,
  request_id: `request-${id}`,
  tool_name: 'test.echo',
});

/** Redis has no event for "now I refuse": the test writes until it refuses. */
async function untilRefused(admin: Redis, word: string): Promise<void> {
  for (;;) {
    const answer = await admin.set('probe', '1').catch((error: Error) => error.message);
    if (String(answer).startsWith(word)) return;
  }
}

/** A Redis that is full is known to be full before it refuses, if its memory was looked at meanwhile. */
function expectComeBack(refusal: unknown): void {
  if (refusal instanceof DirectiveRefused) {
    expect(refusal.problem).toMatchObject({ code: 'service_full', retry_after_ms: expect.any(Number) });
    return;
  }
  expect(refusal).toBeInstanceOf(ServiceUnavailable);
  expect((refusal as ServiceUnavailable).retryAfterMs).toBeGreaterThan(0);
}

async function submitUntilAccepted(client: DirectiveClient, directive: SubmittedDirective): Promise<void> {
  for (;;) {
    const refusal = await client.submit(directive).then(
      () => null,
      (error: unknown) => error,
    );
    if (refusal === null) return;
    expectComeBack(refusal);
  }
}

describe('a Redis that is', () => {
  test.each(TROUBLES)(
    '$name ($word): submissions are told when to come back, a known result is kept, nothing runs twice',
    async ({ word, options = {}, begin, end }) => {
      await using redis = await startRedis(options);
      await using open = await openPipeline(redis.url);
      const admin = new Redis(redis.port, '127.0.0.1', { enableReadyCheck: false });
      admin.on('error', () => {});
      const ran: string[] = [];
      const [running, known] = [gate(), gate()];
      const execute: Execute = async ({ id }) => {
        ran.push(id);
        if (id === 'a') running.open();
        await known.passed;
        return { result: okResult(id) };
      };
      // Longer than Redis is away, however busy the machine is.
      await open.startWorker(execute, { leaseMs: 120_000 });
      await open.client.submit(call('a'));
      await running.passed;

      await begin(redis, admin);
      await untilRefused(admin, word);
      known.open();
      const refusal: unknown = await open.client.submit(call('b')).catch((error: unknown) => error);
      expectComeBack(refusal);
      await end(redis, admin);
      admin.disconnect();

      await submitUntilAccepted(open.client, call('b'));
      for (const id of ['a', 'b']) {
        const signal = await open.client.result(`request-${id}`, id);
        expect(signal).toMatchObject({ attempt: 1, data: { result: { ok: true, payload: id } } });
        const types = (await open.log(`request-${id}`)).map(({ type }) => type);
        expect(types).toEqual(['ai.tool.started', 'ai.tool.result']);
      }
      expect(ran).toEqual(['a', 'b']);
    },
  );
});
