/** Several services start at once in the folder of a dead one: one of them owns it.
 *  It must use real processes: each owner is known by its pid. */
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readLock, releaseLock, takeLock, writeLock } from '../../../../src/platform/redis/private-lock.ts';
import { spawnNode, spawnProcess } from '../../../support/process.ts';

const ROUNDS = 40;
let root: string;
let deadPid: number;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'adjutant-lock-'));
  const dead = spawnProcess('true', []);
  await dead.exited;
  deadPid = dead.pid;
});

afterEach(() => rm(root, { recursive: true, force: true }));

async function leftFolder(name: string, text = JSON.stringify(deadLock())): Promise<string> {
  const dir = join(root, name);
  await mkdir(dir);
  await writeFile(join(dir, 'owner.json'), text);
  return dir;
}

const deadLock = () => ({ pid: deadPid, startedAt: 1, serviceUrl: 'http://127.0.0.1:1' });

test('one of four processes takes over the folder of a dead one, every time', async () => {
  const takers = [1, 2, 3, 4].map(() => spawnNode(['test/support/folder-taker.ts']));
  try {
    await Promise.all(takers.map((taker) => taker.nextLine()));
    for (let round = 0; round < ROUNDS; round += 1) {
      const dir = await leftFolder(String(round), round % 8 === 7 ? '{' : undefined);
      for (const taker of takers) taker.write(`${dir}\n`);
      const said = await Promise.all(takers.map((taker) => taker.nextLine()));
      const refused = Array.from({ length: 3 }, () => 'PrivateRedisFailure');
      expect(said.toSorted(), `round ${round}`).toEqual([...refused, 'owner']);
      expect((await readLock(dir))?.pid).toBe(takers[said.indexOf('owner')]?.pid);
      expect(await readdir(dir)).toEqual(['owner.json']);
    }
  } finally {
    await Promise.all(takers.map((taker) => taker.kill9()));
  }
});

test('a lock of another owner is neither written over nor removed', async () => {
  const dir = await leftFolder('other');
  await expect(writeLock(dir, 'http://127.0.0.1:1')).rejects.toThrow(`process ${deadPid}`);
  await releaseLock(dir);
  expect(JSON.parse(await readFile(join(dir, 'owner.json'), 'utf8'))).toEqual(deadLock());
});

test('a process that died while it took the folder over does not block it', async () => {
  const dir = await leftFolder('twice');
  const text = await readFile(join(dir, 'owner.json'), 'utf8');
  await takeLock(dir);
  // As it leaves the folder when it dies between its claim and its lock.
  const claim = join(dir, `owner.json.${createHash('sha256').update(text).digest('hex').slice(0, 32)}`);
  await writeFile(claim, JSON.stringify({ ...deadLock(), startedAt: 2 }));
  await writeFile(join(dir, 'owner.json'), text);
  await takeLock(dir);
  expect((await readLock(dir))?.pid).toBe(process.pid);
  expect(await readdir(dir)).toEqual(['owner.json']);
});
