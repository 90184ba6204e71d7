/** The gate of a lane on a real Redis, whose clock the test moves: random work against an independent model, order by count.
 *  It must never read an order out of the gate's own keys that the model shall confirm. */
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Ticket, TicketLimit } from '../../../src/contract/directive/flow.ts';
import type { GateRef, LetOut } from '../../../src/store/limits/gate.ts';
import { type KeySpace, keySpace } from '../../../src/store/keys.ts';
import { closeRedis, connectRedis, type RedisConnection } from '../../../src/platform/redis/connection.ts';
import { MOVED_CLOCK_KEY } from '../../../src/platform/redis/clock.ts';
import { uniquePrefix } from '../../support/journal.ts';
import { useRedis } from '../../support/shared.ts';

const redis = useRedis();
const LANE = 'tool.gate';
const LEASE_MS = 6_000;
const PASS_MS = 15_000;
let connection: RedisConnection;
let createGate: typeof import('../../../src/store/limits/gate.ts').createGate;
let movedMs = 0;

/** Files share their modules: the scripts that read a moved clock are of modules of this file's own. */
beforeAll(async () => {
  vi.resetModules();
  const { moveClock } = await import('../../../src/platform/redis/clock.ts');
  moveClock(() => movedMs);
  ({ createGate } = await import('../../../src/store/limits/gate.ts'));
  connection = connectRedis(redis.url, 'commands');
});
afterAll(async () => {
  vi.resetModules();
  await closeRedis(connection);
});

async function pass(ms: number): Promise<void> {
  movedMs += ms;
  await connection.set(MOVED_CLOCK_KEY, movedMs);
}

async function nowOf(): Promise<number> {
  const [seconds, micros] = await connection.time();
  return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000) + movedMs;
}

interface Plan {
  readonly turn?: string;
  readonly priority?: number;
  readonly weight?: number;
  readonly limits?: readonly Omit<TicketLimit, 'label'>[];
}

function ticketOf({ turn = 'default', priority = 4, weight = 1, limits = [] }: Plan): Ticket {
  return { turn, priority, weight, limits: limits.map((limit) => ({ label: limit.name, ...limit })) };
}

function openGate() {
  const keys = keySpace(uniquePrefix());
  const gate = createGate(connection, keys);
  let count = 0;
  const next = (): LetOut => ({ requestId: 'r', id: `d${(count += 1)}`, digest: `g${count}` });
  return {
    ...gate,
    keys,
    /** What was let out by it, by id. */
    async add(plan: Plan, room: number, ref = next()) {
      const { kind, released } = await gate.enter(LANE, { ...ref, ticket: ticketOf(plan) }, room);
      return { id: ref.id, kind, released: idsOf(released) };
    },
    /** Holds and leaves: what that let out. */
    async finish(id: string, room: number): Promise<string[]> {
      const held = await gate.hold(LANE, refOf(id), { token: 't', leaseMs: LEASE_MS, room });
      expect([id, held.kind]).toEqual([id, 'held']);
      const left = await gate.leave(LANE, refOf(id), { token: 't', againInMs: null, room });
      expect(left.kind).toBe('left');
      return idsOf([...held.released, ...left.released]);
    },
  };
}

const refOf = (id: string): GateRef => ({ requestId: 'r', id });
const idsOf = (list: readonly GateRef[]): string[] => list.map(({ id }) => id);

async function left(keys: KeySpace): Promise<string[]> {
  const found = await (connection as unknown as Redis).keys(`${keys.gate(LANE).replaceAll(/[{}]/g, '?')}*`);
  return found
    .map((name) => name.slice(keys.gate(LANE).length))
    .filter((name) => !name.startsWith('starts:'));
}

/** Runs one after the other until nothing is let out; the ids in the order of their start. */
async function drain(gate: ReturnType<typeof openGate>, out: string[], room: number): Promise<string[]> {
  const order: string[] = [];
  for (let id = out.shift(); id !== undefined; id = out.shift()) {
    order.push(id);
    out.push(...(await gate.finish(id, room)));
  }
  return order;
}

