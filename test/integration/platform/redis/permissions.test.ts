/** A Redis whose user may not run everything, as managed services give one (BullMQ issues 2809 and 4757).
 *  It must use real ACL rules of a real server. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { examineRedis } from '../../../../src/cli/doctor/diagnosis.ts';
import { missingPermissions } from '../../../../src/platform/redis/permissions.ts';
import { askRedis } from '../../../../src/platform/redis/reach.ts';
import { closeRedis, connectRedis } from '../../../../src/platform/redis/connection.ts';
import { get } from '../../../support/public-api.ts';
import { type TestRedis, startRedis } from '../../../support/redis.ts';
import { startService } from '../../../support/running-service.ts';

let redis: TestRedis;

beforeAll(async () => {
  redis = await startRedis({ appendonly: true });
});

afterAll(async () => redis.stop());

/** The address of a user with these rules. */
async function userWith(name: string, rules: string): Promise<string> {
  const operator = connectRedis(redis.url, 'commands');
  await operator.call('ACL', 'SETUSER', name, 'reset', 'on', '>pw', ...rules.split(' '));
  await closeRedis(operator);
  return redis.url.replace('//', `//${name}:pw@`);
}

test.each([
  ['all', '~* &* +@all', [], []],
  ['without dangerous commands', '~* &* +@all -@dangerous', ['+info'], ['+config|get']],
  ['without administration', '~* &* +@all -@admin', [], ['+config|get']],
  ['with other keys', '~other* &* +@all', ['~adjutant*'], []],
  ['without channels', '~* resetchannels +@all', ['+publish'], []],
  ['without scripts', '~* &* +@all -@scripting', ['+@scripting'], []],
])('a user %s: what is missing is named', async (name, rules, required, optional) => {
  const url = await userWith(name.replaceAll(' ', '-'), rules);
  const missing = await askRedis(url, (connection) => missingPermissions(connection, 'adjutant'));
  const named = (isRequired: boolean): string[] =>
    missing.filter((permission) => permission.isRequired === isRequired).map(({ rule }) => rule);
  expect(named(true)).toEqual(required.map((rule) => expect.stringContaining(rule)));
  expect(named(false)).toEqual(expect.arrayContaining(optional.slice(0, 1)));
});

test('the doctor and the start name the permission and the rule that grants it', async () => {
  const url = await userWith('bare', '~* &* +@all -@dangerous');
  expect(await examineRedis(url, 'adjutant')).toMatchObject([
    { subject: 'permissions', ok: false, fix: 'Grant +info to the user in REDIS_URL.' },
    { subject: 'permissions', ok: true, fix: 'Grant +config|get to the user in REDIS_URL.' },
  ]);
  await expect(startService({ redisUrl: url, roles: { api: true } })).rejects.toThrow(/grant \+info/);
});

test('without CLIENT LIST and CONFIG all lanes are listed with their workers', async () => {
  const url = await userWith('managed', '~* &* +@all -@dangerous +info');
  await using service = await startService({ redisUrl: url, config: {} });
  const { body } = await get<{ lanes: { name: string; workers: number }[] }>(`${service.url}/v1/lanes`);
  expect(body.lanes.find(({ name }) => name === 'run')).toMatchObject({ workers: 1 });
});
