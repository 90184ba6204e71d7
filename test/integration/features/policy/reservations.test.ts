/** Reservations of counted calls, and decisions as they are written down: repeated, lost, late, and killed at each write.
 *  Point 4 of issue 38: counted once, decided once. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { createHttpClient } from '../../../../src/client/http-client.ts';
import { inputIdOf } from '../../../../src/contract/tool/tool-question.ts';
import { eventually, untilListed } from '../../../support/eventually.ts';
import { done, fails, inTurn } from '../../../support/executors.ts';
import { claimOf, LANE, originOf } from '../../../support/journal.ts';
import { ownServerEntry } from '../../../support/mcp-servers.ts';
import { openPipeline } from '../../../support/pipeline.ts';
import { spawnNode } from '../../../support/process.ts';
import { programOf } from '../../../support/program.ts';
import { startService } from '../../../support/running-service.ts';
import { shared, useRedis } from '../../../support/shared.ts';
import { openStore } from '../../../support/store.ts';
import { createCallPolicy } from '../../../../src/features/policy/call-policy.ts';
import { compileRules } from '../../../../src/features/policy/rules.ts';
import { createPolicyCounters } from '../../../../src/features/policy/counters.ts';
import { UncountedCall } from '../../../../src/features/policy/rules.ts';

const DOOMED = programOf(fileURLToPath(new URL('../../../support/doomed-worker.ts', import.meta.url)));
const redis = useRedis();

/** Rules that decide nothing. */
const idle = { rule: async () => null, ruleSampled: async () => null, settle: async () => {} };