test('a tenant that comes last is next, whatever another has waiting; and nothing is left', async () => {
  const gate = openGate();
  const out: string[] = [];
  for (let n = 0; n < 300; n += 1) out.push(...(await gate.add({ turn: 'flood' }, 2)).released);
  expect(out).toHaveLength(2);
  const single = await gate.add({ turn: 'single' }, 2);
  expect(single).toEqual({ id: single.id, kind: 'ahead', released: [single.id] });
  const order = await drain(gate, [single.id, ...out], 2);
  expect(order).toHaveLength(301);
  expect(await left(gate.keys)).toEqual([]);
});

test('those that come last one after the other go ahead once for each of the others that begins', async () => {
  const gate = openGate();
  const out: string[] = [];
  for (let n = 0; n < 10; n += 1) out.push(...(await gate.add({ turn: 'flood' }, 2)).released);
  for (let round = 0; round < 5; round += 1) {
    const first = await gate.add({ turn: `first ${round}` }, 2);
    expect(first.kind).toBe('ahead');
    expect(await gate.finish(first.id, 2)).toEqual([]);
    // Those that it has passed by have not begun: nobody else passes them by.
    const second = await gate.add({ turn: `second ${round}` }, 2);
    expect(second).toMatchObject({ kind: 'entered', released: [] });
    expect(await gate.finish(out.shift() as string, 2)).toEqual([second.id]);
    out.push(...(await gate.finish(second.id, 2)));
  }
  await drain(gate, out, 2);
  expect(await left(gate.keys)).toEqual([]);
});

test('nobody goes ahead where no worker is, under a full limit, or of a turn that has more', async () => {
  const gate = openGate();
  const refused = { kind: 'entered', released: [] };
  const limits = [{ name: 'one', concurrency: 1 }];
  expect(await gate.add({ turn: 'holder', limits }, 0)).toMatchObject(refused);
  expect((await gate.pump(LANE, 1)).released).toHaveLength(1);
  expect(await gate.add({ turn: 'holder' }, 1)).toMatchObject(refused);
  const limited = await gate.add({ turn: 'limited', limits }, 1);
  expect(limited).toMatchObject(refused);
  await gate.remove(LANE, refOf(limited.id), 1);
  expect((await gate.add({ turn: 'free' }, 1)).kind).toBe('ahead');
});

test('who comes late to an empty gate leaves nothing there', async () => {
  const gate = openGate();
  const late = { token: 't', leaseMs: LEASE_MS };
  await gate.leave(LANE, refOf('gone'), { token: 't', againInMs: null, room: 1 });
  await gate.hold(LANE, refOf('gone'), { ...late, room: 1 });
  await gate.extend(LANE, refOf('gone'), late);
  await gate.change(LANE, refOf('gone'), { priority: 9, room: 1 });
  await gate.pump(LANE, 1);
  await gate.remove(LANE, refOf('gone'), 1);
  expect(await left(gate.keys)).toEqual([]);
});

test('turns come round, by weight; the gap between two of one turn is less than twice their number', async () => {
  const gate = openGate();
  const turnOf = new Map<string, string>();
  const out: string[] = [];
  const turns = Array.from({ length: 20 }, (_, n) => `t${n}`);
  for (let round = 0; round < 10; round += 1)
    for (const turn of turns) {
      const { id, released } = await gate.add({ turn, weight: turn === 't0' ? 3 : 1 }, 1);
      turnOf.set(id, turn);
      out.push(...released);
    }
  const order = (await drain(gate, out, 1)).map((id) => turnOf.get(id) ?? '');
  const whole = order.slice(0, 66);
  const counted = Map.groupBy(whole, (turn) => turn);
  expect(counted.get('t0')?.length).toBeGreaterThan(7);
  for (const turn of turns.slice(1)) expect(counted.get(turn)?.length ?? 0).toBeLessThan(6);
  for (const turn of turns) {
    const at = order.flatMap((each, position) => (each === turn ? [position] : []));
    const gaps = at.slice(1).map((position, index) => position - (at[index] ?? 0));
    expect(Math.max(...gaps)).toBeLessThan(2 * (turns.length + 2));
  }
});

