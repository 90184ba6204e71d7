/** Changes of API keys in Redis: with their entry of the audit, decided over what is there; and what keys and tenants may submit.
 *  It must not go through HTTP: `test/integration/http/access.test.ts` does. */
import { Redis } from 'ioredis';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Audit, createAudit } from '../../../../src/http/access/audit.ts';
import { onBehalfOf } from '../../../../src/http/access/caller.ts';
import { type ChargeKey, createKeyBudget, createKeyCount } from '../../../../src/http/access/key-budget.ts';
import { createKeyRecords, type KeyRecords } from '../../../../src/http/access/key-records.ts';
import { createKeyService } from '../../../../src/http/access/key-service.ts';
import { createKnownKeys } from '../../../../src/http/access/known-keys.ts';
import { type Principal, UNLIMITED } from '../../../../src/http/access/principal.ts';
import { DirectiveRefused, problem } from '../../../../src/contract/problem.ts';
import { createAuditLog } from '../../../../src/store/access/audit-log.ts';
import { keySpace } from '../../../../src/store/keys.ts';
import { createTenantRoom, type LeaveTenant } from '../../../../src/store/limits/tenant-room.ts';
import { useRedis } from '../../../support/shared.ts';

const redis = useRedis();

const PRINCIPAL: Principal = {
  id: 'ab',
  name: 'tests',
  tenant: 'default',
  scopes: new Set(['admin']),
  ...UNLIMITED,
};
let installations = 0;

function installation() {
  const connection = new Redis(redis.url);
  onTestFinished(() => connection.disconnect());
  installations += 1;
  const names = keySpace(`t${installations}`);
  const records = createKeyRecords(connection, names, async () => null);
  const log = createAuditLog(connection, names);
  const [table] = names.access;
  return { connection, names, records, log, table };
}

/** As one API has it. */
function service(
  { records, log }: Pick<ReturnType<typeof installation>, 'records' | 'log'>,
  charge: ChargeKey = async () => {},
) {
  const known = createKnownKeys(records);
  return createKeyService({ records, known, log, charge, isOpen: () => false, hasOtherAdmin: false });
}

async function asCaller<T>(work: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    onBehalfOf(PRINCIPAL, () => void work().then(resolve, reject));
  });
}

const KEY = { name: 'one', scopes: ['admin' as const] };

/** Each of two has read the keys before the other one writes. */
function readTogether(records: KeyRecords): KeyRecords {
  let read = 0;
  const { promise: both, resolve } = Promise.withResolvers<void>();
  return {
    ...records,
    read: async () => {
      const keys = await records.read();
      read += 1;
      if (read === 2) resolve();
      await both;
      return keys;
    },
  };
}

