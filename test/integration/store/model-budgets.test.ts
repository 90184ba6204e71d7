/** Budgets of a day, on a real Redis: what passes, what is given back, what a repeat, a lapse and another day change.
 *  It must never need a worker. */
import { describe, expect, test } from 'vitest';
import type { BudgetRule, Spender } from '../../../src/contract/model/budget.ts';
import { createBudgetList } from '../../../src/store/limits/budget-list.ts';
import { createModelBudgets } from '../../../src/store/limits/model-budgets.ts';
import { prepareScripts } from '../../../src/store/scripts.ts';
import { shared, useRedis } from '../../support/shared.ts';
import { openStore } from '../../support/store.ts';

const redis = useRedis();
const open = shared(() => openStore(redis.url));

const RULE: BudgetRule = {
  name: 'any',
  tenant: null,
  key: null,
  alias: null,
  tokensPerDay: null,
  moneyPerDay: null,
  onBreach: 'stop',
  cheaper: null,
};

function unexpected(error: Error): void {
  throw error;
}

/** Each test has names of its own, and a place of its own in Redis. */
function budgetsOf(place: string, rules: Partial<BudgetRule>[], onError = unexpected) {
  const settings = { timeZone: 'UTC', rules: rules.map((rule) => ({ ...RULE, ...rule })) };
  const keys = { budgets: `${open.keys.budgets}${place}:` };
  const budgets = createModelBudgets({
    connection: open.connection,
    keys,
    settings,
    isOf: (model, alias) => model === `p:${alias}`,
    labelOf: (model) => model,
    onError,
  });
  const list = createBudgetList(open.connection, keys, settings);
  const of = (tenant = 'default', spender: Spender | null = null, model = 'p:m') => {
    const found = budgets.of({ tenant, spender, model });
    return async (tokens: number, money: number | null = 0, allowed: string[] = [], leaseMs = 60_000) =>
      found?.reserve({ tokens, money }, { leaseMs, allowed: new Set(allowed) });
  };
  const used = async (name = 'any', tenant = 'default') => {
    const { budgets: listed } = await list(tenant);
    const one = listed.find((each) => each.name === name);
    return (
      one && { tokens: one.tokens.used, money: one.money.used, calls: one.calls, breaches: one.breaches }
    );
  };
  return { budgets, of, list, used, prefix: keys.budgets };
}

const settled = async () => void (await open.connection.ping());

test('calls at once take no more than a budget holds, from any worker, and take of all budgets or of none', async () => {
  const rules = [
    { name: 'wide', tokensPerDay: 1_000 },
    { name: 'tight', tokensPerDay: 130 },
  ];
  const [one, other] = [budgetsOf('both', rules), budgetsOf('both', rules)];
  const asked = Array.from({ length: 40 }, async (_, index) => (index % 2 === 0 ? one : other).of()(40, 7));
  const answers = await Promise.all(asked);
  expect(answers.filter((answer) => answer?.ok)).toHaveLength(3);
  const refused = answers.find((answer) => answer?.ok === false);
  expect(refused).toMatchObject({
    breach: { budget: 'tight', unit: 'tokens', used: 120, limit: 130, onBreach: 'stop' },
  });
  expect(await one.used('wide')).toMatchObject({ tokens: 120, money: 21, calls: 3, breaches: 0 });
  expect(await one.used('tight')).toMatchObject({ tokens: 120, calls: 3, breaches: 37 });
});

test('a tenant of many keys has a budget of each listed; one that is gone is left out', async () => {
  const { of, list, prefix } = budgetsOf('many', [{ name: 'each', tenant: 'default', key: '*' }]);
  const keys = Array.from({ length: 250 }, (_, number) => `key-${number}`);
  await Promise.all(keys.map((key, number) => of('default', { key })(number + 1)));
  const listed = async () => (await list('default')).budgets.map(({ key, tokens }) => [key, tokens.used]);
  expect(await listed()).toEqual(keys.map((key, number) => [key, number + 1]).toReversed());
  const { day } = await list('default');
  const [gone = ''] = await open.connection.smembers(`${prefix}${day}:of:default`);
  const name = await open.connection.hget(`${prefix}${day}:${gone}`, 'key');
  expect(keys).toContain(name);
  await open.connection.del(`${prefix}${day}:${gone}`);
  expect((await listed()).map(([key]) => key)).toEqual(keys.filter((key) => key !== name).toReversed());
});