test('keys buy no share: a tenant has what one turn has, with many keys that wait, or with a new one each time', async () => {
  const gate = openGate();
  const out: string[] = [];
  const single = new Set<string>();
  for (let n = 0; n < 60; n += 1) out.push(...(await gate.add({ turn: `keys~${n}` }, 1)).released);
  for (let n = 0; n < 40; n += 1) single.add((await gate.add({ turn: 'single' }, 1)).id);
  const order: string[] = [];
  for (let count = 0; count < 60; count += 1) {
    const id = out.shift() as string;
    order.push(id);
    // Never more of it waits than before.
    if (!single.has(id)) await gate.add({ turn: `keys~new-${count}` }, 1);
    out.push(...(await gate.finish(id, 1)));
  }
  expect(order.filter((id) => single.has(id)).length).toBeGreaterThan(27);
  await drain(gate, out, 1);
  expect(await left(gate.keys)).toEqual([]);
});

test('who has waited long under two limits is not passed by for ever by those under one of them', async () => {
  const gate = openGate();
  const [a, b] = [
    { name: 'a', concurrency: 1 },
    { name: 'b', concurrency: 1 },
  ];
  const of = new Map<string, Plan>();
  const add = async (plan: Plan): Promise<string> => {
    const { id, released } = await gate.add(plan, 10);
    of.set(id, plan);
    out.push(...released);
    return id;
  };
  const out: string[] = [];
  const under = [await add({ limits: [a] }), await add({ limits: [b] })];
  expect(out).toEqual(under);
  // Who has not begun in time would give its place back.
  for (const id of under) await gate.hold(LANE, refOf(id), { token: 't', leaseMs: 60_000, room: 10 });
  const both = await add({ limits: [b, a], priority: 9 });
  await pass(31_000);
  expect(idsOf((await gate.pump(LANE, 10)).released)).toEqual([]);
  let begun = 0;
  for (let id = out.shift(); id !== undefined && id !== both; id = out.shift()) {
    begun += 1;
    expect(begun).toBeLessThan(20);
    await add(of.get(id) as Plan);
    out.push(...(await gate.finish(id, 10)));
  }
  out.push(...(await gate.finish(both, 10)));
  await drain(gate, out, 10);
  expect(await left(gate.keys)).toEqual([]);
});

test('after a standstill of everything those who run go on, once; who is gone has lost its lease after it', async () => {
  const gate = openGate();
  const limits = [{ name: 'one', concurrency: 1 }];
  const by = { token: 'a', leaseMs: LEASE_MS, room: 5 };
  const { id } = await gate.add({ limits }, 5);
  const { id: second } = await gate.add({ limits }, 5);
  expect((await gate.hold(LANE, refOf(id), by)).kind).toBe('held');
  await pass(3 * LEASE_MS);
  // Whoever comes first: here one who looks after the gate, and not the one who runs.
  expect(await gate.pump(LANE, 5)).toMatchObject({ lapsed: [], released: [] });
  await pass(1_000);
  expect(await gate.extend(LANE, refOf(id), by)).toBe(true);
  // The second standstill soon after the first gives nothing: but nobody has taken it yet.
  await pass(2 * LEASE_MS);
  expect(await gate.extend(LANE, refOf(id), by)).toBe(true);
  for (let waited = 0; waited < LEASE_MS; waited += 1_000) {
    expect((await gate.pump(LANE, 5)).lapsed).toEqual([]);
    await pass(1_000);
  }
  expect(idsOf((await gate.pump(LANE, 5)).lapsed)).toEqual([id]);
  expect(await gate.extend(LANE, refOf(id), by)).toBe(false);
  expect(await gate.counts(LANE)).toMatchObject({ waiting: 1, running: 0 });
  expect(await gate.look(LANE, refOf(second))).toMatchObject({ kind: 'limit', name: 'one' });
});