describe('a change of the keys', () => {
  test('and its entry of the audit are one write', async () => {
    const { connection, records, log, names } = installation();
    const keys = service({ records, log });
    const { id } = await asCaller(async () => keys.create(KEY));
    const first = await keys.create(KEY);
    await asCaller(async () => keys.revoke(id));
    const { entries } = await keys.audit({});
    expect(entries.map(({ action, target, by }) => [action, target, by.id])).toEqual([
      ['revoke_key', id, 'ab'],
      // The first key of a newcomer was missing: it is made where no key is required.
      ['create_key', first.id, 'none'],
      ['create_key', id, 'ab'],
    ]);
    expect(await connection.pttl(names.audit('default').changes)).toBeGreaterThan(0);
    // What is refused, or repeated, is not noted.
    await expect(asCaller(async () => keys.revoke(id))).rejects.toThrow(DirectiveRefused);
    expect((await keys.audit({})).entries).toHaveLength(3);
  });

  test('decided over keys that have changed since is decided again: one of two last admins stays', async () => {
    const { connection, records, log, table } = installation();
    const ids = [await service({ records, log }).create(KEY), await service({ records, log }).create(KEY)];
    const together = readTogether(records);
    const revoked = await Promise.allSettled(
      ids.map(async ({ id }) => service({ records: together, log }).revoke(id)),
    );
    expect(revoked.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    const refusal = revoked.find((each) => each.status === 'rejected');
    expect(refusal?.reason).toMatchObject({ problem: { code: 'last_admin_key' } });
    // The version, and one key.
    expect(await connection.hlen(table)).toBe(2);
  });

  test('is decided again as well where two make the last key of a tenant that it may have', async () => {
    const { connection, records, log, table } = installation();
    const ofTenant = { ...KEY, tenant: 'acme' };
    const { key: _, last_used_at: _used, ...first } = await service({ records, log }).create(ofTenant);
    const record = { ...first, digest: 'f'.repeat(64) };
    await Promise.all(
      Array.from({ length: 98 }, async (_each, number) =>
        records.put({ ...record, id: `k${number}` }, null, { tenant: 'default', text: '' }),
      ),
    );
    const together = readTogether(records);
    const made = await Promise.allSettled(
      [1, 2].map(async () => service({ records: together, log }).create(ofTenant)),
    );
    expect(made.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    expect(made.find((each) => each.status === 'rejected')?.reason).toMatchObject({
      problem: { code: 'keys_full' },
    });
    expect(await connection.hlen(table)).toBe(101);
  });

  test('takes the uses of a revoked key along, and notes none afterwards', async () => {
    const { records, log } = installation();
    const keys = service({ records, log });
    const { id } = await keys.create(KEY);
    await records.noteUse(id, 1_000);
    expect(await records.uses()).toHaveLength(1);
    await keys.revoke(id, { force: true });
    await records.noteUse(id, 2_000);
    expect(await records.uses()).toEqual(new Map());
  });
});

const PAGE = { tenant: 'default', log: 'changes', before: null, limit: 9 } as const;

describe('what a caller changes', () => {
  const subject = { requestId: 'r', target: 'c' };
  const auditOf = (log: ReturnType<typeof createAuditLog>): Audit =>
    createAudit(log, (error) => expect.fail(error.message));

  test('is noted before it is done, so that a death between loses no entry', async () => {
    const { log } = installation();
    const seen: unknown[] = [];
    await auditOf(log).around(PRINCIPAL, 'decide', subject, async () => {
      seen.push(...(await log.page(PAGE)).entries);
    });
    expect(seen).toMatchObject([{ action: 'decide', request_id: 'r', target: 'c' }]);
    expect((await log.page(PAGE)).entries).toEqual(seen);
  });

  test('is not noted when it is refused, and stays noted when nobody knows', async () => {
    const { log } = installation();
    const failWith = async (error: Error) =>
      auditOf(log).around(PRINCIPAL, 'answer', subject, async () => Promise.reject(error));
    await expect(failWith(new DirectiveRefused(problem('not_found', {})))).rejects.toThrow();
    expect((await log.page(PAGE)).entries).toEqual([]);
    await expect(failWith(new Error('Command timed out'))).rejects.toThrow('timed out');
    expect((await log.page(PAGE)).entries).toHaveLength(1);
  });

  test('is noted exactly once it is known, instead of before', async () => {
    const { log } = installation();
    await auditOf(log).around(PRINCIPAL, 'redrive', {}, async () => 3, {
      of: (count) => [{ target: String(count) }],
    });
    await auditOf(log).around(PRINCIPAL, 'redrive', {}, async () => 0, { of: () => [] });
    const { entries } = await log.page(PAGE);
    expect(entries.map(({ target }) => target)).toEqual(['3']);
  });

  test('is not done when it cannot be noted, except a cancellation', async () => {
    const { log } = installation();
    const full = { ...log, add: async () => Promise.reject(new Error('OOM command not allowed')) };
    const errors: Error[] = [];
    const audit = createAudit(full, (error) => errors.push(error));
    const done: string[] = [];
    const work = (name: string) => async () => void done.push(name);
    await expect(audit.around(PRINCIPAL, 'decide', subject, work('decide'))).rejects.toMatchObject({
      name: 'ServiceUnavailable',
    });
    await audit.around(PRINCIPAL, 'cancel', subject, work('cancel'));
    expect(done).toEqual(['cancel']);
    expect(errors).toHaveLength(1);
  });
});

describe('the budget of a key', () => {
  test('counts what it allows and not what it refuses, by minute and by day, and is forgotten', async () => {
    const { connection, names } = installation();
    const spend = createKeyBudget(connection, names);
    const day = { ...PRINCIPAL, perDay: 3 };
    await spend(day, 2);
    await expect(spend(day, 2)).rejects.toMatchObject({ problem: { code: 'rate_limited', limit: 3 } });
    await spend(day, 1);
    await expect(spend(day, 1)).rejects.toThrow();
    const minute = { ...PRINCIPAL, id: 'cd', perMinute: 1 };
    await expect(spend(minute, 2)).rejects.toMatchObject({ problem: { limit: 1 } });
    expect(await connection.exists(names.spent('cd'))).toBe(0);
    expect(await connection.pttl(names.spent('ab'))).toBeGreaterThan(0);
  });
});

describe('what a tenant has open', () => {
  const entering = () => {
    const { connection, names } = installation();
    const enter = createTenantRoom(connection, names, () => ({ maxOpen: 2 }));
    /** The limit, where there is no room; else null. */
    const limited = async (ids: readonly string[]) => {
      const entered = await enter('acme~r', ids);
      return typeof entered === 'number' ? entered : null;
    };
    const places = { open: names.open('acme'), sweep: names.sweep, state: names.request('acme~r')[0] };
    return { connection, ...places, enter, limited };
  };

  test('is counted once, and never above its limit, whoever comes at the same time', async () => {
    const { connection, open, limited } = entering();
    const entered = await Promise.all(Array.from({ length: 10 }, async (_, n) => limited([`${n}`])));
    expect(entered.filter((limit) => limit === null)).toHaveLength(2);
    expect(new Set(entered)).toEqual(new Set([null, 2]));
    const counted = await connection.zrange(open, '0', '-1');
    const again = counted.map(async (member) => limited([member.slice('acme~r/'.length)]));
    expect(await Promise.all(again)).toEqual([null, null]);
    expect(await connection.pttl(open)).toBeGreaterThan(0);
  });

  test('is freed of what nobody looks at any more, and of nothing else', async () => {
    const { connection, open, sweep, limited } = entering();
    expect(await limited(['open', 'gone'])).toBeNull();
    // Its process has died a moment ago: it may still be accepted.
    expect(await limited(['next'])).toBe(2);
    const before = Date.now() - 60_000;
    await connection.zadd(open, before, 'acme~r/open', before, 'acme~r/gone');
    await connection.zadd(sweep, 1, 'acme~r/open');
    expect(await limited(['next'])).toBeNull();
    expect((await connection.zrange(open, '0', '-1')).toSorted()).toEqual(['acme~r/next', 'acme~r/open']);
    expect(await limited(['more'])).toBe(2);
  });

  test('is freed of what was refused, but of nothing that is open or that another has submitted as well', async () => {
    const { connection, open, sweep, enter } = entering();
    const leave = (await enter('acme~r', ['a', 'b'])) as LeaveTenant;
    await connection.zadd(sweep, 1, 'acme~r/b');
    await leave(['a', 'b', 'never']);
    expect(await connection.zrange(open, '0', '-1')).toEqual(['acme~r/b']);
    const first = (await enter('acme~r', ['a'])) as LeaveTenant;
    const second = (await enter('acme~r', ['a'])) as LeaveTenant;
    await Promise.all([first(['a']), second(['a'])]);
    expect(await connection.zcard(open)).toBe(2);
  });

  test('has always room for what was accepted before', async () => {
    const { connection, open, state, limited } = entering();
    expect(await limited(['a', 'b'])).toBeNull();
    await connection.hset(state, 'old|status', 'succeeded', '@run|version', '1');
    expect(await limited(['old', '@run'])).toBeNull();
    expect(await limited(['old', 'new'])).toBe(2);
    expect(await connection.zcard(open)).toBe(2);
  });
});

// Issue 33, point 8: a change of one key had every API read the keys of all tenants again.
describe('after a change, a process', () => {
  /** Two processes of one installation, and what the second one asks Redis for. */
  function twoProcesses() {
    const { connection, names, records, table } = installation();
    const asked: string[] = [];
    const noted = new Proxy(connection, {
      get(target, name) {
        const found: unknown = Reflect.get(target, name, target);
        if (name === 'hgetall' || name === 'hmget')
          return async (...args: string[]) => {
            asked.push([name, ...args.slice(1)].join(' '));
            return (found as (...args: string[]) => unknown).apply(target, args);
          };
        return typeof found === 'function' ? (found.bind(target) as unknown) : found;
      },
    });
    const other = createKeyRecords(noted, names, async () => null);
    return { connection, table, keys: service({ records, log: {} as never }), other, asked };
  }

  test('reads what was changed, and nothing else', async () => {
    const { keys, other, asked } = twoProcesses();
    const [first, second] = [await keys.create(KEY), await keys.create(KEY)];
    const before = await other.read();
    expect(asked.splice(0)).toEqual(['hgetall']);
    const third = await keys.create(KEY);
    await keys.revoke(second.id);
    const after = await other.read();
    expect(asked.splice(0)).toEqual([`hmget ${second.id} ${third.id}`]);
    expect(after.keys.get(first.id)).toBe(before.keys.get(first.id));
    expect([...after.keys.keys()].toSorted()).toEqual([first.id, third.id].toSorted());
    expect(after).toMatchObject({ size: 2, version: await other.version() });
    await other.read();
    expect(asked).toEqual([]);
  });

  test('reads all keys where it has missed too many changes, or Redis holds other ones', async () => {
    const { connection, table, keys, other, asked } = twoProcesses();
    await keys.create(KEY);
    await other.read();
    const made = await Promise.all(Array.from({ length: 40 }, async () => keys.create(KEY)));
    asked.length = 0;
    expect((await other.read()).size).toBe(41);
    expect(asked.splice(0)).toEqual(['hgetall']);
    await connection.del(table);
    const { id } = await keys.create(KEY);
    expect([...(await other.read()).keys.keys()]).toEqual([id]);
    expect(asked.splice(0)).toEqual(['hgetall']);
    await connection.hdel(table, id);
    expect((await other.read({ whole: true })).size).toBe(0);
    expect(made).toHaveLength(40);
  });
});

test('a tenant makes a bounded number of keys a minute, and revokes those that it has', async () => {
  const { connection, names, records, log } = installation();
  const charge = createKeyCount(connection, names);
  const keys = service({ records, log }, charge);
  const made = await keys.create(KEY);
  // A minute may end in between.
  const charged = await Promise.allSettled(Array.from({ length: 300 }, async () => charge('default')));
  expect(charged.filter(({ status }) => status === 'rejected').length).toBeGreaterThan(0);
  await charge('acme');
  expect(await keys.revoke(made.id, { force: true })).toMatchObject({ id: made.id });
});
