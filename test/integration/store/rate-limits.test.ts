/** Limits of models that workers share, on a real Redis: which calls pass, which wait and how long, what is kept.
 *  It must never assert how long anything took. */
import fc from 'fast-check';
import type { Redis } from 'ioredis';
import { expect, test } from 'vitest';
import { type ModelRef, parseModelName } from '../../../src/contract/model/model-name.ts';
import { keySpace } from '../../../src/store/keys.ts';
import {
  createRateLimits,
  type LimitsOfModel,
  type MinuteLimits,
} from '../../../src/store/limits/rate-limits.ts';
import { prepareScripts, scriptSources } from '../../../src/store/scripts.ts';
import { closeRedis, connectRedis } from '../../../src/platform/redis/connection.ts';
import { uniquePrefix } from '../../support/journal.ts';
import { openStore } from '../../support/store.ts';
import { shared, useRedis } from '../../support/shared.ts';

const redis = useRedis();
const open = shared(() => openStore(redis.url));

function ref(name: string): ModelRef {
  const parsed = parseModelName(name);
  if (!parsed) throw new Error(`no model name: ${name}`);
  return parsed;
}

const small = ref('cloud:small');
const large = ref('cloud:large');
const NONE: MinuteLimits = { requests: null, tokens: null };

/** A worker: its own connection to what it shares with the others of the same prefix. */
function worker(limits: Partial<LimitsOfModel>, prefix = uniquePrefix(), own = open.connection) {
  const errors: Error[] = [];
  const made = createRateLimits({
    connection: own,
    keys: keySpace(prefix),
    limitsOf: () => ({ provider: NONE, model: NONE, ...limits }),
    onError: (error) => void errors.push(error),
  });
  return { ...made, prefix, errors };
}

type Worker = ReturnType<typeof worker>;

async function take(from: Worker, model = small, tokens = 0) {
  const reserved = await from.reserve(model, { tokens });
  if (!reserved.ok) throw new Error(`refused for ${reserved.retryAfterMs} ms`);
  return reserved;
}

/** For how long a call is refused, milliseconds, and by the limit of what. */
async function refused(from: Pick<Worker, 'reserve'>, model = small, tokens = 0) {
  const reserved = await from.reserve(model, { tokens });
  if (reserved.ok) throw new Error('not refused');
  return { ms: reserved.retryAfterMs, scope: reserved.scope };
}

/** How many calls pass before one is refused. */
async function passing(from: Worker, most: number, model = small): Promise<number> {
  for (let passed = 0; passed < most; passed += 1) {
    if (!(await from.reserve(model, { tokens: 0 })).ok) return passed;
  }
  return most;
}

test('ten seconds of requests pass at once, whichever worker makes them; then each worker is refused', async () => {
  const limits = { provider: { requests: 60, tokens: null } };
  const one = worker(limits);
  const elsewhere = connectRedis(redis.url, 'commands');
  const other = worker(limits, one.prefix, elsewhere);
  for (let pair = 0; pair < 5; pair += 1) {
    await take(one);
    await take(other);
  }
  for (const each of [one, other]) {
    const { ms, scope } = await refused(each);
    expect(scope).toBe('provider');
    expect(ms).toBeGreaterThan(0);
    expect(ms).toBeLessThanOrEqual(1_000);
  }
  await closeRedis(elsewhere);
});

test("a model's own limit does not affect the provider's other models; the provider's does, and no other provider", async () => {
  const own = worker({ model: { requests: 6, tokens: null } });
  expect(await passing(own, 5)).toBe(1);
  expect(await own.reserve(small, { tokens: 0 })).toMatchObject({ ok: false, scope: 'model' });
  expect(await own.reserve(large, { tokens: 0 })).toMatchObject({ ok: true });
  const shared = worker({ provider: { requests: 6, tokens: null } });
  await take(shared);
  expect(await shared.reserve(large, { tokens: 0 })).toMatchObject({ ok: false, scope: 'provider' });
  expect(await shared.reserve(ref('elsewhere:small'), { tokens: 0 })).toMatchObject({ ok: true });
});

test('a call that one limit refuses takes nothing out of the others', async () => {
  const tight = worker({ provider: { requests: 12, tokens: null }, model: { requests: null, tokens: 600 } });
  await take(tight, small, 100);
  expect(await tight.reserve(small, { tokens: 100 })).toMatchObject({ ok: false, scope: 'model' });
  expect(await tight.reserve(small, { tokens: 100 })).toMatchObject({ ok: false, scope: 'model' });
  expect(await tight.reserve(large, { tokens: 0 })).toMatchObject({ ok: true });
  expect(await tight.reserve(large, { tokens: 0 })).toMatchObject({ ok: false, scope: 'provider' });
});

test('what a call really took replaces its estimate: less is returned, more is owed', async () => {
  const limited = worker({ provider: { requests: null, tokens: 6_000 } });
  const first = await take(limited, small, 1_000);
  first.record(100);
  const second = await take(limited, small, 900);
  second.record(4_900);
  expect((await refused(limited)).ms).toBeGreaterThan(39_000);
  expect(limited.errors).toEqual([]);
});