test('after a standstill that was shorter than a lease, yet longer than what was left of it, those who run go on', async () => {
  const gate = openGate();
  const limits = [{ name: 'one', concurrency: 1 }];
  const { id } = await gate.add({ limits }, 5);
  const by = { token: 'a', leaseMs: 4_000, room: 5 };
  expect((await gate.hold(LANE, refOf(id), by)).kind).toBe('held');
  // Just before it would have been extended, Redis is away for 2.8 s.
  await pass(1_300);
  expect(await gate.pump(LANE, 5)).toMatchObject({ lapsed: [] });
  await pass(2_800);
  expect(await gate.pump(LANE, 5)).toMatchObject({ lapsed: [] });
  expect(await gate.extend(LANE, refOf(id), by)).toBe(true);
});

test('what was let out and is put off before it begins holds nothing, and what waits in its line stays there', async () => {
  const gate = openGate();
  const limits = [{ name: 'one', concurrency: 1 }];
  const first = await gate.add({ limits }, 5);
  const second = await gate.add({ limits }, 5);
  const unbegun = { token: '', againInMs: 60_000, room: 5 };
  expect(await gate.leave(LANE, refOf(second.id), unbegun)).toMatchObject({ kind: 'stale' });
  const left = await gate.leave(LANE, refOf(first.id), unbegun);
  expect([left.kind, idsOf(left.released)]).toEqual(['left', [second.id]]);
  expect(await gate.look(LANE, refOf(first.id))).toMatchObject({ kind: 'later' });
});

test('a limit is as what was accepted last says, whatever enters later', async () => {
  const gate = openGate();
  const limits = (concurrency: number) => [{ name: 'rule', concurrency }];
  const before = await nowOf();
  await pass(10);
  for (let n = 0; n < 6; n += 1) await gate.add({ limits: limits(1) }, 10);
  const old = {
    requestId: 'r',
    id: 'old',
    digest: 'g',
    ticket: ticketOf({ limits: limits(5) }),
    arrivedAt: before,
  };
  expect((await gate.enter(LANE, old, 10)).released).toEqual([]);
  expect((await gate.counts(LANE)).passed).toBe(1);
});

test('limits buy no share: who names many has no more turns than who names none', async () => {
  const gate = openGate();
  const out: string[] = [];
  const many = new Set<string>();
  for (let n = 0; n < 40; n += 1) {
    const limits = [{ name: `l${n}`, concurrency: 1 }];
    const first = await gate.add({ turn: 'many', limits }, 1);
    many.add(first.id);
    out.push(...first.released, ...(await gate.add({ turn: 'none' }, 1)).released);
  }
  const order = await drain(gate, out, 1);
  expect(order.slice(0, 20).filter((id) => many.has(id)).length).toBeLessThan(13);
});

test('a priority is a head start of 30 s a step: a 0 is overtaken by a 9 that comes within 270 s, never by a later one', async () => {
  const gate = openGate();
  const { released: out } = await gate.add({}, 1);
  const low = await gate.add({ priority: 0 }, 1);
  await pass(269_000);
  // The pass of the first one has lapsed: it is back at its place, before all others.
  const soon = await gate.add({ priority: 9 }, 1);
  await pass(2_000);
  const late = await gate.add({ priority: 9 }, 1);
  const plain = await gate.add({}, 1);
  expect(soon.released).toEqual(out);
  const order = await drain(gate, [...soon.released], 1);
  expect(order).toEqual([...out, soon.id, low.id, late.id, plain.id]);
});

test('a change of priority moves what waits, and leaves what was let out', async () => {
  const gate = openGate();
  const { id: first, released } = await gate.add({}, 1);
  const a = await gate.add({}, 1);
  const b = await gate.add({}, 1);
  const raised = await gate.change(LANE, refOf(b.id), { priority: 6, room: 1 });
  expect(raised.kind).toBe('changed');
  expect((await gate.change(LANE, refOf(first), { priority: 6, room: 1 })).kind).toBe('out');
  expect((await gate.change(LANE, refOf('other'), { priority: 6, room: 1 })).kind).toBe('unknown');
  expect((await gate.remove(LANE, refOf(a.id), 1)).kind).toBe('changed');
  expect(await drain(gate, released, 1)).toEqual([first, b.id]);
  expect(await left(gate.keys)).toEqual([]);
});