/** A worker may die between the reservation and the record of its decision. */
describe('a reservation', () => {
  const open = shared(() => openStore(redis.url));
  const ask = { decision: 'ask', rule: 'r', reason: null, askMs: 60_000 } as const;
  const use = { name: 'n', scope: 's', daily: true, amount: 7 };

  test('that is repeated counts once and keeps its decision; one that was not made is given back', async () => {
    const counters = createPolicyCounters(open.connection, { policy: `${open.keys.policy}t:` });
    const seen: (number | undefined)[] = [];
    const decide = async (member: string) =>
      counters.decide(member, [use], (values) => {
        seen.push(values.get('n'));
        return ask;
      });
    expect(await decide('q/a')).toEqual(ask);
    expect(await decide('q/a')).toEqual(ask);
    await decide('q/b');
    await counters.settle('q/a', false);
    await counters.settle('q/a', false);
    await counters.settle('q/b', true);
    await decide('q/c');
    expect(seen).toEqual([0, 7, 7]);
  });

  test('that was decided by other values is decided anew', async () => {
    const counters = createPolicyCounters(open.connection, { policy: `${open.keys.policy}u:` });
    const limit = (values: ReadonlyMap<string, number>) =>
      ({ ...ask, decision: (values.get('n') ?? 0) + 7 > 10 ? 'deny' : 'allow' }) as const;
    let other: ReturnType<typeof counters.decide> | undefined;
    // The other call reads the counter before this one has added to it, and decides after it.
    const own = counters.decide('q/a', [use], (values) => {
      other ??= counters.decide('q/b', [use], limit);
      return limit(values);
    });
    expect([(await own).decision, (await other)?.decision]).toEqual(['allow', 'deny']);
  });

  test('that loses every round to other calls is denied, and does not go on for ever', async () => {
    const policy = `${open.keys.policy}v:`;
    const counters = createPolicyCounters(open.connection, { policy });
    let rounds = 0;
    const decided = counters.decide('q/a', [{ ...use, daily: false }], () => {
      // Another call is counted between the reading and the addition.
      void open.connection.set(`${policy}c:n:s:-`, String((rounds += 1)));
      return { ...ask, decision: 'allow' };
    });
    await expect(decided).rejects.toThrow(UncountedCall);
    expect(rounds).toBe(200);
  });

  test('is noted once, with one signal, also when the answer of Redis to the note was lost', async () => {
    await using pipeline = await openPipeline(redis.url);
    const call = await pipeline.accepted({ effect: 'once' });
    expect((await pipeline.journal.claim(claimOf(call, 10_000))).kind).toBe('granted');
    const settings = { rules: [], counters: [], default: 'deny' } as const;
    const { connection, keys, journal } = pipeline;
    const policy = createCallPolicy({
      connection,
      keys,
      journal,
      rulesOf: () => compileRules(settings),
      onError: () => {},
    });
    const claimed = {
      directive: call,
      envelope: { directive: call, lane: LANE },
      lane: LANE,
      claim: { requestId: call.request_id, id: call.id, fence: 1 },
      digest: 'd',
      origin: originOf(call),
      candidate: { index: 0, history: [] },
      now: 0,
    };
    const rulings = [await policy.rule(claimed as never), await policy.rule(claimed as never)];
    expect(rulings.map((ruling) => ruling?.decision)).toEqual(['deny', 'deny']);
    const types = await pipeline.typesOf(call);
    expect(types.filter((type) => type === 'directive.policy_decided')).toHaveLength(1);
  });

  test('of a model that a tool asks counts each request once, also where the answer of Redis was lost', async () => {
    await using pipeline = await openPipeline(redis.url);
    const call = await pipeline.accepted({ effect: 'once' });
    expect((await pipeline.journal.claim(claimOf(call, 10_000))).kind).toBe('granted');
    const counters = [
      { name: 'asked', of: 'models.exists(m, m == "main:a")', sum: null, per: 'request' },
      { name: 'small', of: 'models.exists(m, m == "main:b")', sum: null, per: 'request' },
    ] as const;
    const rest = { when: 'true', reason: null, onError: 'deny', askMs: 1_000, approver: 'any' } as const;
    const limit = { counter: 'asked', atMost: 2, exceeded: 'deny' } as const;
    const two = { ...rest, name: 'two', decision: 'limit', limit } as const;
    const known = { ...rest, name: 'known', decision: 'allow', limit: null } as const;
    const small = { ...two, name: 'small', limit: { ...limit, counter: 'small', atMost: 1 } } as const;
    const rules = compileRules({ rules: [two, small, known], counters, default: 'allow' });
    const { connection, keys, journal } = pipeline;
    const policy = createCallPolicy({ connection, keys, journal, rulesOf: () => rules, onError: () => {} });
    const asked = async (
      number: number,
      { fence = 1, ...names }: { fence?: number; models?: string[]; cheaper?: string[] } = {},
    ) => {
      const claim = { requestId: call.request_id, id: call.id, fence };
      const claimed = { directive: call, envelope: { directive: call, lane: LANE }, lane: LANE, claim };
      const facts = { digest: 'd', origin: originOf(call), candidate: { index: 0, history: [] }, now: 0 };
      const models = { models: ['main:a'], number, cheaper: null, ...names };
      return (await policy.ruleSampled({ ...claimed, ...facts } as never, models))?.decision;
    };
    const counted = async () => {
      const [name = ''] = await connection.keys(`${keys.policy}c:asked:*`);
      return Number(await connection.get(name));
    };
    const seen = [await asked(1), await asked(1), await counted(), await asked(2), await counted()];
    expect(seen).toEqual(['allow', 'allow', 1, 'allow', 2]);
    expect([await asked(3), await counted(), await asked(4, { fence: 9 })]).toEqual(['deny', 2, undefined]);
    const types = await pipeline.typesOf(call);
    expect(types.filter((type) => type === 'directive.policy_decided')).toHaveLength(3);
    // A cheaper model of a budget is ruled by the requests that were counted for it, and not by one less.
    expect(await asked(5, { models: ['main:b'] })).toBe('allow');
    expect(await asked(2, { cheaper: ['main:b'] })).toBe('deny');
    expect(await asked(2, { cheaper: ['main:a'] })).toBe('allow');
  });

  // A directive that is paused, or waits for a person, for longer than its reservation is kept.
  test('counts once however late its next claim is, and its counters go with its request and no earlier', async () => {
    await using pipeline = await openPipeline(redis.url);
    const call = await pipeline.accepted({ effect: 'once' });
    expect((await pipeline.journal.claim(claimOf(call, 10_000))).kind).toBe('granted');
    const counter = { name: 'calls', of: 'true', sum: null, per: 'request' } as const;
    const rules = compileRules({ rules: [], counters: [counter], default: 'allow' });
    const { connection, keys, journal } = pipeline;
    const opened = () =>
      createCallPolicy({ connection, keys, journal, rulesOf: () => rules, onError: () => {} });
    const policy = opened();
    const claimed = (fence: number) => ({
      directive: call,
      envelope: { directive: call, lane: LANE },
      lane: LANE,
      claim: { requestId: call.request_id, id: call.id, fence },
      digest: 'd',
      origin: originOf(call),
      candidate: { index: 0, history: [] },
      now: 0,
    });
    expect((await policy.rule(claimed(1) as never))?.decision).toBe('allow');
    await connection.unlink(...(await connection.keys(`${keys.policy}r:*`)));
    expect((await policy.rule(claimed(2) as never))?.decision).toBe('allow');
    const [name = ''] = await connection.keys(`${keys.policy}c:*`);
    expect(await connection.get(name)).toBe('1.000000');
    const requests = `${keys.policy}requests`;
    const looked = async (at: number) => {
      await connection.zadd(requests, 'XX', 1, call.request_id);
      const { sweeping } = opened();
      await sweeping.start();
      const next = async () => Number((await connection.zscore(requests, call.request_id)) ?? Infinity);
      await eventually(next).toBeGreaterThanOrEqual(at);
      await sweeping.stop();
    };
    await looked(Date.now());
    expect(await connection.get(name)).toBe('1.000000');
    await connection.unlink(keys.request(call.request_id)[0]);
    await looked(Infinity);
    expect(await connection.exists(name, requests)).toBe(0);
  });

  // A worker that stood still between its claim and its decision must not send what the rules may deny.
  test('under a claim that was taken over makes no call', async () => {
    await using pipeline = await openPipeline(redis.url);
    const { execute, ran } = inTurn(done);
    const call = await pipeline.accepted({ effect: 'once' });
    const policy = { ...idle, rule: async () => null };
    await pipeline.attempt({ ...pipeline.attemptParts(execute), policy }, call);
    expect([ran, (await pipeline.recordOf(call))?.status]).toEqual([[], 'running']);
  });

  test('that asks a person asks also after its caller has logged in, and not again at the login after the approval', async () => {
    await using pipeline = await openPipeline(redis.url);
    const { execute, ran } = inTurn(done);
    const question = { mode: 'url', message: 'log in', url: 'https://login.example/' };
    const missing = { kind: 'missing', question, patienceMs: 60_000 };
    const states = [missing, missing, { kind: 'none' }];
    const logins = { accountOf: () => null, forget: async () => {}, stateOf: async () => states.shift() };
    const rulings = ['allow', 'ask'] as const;
    let decided = 0;
    const rule = async () => ({ ...ask, decision: rulings[decided++] ?? 'ask' });
    const parts = { ...pipeline.attemptParts(execute), policy: { ...idle, rule }, logins };
    const call = await pipeline.accepted({ effect: 'once' });
    const asked: (string | undefined)[] = [];
    for (let round = 1; round <= 3; round += 1) {
      await pipeline.attempt(parts as never, call);
      asked.push((await pipeline.journal.questions.round(call.request_id, call.id))?.endpoint);
      await pipeline.client.answer(call.request_id, inputIdOf(call.id, round), { action: 'accept' });
    }
    expect(asked).toEqual(['@login', '', '@login']);
    await pipeline.attempt(parts as never, call);
    expect([ran.length, (await pipeline.recordOf(call))?.status]).toEqual([1, 'succeeded']);
  });

  test('is not needed to ask for the end of a call that was made, which stays unknown without the login of its caller', async () => {
    await using pipeline = await openPipeline(redis.url);
    const made = { ...fails('network'), ambiguous: true, resumable: true };
    const parts = pipeline.attemptParts(async (_call, { tasks }) => {
      if (tasks?.task !== null) return done;
      await tasks.keep('its task');
      return made;
    });
    const rulings = ['allow', 'deny'] as const;
    let decided = 0;
    const rule = async () => ({ ...ask, decision: rulings[decided++] ?? 'deny' });
    const states = [
      { kind: 'none' },
      { kind: 'none' },
      { kind: 'none' },
      { kind: 'refused', reason: 'none' },
    ];
    const logins = { accountOf: () => null, forget: async () => {}, stateOf: async () => states.shift() };
    const policy = { ...idle, rule };
    const ends: unknown[] = [];
    for (const id of ['found', 'unknown']) {
      const call = await pipeline.accepted({ id, effect: 'once' });
      decided = 0;
      for (let at = 0; at < 2; at += 1) await pipeline.attempt({ ...parts, policy, logins } as never, call);
      ends.push((await pipeline.resultOf(call))?.data);
    }
    expect(ends).toMatchObject([
      { result: { ok: true } },
      { result: { ok: false, error: { type: 'auth', details: { outcome: 'unknown' } } } },
    ]);
  });
});