test('what was not used is given back, once', async () => {
  const { of, used } = budgetsOf('once', [{ tokensPerDay: 100 }]);
  const reserved = await of()(80, 500);
  if (!reserved?.ok) throw new Error('refused');
  reserved.settle({ tokens: 10, money: 3 });
  reserved.settle({ tokens: 0, money: 0 });
  await settled();
  expect(await used()).toMatchObject({ tokens: 10, money: 3 });
});

test.each([
  [Number.NaN, 1e12],
  [Number.POSITIVE_INFINITY, 1e12],
  [1e308, 1e12],
  [-5, 0],
  [0.4, 1],
])('a count of %d is a whole number that can be added', async (given, counted) => {
  const { of, used } = budgetsOf(`odd${given}`, [{}]);
  const reserved = await of()(80, 500);
  if (!reserved?.ok) throw new Error('refused');
  reserved.settle({ tokens: given, money: given });
  await settled();
  expect(await used()).toMatchObject({ tokens: counted, money: counted });
});

test('what a dead worker has reserved counts as used, and a settlement after the lease changes nothing', async () => {
  const { of, used } = budgetsOf('dead', [{ tokensPerDay: 100 }]);
  const reserved = await of()(80, 0, [], 1);
  await expect.poll(() => open.connection.keys('*dead:call:*')).toEqual([]);
  if (!reserved?.ok) throw new Error('refused');
  reserved.settle({ tokens: 1, money: 0 });
  await settled();
  expect(await used()).toMatchObject({ tokens: 80 });
  expect(await of()(21)).toMatchObject({ ok: false });
});

test('a command that is sent twice reserves and settles once', async () => {
  const { prefix, used } = budgetsOf('twice', [{}]);
  const run = prepareScripts(open.connection);
  const days = { timeZone: 'UTC', days: [{ name: '2026-01-01', beginsAt: 0, endsAt: 1e11 }] };
  const budget = { id: 'b', tokens: 100, money: -1, owner: '', fields: { name: 'any', on_breach: 'stop' } };
  const asked = JSON.stringify({ tokens: 60, money: 5, label: '__proto__', budgets: [budget] });
  const reserve = async () => run('budget-reserve', [prefix], ['r', 60_000, JSON.stringify(days), asked]);
  expect([await reserve(), await reserve()]).toEqual([
    ['ok', '2026-01-01'],
    ['ok', '2026-01-01'],
  ]);
  const settle = async (tokens: number) => run('budget-settle', [prefix], ['r', tokens, 1]);
  expect([await settle(7), await settle(0)]).toEqual([['settled'], ['unknown']]);
  expect(await used()).toMatchObject({ tokens: 7, money: 1, calls: 1 });
});