test('who lost its lease is refused, and its slot goes to the next; a second token is busy', async () => {
  const gate = openGate();
  const limits = [{ name: 'one', concurrency: 1 }];
  const { id } = await gate.add({ limits }, 5);
  const { id: second, released } = await gate.add({ limits }, 5);
  expect(released).toEqual([]);
  const by = (token: string) => ({ token, leaseMs: LEASE_MS, room: 5 });
  expect((await gate.hold(LANE, refOf(id), by('a'))).kind).toBe('held');
  expect((await gate.hold(LANE, refOf(id), by('b'))).kind).toBe('busy');
  await pass(LEASE_MS - 1_000);
  expect(await gate.extend(LANE, refOf(id), by('b'))).toBe(false);
  expect(await gate.extend(LANE, refOf(id), by('a'))).toBe(true);
  await pass(LEASE_MS - 1_000);
  expect((await gate.pump(LANE, 5)).lapsed).toEqual([]);
  await pass(2_000);
  const { lapsed, released: anew } = await gate.pump(LANE, 5);
  expect(idsOf(lapsed)).toEqual([id]);
  // It keeps its order.
  expect(idsOf(anew)).toEqual([id]);
  await pass(1_500);
  expect(idsOf((await gate.pump(LANE, 5)).unbegun)).toEqual([id]);
  expect(await gate.extend(LANE, refOf(id), by('a'))).toBe(false);
  expect((await gate.hold(LANE, refOf(id), by('b'))).kind).toBe('held');
  expect((await gate.leave(LANE, refOf(id), { ...by('a'), againInMs: null })).kind).toBe('stale');
  const { released: next } = await gate.leave(LANE, refOf(id), { ...by('b'), againInMs: 60_000 });
  expect(idsOf(next)).toEqual([second]);
  expect(await gate.look(LANE, refOf(id))).toMatchObject({ kind: 'later' });
  // It is due sooner.
  const again = { ...refOf(id), digest: '', ticket: ticketOf({ limits }) };
  expect(await gate.enter(LANE, again, 5)).toMatchObject({ kind: 'there', released: [] });
  expect(await gate.look(LANE, refOf(id))).toEqual({
    kind: 'limit',
    name: 'one',
    running: 1,
    limit: 1,
    before: 0,
  });
});

test('a pass that has lapsed begins nothing, and what was let out before a rate was lowered waits for its instant', async () => {
  const gate = openGate();
  const by = { token: 't', leaseMs: LEASE_MS, room: 5 };
  const lone = await gate.add({}, 5);
  await pass(PASS_MS + 1_000);
  expect((await gate.hold(LANE, refOf(lone.id), by)).kind).toBe('parked');
  expect((await gate.hold(LANE, refOf(lone.id), by)).kind).toBe('held');
  const rated = (max: number) => [{ name: 'rated', rate: { max, per_ms: 60_000 } }];
  const [one, two] = [await gate.add({ limits: rated(10) }, 5), await gate.add({ limits: rated(10) }, 5)];
  await gate.add({ limits: rated(1) }, 5);
  expect((await gate.hold(LANE, refOf(one.id), by)).kind).toBe('held');
  expect((await gate.hold(LANE, refOf(two.id), by)).kind).toBe('parked');
  expect(await gate.look(LANE, refOf(two.id))).toMatchObject({ kind: 'rate', name: 'rated' });
  for (const { id } of [lone, one])
    expect((await gate.leave(LANE, refOf(id), { ...by, againInMs: null })).kind).toBe('left');
  await pass(61_000);
  expect(idsOf((await gate.pump(LANE, 5)).released)).toEqual([two.id]);
});

test('a raised limit lets out at once as many as it allows now', async () => {
  const gate = openGate();
  const limits = (concurrency: number) => [{ name: 'raised', concurrency }];
  for (let n = 0; n < 5; n += 1) await gate.add({ turn: `t${n}`, limits: limits(1) }, 9);
  const { released } = await gate.add({ turn: 't6', limits: limits(4) }, 9);
  expect(released).toHaveLength(3);
});

