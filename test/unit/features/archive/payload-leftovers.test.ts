/** Which large payloads are removed from a real folder.
 *  It must not need Redis: who exists, and what Redis is called, is said by the test. */
import { mkdtempSync, readdirSync, rmSync, utimesSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createFolderObjects } from '../../../../src/features/archive/folder-objects.ts';
import { createLeftoverRemover, type Leftovers } from '../../../../src/features/archive/payload-leftovers.ts';

const LONG_AGO = new Date('2026-01-01');
const goOn = new AbortController().signal;
let root: string;
let name: string | null;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'adjutant-leftovers-'));
  name = 'redis-1';
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

async function putOld(installation: string, ids: readonly string[]): Promise<void> {
  const store = createFolderObjects(root);
  for (const id of ids) {
    const within = `i-${installation}/t-default/r-${id}`;
    await store.put(`${within}/`, 'object', Buffer.from(id));
    utimesSync(join(root, within), LONG_AGO, LONG_AGO);
  }
}

const left = (installation: string): string[] =>
  readdirSync(join(root, `i-${installation}`, 't-default')).toSorted();

const leftoversWith = (more: Partial<Leftovers>): Leftovers => ({
  store: createFolderObjects(root),
  installation: 'mine',
  exists: async () => false,
  scopedId: (_tenant, id) => id,
  redisName: async () => name,
  nameRedis: async () => (name ??= 'redis-new'),
  ...more,
});

test('a pass that has looked at its most goes on there the next time, and never looks at those of others', async () => {
  await putOld('mine', ['a', 'b', 'c', 'd', 'e']);
  await putOld('other', ['x', 'y', 'z']);
  const seen: string[] = [];
  const exists = async (id: string): Promise<boolean> => {
    seen.push(id);
    return true;
  };
  const pass = createLeftoverRemover(leftoversWith({ exists, mostLooks: 2 }));
  for (let passes = 0; passes < 3; passes += 1) expect(await pass(goOn)).toBe(0);
  expect(seen.toSorted()).toEqual(['a', 'b', 'c', 'd', 'e']);
});

test('an empty Redis, or another one, removes nothing', async () => {
  await putOld('mine', ['first']);
  expect(await createLeftoverRemover(leftoversWith({}))(goOn)).toBe(1);
  await putOld('mine', ['a', 'b']);
  const pass = createLeftoverRemover(leftoversWith({}));
  name = null;
  await expect(pass(goOn)).rejects.toThrow(/new or empty.*delete the file i-mine\/owner/);
  name = 'redis-2';
  await expect(pass(goOn)).rejects.toThrow(/another one/);
  expect(left('mine')).toEqual(['r-a', 'r-b']);
  name = 'redis-1';
  // It is replaced while it is asked.
  const exists = async (): Promise<boolean> => {
    name = null;
    return false;
  };
  expect(await createLeftoverRemover(leftoversWith({ exists }))(goOn)).toBe(0);
  expect(left('mine')).toEqual(['r-a', 'r-b']);
  name = 'redis-1';
  expect(await pass(goOn)).toBe(2);
});

test('what is written to while it is looked at stays', async () => {
  await putOld('mine', ['again']);
  const store = createFolderObjects(root);
  const folder = 'i-mine/t-default/r-again/';
  const exists = async (): Promise<boolean> => {
    await store.put(folder, 'new', Buffer.from('new'));
    return false;
  };
  expect(await createLeftoverRemover(leftoversWith({ exists }))(goOn)).toBe(0);
  expect((await store.get(folder, 'new', 100))?.toString()).toBe('new');
  expect((await store.get(folder, 'object', 100))?.toString()).toBe('again');
  expect(readdirSync(join(root, '.incoming'))).toEqual([]);
});