test('recording twice corrects once', async () => {
  const limited = worker({ provider: { requests: null, tokens: 6_000 } });
  const first = await take(limited, small, 500);
  await take(limited, small, 500);
  first.record(0);
  first.record(0);
  expect(await limited.reserve(small, { tokens: 1_000 })).toMatchObject({ ok: false });
  expect(await limited.reserve(small, { tokens: 500 })).toMatchObject({ ok: true });
});

test('a count that is not a number is ignored', async () => {
  const limited = worker({ provider: { requests: null, tokens: 6_000 } });
  const first = await take(limited, small, Number.NaN);
  first.record(Number.POSITIVE_INFINITY);
  await take(limited, small, 1_000);
  expect(limited.errors).toEqual([]);
});

test('without limits Redis is not called a second time', async () => {
  const own = connectRedis(redis.url, 'commands') as Redis;
  const free = worker({}, uniquePrefix(), own);
  expect(await free.reserve(small, { tokens: 10 })).toMatchObject({ ok: true });
  const sent: string[] = [];
  const send = own.sendCommand.bind(own);
  own.sendCommand = (command, ...rest) => {
    sent.push(command.name);
    return send(command, ...rest);
  };
  const reserved = await Promise.all(
    Array.from({ length: 50 }, () => free.reserve(small, { tokens: 1_000_000 })),
  );
  for (const each of reserved) if (each.ok) each.record(5);
  expect(reserved.every(({ ok }) => ok)).toBe(true);
  expect(sent).toEqual([]);
  await closeRedis(own);
});

test('a block holds for every worker, with limits or without, once its cached state is a second old', async () => {
  const one = worker({});
  const clock = { now: Date.now() };
  const free = createRateLimits({
    connection: open.connection,
    keys: keySpace(one.prefix),
    limitsOf: () => ({ provider: NONE, model: NONE }),
    onError: () => {},
    now: () => clock.now,
  });
  expect(await free.reserve(large, { tokens: 0 })).toMatchObject({ ok: true });
  await one.block(small, 'provider', 60_000);
  clock.now += 1_001;
  const limited = worker({ model: { requests: 6_000, tokens: null } }, one.prefix);
  for (const each of [one, free, limited]) {
    const { ms, scope } = await refused(each, large);
    expect(scope).toBe('provider');
    expect(ms).toBeGreaterThan(50_000);
    expect(ms).toBeLessThanOrEqual(60_000);
  }
});

test('a block is limited in time, whatever the provider says', async () => {
  const keys = keySpace(uniquePrefix());
  const limitsOf = () => ({ provider: NONE, model: NONE });
  const limits = createRateLimits({
    connection: open.connection,
    keys,
    limitsOf,
    longestBlockMs: 5_000,
    onError: () => {},
  });
  await limits.block(small, 'provider', 86_400_000);
  expect((await refused(limits, small, 1)).ms).toBeLessThanOrEqual(5_000);
});

test('a block of a model holds for that one only, and is never shortened', async () => {
  const limits = worker({});
  await limits.block(small, 'model', 60_000);
  await limits.block(small, 'model', 5);
  await limits.block(large, 'model', 0);
  await limits.block(large, 'model', Number.NaN);
  const { ms, scope } = await refused(limits);
  expect(scope).toBe('model');
  expect(ms).toBeGreaterThan(50_000);
  const limited = worker({ model: { requests: 6_000, tokens: null } }, limits.prefix);
  expect(await limited.reserve(small, { tokens: 0 })).toMatchObject({ ok: false, scope: 'model' });
  for (const each of [limits, limited]) {
    expect(await each.reserve(large, { tokens: 0 })).toMatchObject({ ok: true });
  }
});

test('nothing stays in Redis for ever', async () => {
  const limited = worker({ provider: { requests: 60, tokens: 6_000 }, model: { requests: 60, tokens: 600 } });
  const reserved = await take(limited, small, 10);
  reserved.record(20_000);
  await limited.block(small, 'model', 10_000);
  await limited.block(small, 'provider', 10_000);
  const keys = await open.connection.keys(`${limited.prefix}:*`);
  expect(keys).toHaveLength(4);
  for (const key of keys) expect(await open.connection.pttl(key)).toBeGreaterThan(0);
  // The debt of the model's tokens takes longer to fill than anything else: the buckets are kept until then.
  const [buckets] = keySpace(limited.prefix).limits(small);
  expect(await open.connection.pttl(buckets)).toBeGreaterThan((20_000 * 60_000) / 600);
});

const slots = (keys: readonly string[]): Set<string | undefined> =>
  new Set(keys.map((key) => /\{([^}]*)\}/.exec(key)?.[1]));