test('many that wait for a full limit cost nothing until it is free, and go one by one', async () => {
  const gate = openGate();
  const limits = [{ name: 'one', concurrency: 1 }];
  const out: string[] = [];
  const entered: string[] = [];
  for (let n = 0; n < 200; n += 1) {
    const { id, released } = await gate.add({ limits, turn: `default~${n % 50}` }, 100);
    entered.push(id);
    out.push(...released);
  }
  expect(out).toHaveLength(1);
  const order = await drain(gate, out, 100);
  expect(order.toSorted()).toEqual(entered.toSorted());
  expect(await left(gate.keys)).toEqual([]);
});

test('more turns of a tenant than are told apart share one, and other tenants have their own', async () => {
  const gate = openGate();
  for (let n = 0; n < 1_010; n += 1) await gate.add({ turn: `many~${n}` }, 0);
  await gate.add({ turn: 'other~1' }, 0);
  const kept = await connection.hgetall(`${gate.keys.gate(LANE)}keys`);
  expect(
    Object.values(kept)
      .map(Number)
      .toSorted((a, b) => a - b),
  ).toEqual([1, 1_001]);
});

test('a gate is listed while it is in use, and some time after', async () => {
  const { lanes, drop } = openGate();
  expect(await lanes('tool.a')).toEqual(['tool.a']);
  await drop('tool.a');
  expect(await lanes()).toEqual(['tool.a']);
  await pass(61_000);
  await drop('tool.a');
  expect(await lanes()).toEqual([]);
});

/** Random, and the same each time. */
function randomOf(seed: number) {
  let state = seed;
  const below = (most: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * most);
  };
  return { below, pick: <T>(list: readonly T[]): T => list[below(list.length)] as T };
}

const CONCURRENCY = { a: 1, b: 2, c: 5 };
const RATES = { x: { max: 2, per_ms: 1_000 }, y: { max: 7, per_ms: 300 }, z: { max: 40, per_ms: 400 } };
const TURNS = ['t1', 't1~k', 't2', 't3', 't4~q'];

/** What the model knows of a directive. */
interface Known {
  readonly limits: readonly Omit<TicketLimit, 'label'>[];
  token: string | null;
  /** At the latest, and at the earliest: the script ran between two looks at the clock. */
  until: number;
  earliest: number;
}