test('another day begins with nothing used; a call of yesterday is settled in its own day', async () => {
  const { prefix } = budgetsOf('days', [{}]);
  const run = prepareScripts(open.connection);
  // Days by the clock of Redis: the same instant is in the one, then in the other.
  const dayOf = (name: string) =>
    JSON.stringify({ timeZone: 'UTC', days: [{ name, beginsAt: 0, endsAt: 1e11 }] });
  const budget = { id: 'b', tokens: 100, money: -1, owner: '', fields: { name: 'any' } };
  const asked = JSON.stringify({ tokens: 60, money: 0, label: 'm', budgets: [budget] });
  const reserve = async (reservation: string, name: string) =>
    (await run('budget-reserve', [prefix], [reservation, 60_000, dayOf(name), asked]))[0];
  expect([await reserve('a', 'one'), await reserve('b', 'one')]).toEqual(['ok', 'refused']);
  expect([await reserve('c', 'two'), await reserve('d', 'two')]).toEqual(['ok', 'refused']);
  await run('budget-settle', [prefix], ['a', 1, 0]);
  const tokens = async (name: string) => open.connection.hget(`${prefix}${name}:b`, 'tokens');
  expect([await tokens('one'), await tokens('two')]).toEqual(['1', '60']);
  // A clock that goes back begins no second budget of a day.
  expect([await reserve('e', 'one'), await reserve('f', 'one')]).toEqual(['ok', 'refused']);
  const [verdict, now] = await run(
    'budget-reserve',
    [prefix],
    ['g', 1, JSON.stringify({ timeZone: 'UTC', days: [] }), asked],
  );
  expect(verdict).toBe('clock');
  expect(Math.abs(Number(now) - Date.now() / 1_000)).toBeLessThan(60);
});

test('each tenant and each key has its own, whatever they are called, and sees no other one', async () => {
  const rules = [
    { name: 'tenants', tenant: '*', tokensPerDay: 50 },
    { name: 'keys', tenant: '*', key: '*', tokensPerDay: 40 },
    { name: 'shared', tokensPerDay: 1_000 },
  ];
  const { of, list, budgets } = budgetsOf('own', rules);
  for (const tenant of ['default', 'acme', 'constructor'])
    for (const key of ['__proto__', 'k|a'])
      expect(await of(tenant, { key })(20), `${tenant} ${key}`).toMatchObject({ ok: true });
  expect(await of('acme', { key: 'third' })(20)).toMatchObject({ breach: { budget: 'tenants', used: 40 } });
  const shown = async (tenant: string) =>
    (await list(tenant)).budgets.map((each) =>
      [each.name, each.tenant, each.key, each.tokens.used].join(' '),
    );
  expect(await shown('acme')).toEqual(['keys acme __proto__ 20', 'keys acme k|a 20', 'tenants acme  40']);
  expect(await shown('default')).toContain('shared   120');
  expect(await shown('nobody')).toEqual(['tenants nobody  0']);
  // What all have used together is not said to one.
  const tight = budgetsOf('own', [{ name: 'shared', tokensPerDay: 130 }]);
  expect(await tight.of('acme')(20)).toMatchObject({ breach: { budget: 'shared', used: null, limit: null } });
  expect(await tight.of('default')(20)).toMatchObject({ breach: { used: 120, limit: 130 } });
  expect(budgets.of({ tenant: 'acme', spender: null, model: 'p:m' })).not.toBeNull();
});