test('all keys of a provider share a slot', () => {
  const keys = keySpace('p');
  expect(slots([...keys.limits(ref('cloud:a{b}c')), keys.settled('cloud', 'x')])).toEqual(
    new Set(['limits:cloud']),
  );
});

/** The scripts with a clock of the test instead of Redis' own. */
function scriptAt(name: string): string {
  const source = scriptSources().get(name) ?? '';
  const clocked = source.replace(
    /local time = redis\.call\('TIME'\)/,
    "local time = { redis.call('GET', 'now'), 0 }",
  );
  if (clocked === source) throw new Error(`${name} reads no clock`);
  return clocked;
}

interface Step {
  passMs: number;
  amount: number;
  /** Tokens above the estimate, recorded afterwards. */
  above: number;
}

/** The intended behaviour of the bucket, as short as possible. */
function model(perMinute: number) {
  const capacity = Math.max(1, perMinute / 6);
  let level = capacity;
  return {
    capacity,
    pass: (ms: number) => void (level = Math.min(capacity, level + (ms * perMinute) / 60_000)),
    take(amount: number): number {
      const short = Math.min(amount, capacity) - level;
      // Rates are whole numbers up to 12,000: two waits that differ are further apart.
      const waitMs = Math.max(0, Math.ceil((short * 60_000) / perMinute - 1e-5));
      if (waitMs === 0) level -= amount;
      return waitMs;
    },
    owe: (tokens: number) => void (level = Math.min(capacity, level - tokens)),
  };
}

test('the bucket behaves like its model, and a call passes after the wait it names', async () => {
  const reserveSource = scriptAt('limit-reserve');
  const settleSource = scriptAt('limit-record');
  const steps = fc.array(
    fc.record<Step>({
      passMs: fc.integer({ min: 0, max: 90 }).map((seconds) => seconds * 1_000),
      amount: fc.integer({ min: 0, max: 3_000 }),
      above: fc.integer({ min: -3_000, max: 3_000 }),
    }),
    { maxLength: 12 },
  );
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 12_000 }), steps, async (perMinute, story) => {
      const keys = keySpace(`${uniquePrefix()}-${(runs += 1)}`).limits(small);
      const expected = model(perMinute);
      let seconds = 1_000_000;
      const reserve = async (amount: number): Promise<number> => {
        await open.connection.set('now', seconds);
        const args = ['tokens', 'provider', perMinute, amount];
        const [verdict, waitMs] = (await open.connection.eval(reserveSource, 3, ...keys, ...args)) as [
          string,
          number,
        ];
        return verdict === 'ok' ? 0 : waitMs;
      };
      for (const [index, { passMs, amount, above }] of story.entries()) {
        seconds += passMs / 1_000;
        expected.pass(passMs);
        const waitMs = await reserve(amount);
        expect(waitMs).toBe(expected.take(amount));
        if (waitMs > 0) {
          const wholeSeconds = Math.ceil(waitMs / 1_000);
          seconds += wholeSeconds;
          expected.pass(wholeSeconds * 1_000);
          expect(await reserve(amount)).toBe(0);
          expect(expected.take(amount)).toBe(0);
        }
        const settled = [...keys.slice(0, 1), `${keys[0]}:${index}`];
        await open.connection.eval(settleSource, 2, ...settled, 'tokens', perMinute, above);
        expected.owe(above);
      }
    }),
    {
      numRuns: 100,
      examples: [
        [
          2,
          [
            { passMs: 0, amount: 2_207, above: 1_891 },
            { passMs: 14_000, amount: 0, above: 0 },
          ],
        ],
      ],
    },
  );
});

test('a clock that goes back adds nothing', async () => {
  const keys = keySpace(uniquePrefix()).limits(small);
  const reserve = async (second: number): Promise<string> => {
    await open.connection.set('now', second);
    const args = ['requests', 'provider', 6, 1];
    const [verdict] = (await open.connection.eval(scriptAt('limit-reserve'), 3, ...keys, ...args)) as [
      string,
    ];
    return verdict;
  };
  expect(await reserve(1_000_000)).toBe('ok');
  expect(await reserve(999_000)).toBe('refused');
  expect(await reserve(1_000_009)).toBe('refused');
  expect(await reserve(1_000_010)).toBe('ok');
});

test('a command that is sent again counts at worst too much', async () => {
  const run = prepareScripts(open.connection);
  const keys = keySpace(uniquePrefix());
  const bucket = ['tokens', 'provider', 6_000, 600];
  const [hash] = keys.limits(small);
  await run('limit-reserve', keys.limits(small), bucket);
  const settle = () => run('limit-record', [hash, keys.settled('cloud', 'a')], ['tokens', 6_000, -600]);
  expect(await settle()).toEqual(['recorded']);
  expect(await settle()).toEqual(['already']);
  expect(await run('limit-reserve', keys.limits(small), bucket)).toEqual(['ok']);
  expect(await run('limit-reserve', keys.limits(small), bucket)).toEqual([
    'refused',
    expect.any(Number),
    'provider',
  ]);
});