test.each([1, 2])('random work, lapses and repeats keep every limit and lose nothing (%i)', async (seed) => {
  const gate = openGate();
  const random = randomOf(seed);
  const room = 6;
  const known = new Map<string, Known>();
  const starts = new Map<string, number[]>();
  let next = 0;
  let [seenAt, gracedAt] = [0, 0];
  /** Everything stood still: who runs goes on, but not twice in half a minute. */
  const arrive = (at: number): void => {
    if (known.size === 0) [seenAt, gracedAt] = [at, 0];
    if (at - seenAt > 3_000 && at - gracedAt > 30_000) {
      gracedAt = at;
      for (const one of known.values())
        if (one.token !== null) Object.assign(one, { until: at + LEASE_MS, earliest: at + LEASE_MS });
    }
    seenAt = at;
  };
  const released = (list: readonly GateRef[], before: number, after: number): void => {
    for (const { id } of list)
      Object.assign(known.get(id) as Known, {
        token: null,
        until: after + PASS_MS,
        earliest: before + PASS_MS,
      });
  };
  const out = (at: number) => [...known].filter(([, { until }]) => until > at);
  const begun = (limits: Known['limits'], at: number): void => {
    for (const { name, rate } of limits)
      if (rate) starts.set(name, [...(starts.get(name) ?? []), at].slice(-rate.max - 1));
  };

  function checkLimits(at: number): void {
    for (const [name, limit] of Object.entries(CONCURRENCY))
      expect(
        out(at).filter(([, { limits }]) => limits.some((each) => each.name === name)).length,
      ).toBeLessThanOrEqual(limit);
    for (const [name, { max, per_ms }] of Object.entries(RATES)) {
      const list = starts.get(name) ?? [];
      if (list.length > max) expect((list.at(-1) ?? 0) - (list[0] ?? 0)).toBeGreaterThanOrEqual(per_ms);
    }
    // One may have gone ahead.
    expect(out(at).length).toBeLessThanOrEqual(room + 1);
  }

  function randomLimits(): Omit<TicketLimit, 'label'>[] {
    const ofAll = [
      ...Object.entries(CONCURRENCY).map(([name, concurrency]) => ({ name, concurrency })),
      ...Object.entries(RATES).map(([name, rate]) => ({ name, rate })),
    ];
    return ofAll.filter(() => random.below(4) === 0);
  }

  async function add(): Promise<void> {
    const limits = randomLimits();
    const before = await nowOf();
    arrive(before);
    const ref: LetOut = { requestId: 'r', id: `d${(next += 1)}`, digest: 'g' };
    known.set(ref.id, { limits, token: null, until: 0, earliest: 0 });
    const ticket = ticketOf({ limits, turn: random.pick(TURNS), priority: random.below(10) });
    released((await gate.enter(LANE, { ...ref, ticket }, room)).released, before, await nowOf());
  }

  async function hold(id: string): Promise<void> {
    const token = random.pick(['p', 'q']);
    const one = known.get(id) as Known;
    const before = await nowOf();
    arrive(before);
    const { kind, released: list } = await gate.hold(LANE, refOf(id), { token, leaseMs: LEASE_MS, room });
    const after = await nowOf();
    if (kind === 'held') {
      // Its own lease goes on though it is over, as long as nobody has taken it.
      if (one.token !== token) expect(one.until).toBeGreaterThan(before);
      if (one.token === null) begun(one.limits, after);
      else expect(one.token).toBe(token);
      Object.assign(one, { token, until: after + LEASE_MS, earliest: before + LEASE_MS });
    } else if (kind === 'parked' && one.until > before) one.until = 0;
    released(list, before, after);
  }

  async function leave(id: string): Promise<void> {
    const one = known.get(id) as Known;
    const token = random.below(5) === 0 ? 'other' : (one.token ?? 'none');
    const againInMs = random.pick([null, null, null, 0, 2_000]);
    const before = await nowOf();
    arrive(before);
    const { kind, released: list } = await gate.leave(LANE, refOf(id), { token, againInMs, room });
    if (token === 'other' || one.token === null) expect(kind).toBe('stale');
    else if (kind === 'left') {
      one.until = 0;
      one.token = null;
      if (againInMs === null) known.delete(id);
    }
    released(list, before, await nowOf());
  }

  async function pump(): Promise<void> {
    const before = await nowOf();
    arrive(before);
    const { lapsed, released: list } = await gate.pump(LANE, room);
    for (const { id } of lapsed) {
      const one = known.get(id) as Known;
      expect(one.earliest).toBeLessThanOrEqual(await nowOf());
      Object.assign(one, { until: 0, token: null });
    }
    const after = await nowOf();
    for (const ref of list) if ((known.get(ref.id)?.until ?? 0) <= before) released([ref], before, after);
  }

  async function step(): Promise<void> {
    const kind = random.below(10);
    const waiting = out(await nowOf()).map(([id]) => id);
    if (kind < 3 && next < 250) await add();
    else if (kind < 6 && waiting.length > 0) await hold(random.pick(waiting));
    else if (kind < 8 && waiting.length > 0) await leave(random.pick(waiting));
    else if (kind === 8 && known.size > 0) await hold(random.pick([...known.keys()]));
    else {
      await pass(random.pick([10, 100, 100, 400, 400, 7_000]));
      await pump();
    }
  }

  for (let count = 0; count < 900; count += 1) {
    await step();
    checkLimits(await nowOf());
  }
  // Each moment lets at least one go, and each ends: nothing waits for what nobody gives back.
  for (let round = 0; known.size > 0; round += 1) {
    expect(round).toBeLessThan(2_000);
    await pass(300);
    await pump();
    for (const [id, { token }] of out(await nowOf())) {
      if (token === null) await hold(id);
      else await leave(id);
      checkLimits(await nowOf());
    }
  }
  expect(await left(gate.keys)).toEqual([]);
});