describe('what each tenant has of its own', () => {
  const shown = async (list: ReturnType<typeof budgetsOf>['list'], tenant = 'default') => {
    const { budgets, more } = await list(tenant);
    return { more, budgets: budgets.map((each) => `${each.name} ${each.tenant} ${each.tokens.used}`) };
  };

  test('is seen by the operators, the most first and not all of it', async () => {
    const { of, list } = budgetsOf('ranked', [{ name: 'each', tenant: '*', tokensPerDay: 1_000 }]);
    for (let nth = 1; nth <= 25; nth += 1) await of(`t${nth}`)(nth * 10);
    const biggest = Array.from({ length: 20 }, (_, nth) => `each t${25 - nth} ${(25 - nth) * 10}`);
    expect(await shown(list)).toEqual({
      budgets: [...biggest, 'each default 0'],
      more: [{ name: 'each', budgets: 5 }],
    });
    expect(await shown(list, 't1')).toEqual({ budgets: ['each t1 10'], more: undefined });
    const late = await of('t1')(900);
    expect((await shown(list)).budgets[0]).toBe('each t1 910');
    if (late?.ok) late.settle({ tokens: 0, money: 0 });
    await settled();
    expect(await shown(list)).toMatchObject({ budgets: [...biggest, 'each default 0'] });
    await of('t2')(1_000);
    expect((await list('default')).budgets.find(({ tenant }) => tenant === 't25')?.breaches).toBe(0);
  });

  test('is ordered by money where that is limited', async () => {
    const { of, list } = budgetsOf('rich', [{ name: 'each', tenant: '*', moneyPerDay: 100 }]);
    await of('a')(90, 1);
    await of('b')(1, 90);
    expect((await shown(list)).budgets).toEqual(['each b 1', 'each a 90', 'each default 0']);
  });

  test('is kept of so many tenants only; who uses much is among them again', async () => {
    const { of, list, prefix } = budgetsOf('crowd', [{ name: 'each', tenant: '*', tokensPerDay: 1_000 }]);
    await of('first')(1);
    const [rank = ''] = await open.connection.keys(`${prefix}*:rank:*`);
    const crowd = Array.from({ length: 2_000 }, (_, nth) => [5, `b${nth}`]).flat();
    await open.connection.zadd(rank, ...crowd);
    await of('second')(1);
    await of('third')(900);
    expect(await open.connection.zcard(rank)).toBe(2_000);
    expect((await shown(list)).budgets[0]).toBe('each third 900');
    await of('first')(950);
    expect((await shown(list)).budgets[0]).toBe('each first 951');
    expect(await open.connection.pttl(rank)).toBeGreaterThan(0);
  });
});

test('a key has what it was made with; without a budget nothing is asked', async () => {
  const { of, budgets, used } = budgetsOf('key', []);
  const spender = { key: 'abc', tokens_per_day: 50, money_per_day: 10 };
  expect(await of('acme', spender)(40, 11)).toMatchObject({
    breach: { budget: 'key.abc', unit: 'money', limit: 10 },
  });
  expect(await of('acme', spender)(40, 9)).toMatchObject({ ok: true });
  expect(await of('acme', spender)(11, 0)).toMatchObject({ breach: { budget: 'key.abc', unit: 'tokens' } });
  expect(await used('key.abc', 'acme')).toMatchObject({ tokens: 40, money: 9, breaches: 2 });
  expect(budgets.of({ tenant: 'acme', spender: { key: 'other' }, model: 'p:m' })).toBeNull();
});

test('a budget of money holds back what has no price, lets pass what a person allowed, and its cheaper models', async () => {
  const rules = [
    { name: 'soft', moneyPerDay: 10, onBreach: 'cheaper' as const, cheaper: 'small' },
    { name: 'hard', alias: 'm', moneyPerDay: 20 },
  ];
  const { of, used } = budgetsOf('money', rules);
  expect(await of()(1, null)).toMatchObject({ breach: { budget: 'soft', unit: 'price', cheaper: 'small' } });
  const breach = await of()(1, 11);
  expect(breach).toMatchObject({
    breach: { budget: 'soft', unit: 'money', used: 0, limit: 10, cheaper: 'small' },
  });
  const id = breach?.ok === false ? breach.breach.id : '';
  expect(await of()(1, 11, [id])).toMatchObject({ ok: true });
  expect(await of('default', null, 'p:small')(1, 11)).toMatchObject({ ok: true });
  expect(await used('soft')).toMatchObject({ money: 22, breaches: 1 });
  expect(await of()(1, 10, [id])).toMatchObject({ breach: { budget: 'hard', used: 11 } });
});

test('budgets that cannot be read though Redis answers are reported, once a minute', async () => {
  const reported: string[] = [];
  const { of, prefix } = budgetsOf('damaged', [{}], ({ message }) => reported.push(message));
  await open.connection.set(`${prefix}today`, 'x');
  for (const _ of [1, 2, 3]) await expect(of()(1)).rejects.toThrow('WRONGTYPE');
  expect(reported).toHaveLength(1);
  expect(reported[0]).toMatch(/^the budgets of models cannot be read, calls wait: .*WRONGTYPE/);
});
