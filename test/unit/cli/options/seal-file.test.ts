/** The seal that several `adjutant mcp` of a folder share, on a real file system.
 *  It must not start a process: what counts is the file. */
import { chmod, mkdir, mkdtemp, readdir, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sharedSeal } from '../../../../src/cli/options/seal-file.ts';
import { eachTest } from '../../../support/shared.ts';

const SEAL = 'a'.repeat(64);

const place = eachTest(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'adjutant-seal-'));
  const state = join(folder, '.adjutant');
  await mkdir(state);
  return {
    folder,
    state,
    file: join(state, 'mcp-seal'),
    [Symbol.asyncDispose]: async () => rm(folder, { recursive: true }),
  };
});

test('all that ask at once get the same value, which only the owner can read, and nothing else is left', async () => {
  const seals = await Promise.all(Array.from({ length: 20 }, async () => sharedSeal(place.folder)));
  expect(new Set(seals).size).toBe(1);
  expect(seals[0]).toMatch(/^[0-9a-f]{64}$/);
  expect(await sharedSeal(place.folder)).toBe(seals[0]);
  expect((await stat(place.file)).mode & 0o777).toBe(0o600);
  expect(await readdir(place.state)).toEqual(['mcp-seal']);
});

test('a draft that a killed process has left is removed, and one that is being written stays', async () => {
  const [old, young, other] = ['mcp-seal.1-0123456789ab', 'mcp-seal.2-0123456789ab', 'mcp-seal.1-mine'];
  for (const name of [old, young, other]) await writeFile(join(place.state, name), SEAL);
  const before = new Date(Date.now() - 120_000);
  for (const name of [old, other]) await utimes(join(place.state, name), before, before);
  await sharedSeal(place.folder);
  expect((await readdir(place.state)).sort()).toEqual(['mcp-seal', other, young].sort());
});

test('a folder without .adjutant gets none', async () => {
  expect(await sharedSeal(join(place.folder, 'elsewhere'))).toBeNull();
  expect(await sharedSeal(place.state)).toBeNull();
});

test.each([
  ['can be read by others', async () => chmod(place.file, 0o644), 'chmod 600'],
  ['is no file', async () => rm(place.file).then(async () => mkdir(place.file)), 'must be a file'],
  ['is cut', async () => writeFile(place.file, 'a'), 'damaged: remove it'],
  ['is longer', async () => writeFile(place.file, SEAL.repeat(1_000)), 'damaged: remove it'],
  [
    'leads elsewhere',
    async () => rm(place.file).then(async () => symlink(join(place.folder, 'other'), place.file)),
    'mcp-seal',
  ],
])('one that %s is refused in a sentence, and stays as it is', async (_, spoil, words) => {
  await writeFile(join(place.folder, 'other'), SEAL, { mode: 0o600 });
  await writeFile(place.file, SEAL, { mode: 0o600 });
  expect(await sharedSeal(place.folder)).toBe(SEAL);
  await spoil();
  await expect(sharedSeal(place.folder)).rejects.toThrow(words);
  expect(await readdir(place.state)).toEqual(['mcp-seal']);
});