test.each([
  ['its reservation', 1, 'idempotent'],
  ['the record of its decision', 2, 'once'],
] as const)(
  'a call whose worker is killed after %s counts once, and is made once at most',
  async (_after, at, tool) => {
    const RULED = `tool == 'counting.${tool}'`;
    const folder = await mkdtemp(join(tmpdir(), 'adjutant-policy-'));
    const file = join(folder, 'counter.jsonl');
    await writeFile(file, '');
    const prefix = `killed-${randomUUID()}`;
    const config = {
      worker: { lease_ms: 1_000, drain_ms: 0 },
      mcpServers: { counting: ownServerEntry('counting.ts', { COUNTER_FILE: file }) },
      policy: {
        counters: { made: { of: RULED } },
        rules: [
          { name: 'two', when: RULED, decision: 'limit', counter: 'made', at_most: 2 },
          { name: 'known', when: RULED, decision: 'allow' },
        ],
      },
    };
    await using api = await startService({ redisUrl: redis.url, prefix, roles: { api: true }, config });
    const doomed = spawnNode([DOOMED, JSON.stringify({ redisUrl: redis.url, prefix, at, config })]);
    await untilListed(api.url, `counting.${tool}`);
    const http = createHttpClient({ baseUrl: api.url });
    const made = async (label: string) => {
      const call = { type: 'tool_exec', tool_name: `counting.${tool}`, id: label, request_id: prefix };
      await http.submit({ ...call, arguments: { label } } as never);
      return async () =>
        (await http.result(prefix, label))?.data as { result: { ok: boolean; error?: { type: string } } };
    };
    const first = await made('first');
    expect((await doomed.exited).signal).toBe('SIGKILL');
    await using _worker = await startService({
      redisUrl: redis.url,
      prefix,
      roles: { worker: true },
      config,
    });
    const { result } = await first();
    expect(result.error?.type ?? 'made').toBe(tool === 'once' ? 'outcome_unknown' : 'made');
    expect((await (await made('second'))()).result.ok).toBe(true);
    expect((await (await made('third'))()).result.error?.type).toBe('policy_denied');
    const labels = (await readFile(file, 'utf8')).match(/"label":"\w+"/g);
    expect(labels).toEqual([...(tool === 'once' ? [] : ['"label":"first"']), '"label":"second"']);
    await http.close();
    await rm(folder, { recursive: true, force: true });
  },
);
