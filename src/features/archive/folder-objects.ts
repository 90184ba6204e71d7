// Large payloads as files of a folder, which all processes of the service see.
// Must never show a file that is not whole, nor make the folder where it is not mounted.
import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { access, mkdir, open, opendir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { checkFolder, codeOf, FOLDER_MODE, folderPlace, INCOMING, synced } from './folder-files.ts';
import type { ObjectStore } from './object-store.ts';
import { createTimeLimit } from './time-limit.ts';

/** As of its folder. */
const FILE_MODE = 0o600;
/** For one file, milliseconds. */
const FILE_MS = 5_000;

export function createFolderObjects(folder: string): ObjectStore {
  const root = resolve(folder);
  const inTime = createTimeLimit(FILE_MS);
  return {
    place: folderPlace(root),
    check: async () => inTime(root, async () => checkFolder(root)),
    put: async (within, name, bytes) => inTime(root, async () => written(root, within, name, bytes)),
    get: async (within, name, mostBytes) =>
      inTime(root, async () => {
        await access(root, constants.R_OK);
        return readWhole(join(root, within, name), mostBytes);
      }),
    removeOne: async (within, name) =>
      inTime(root, async () => rm(join(root, within, name), { force: true })),
    idleFolders: (idleMs, within) => idleFolders(root, within, Date.now() - idleMs),
    removeIdle: async (within, idleMs) =>
      inTime(root, async () => removedIdle(root, within, Date.now() - idleMs)),
  };
}

/** Under its name it appears in one step, after its bytes are on the disk. */
async function written(root: string, within: string, name: string, bytes: Buffer): Promise<void> {
  await access(root, constants.W_OK);
  const [incoming, target] = [join(root, INCOMING), join(root, within)];
  await mkdir(incoming, { recursive: true, mode: FOLDER_MODE });
  await mkdir(target, { recursive: true, mode: FOLDER_MODE });
  const draft = join(incoming, randomUUID());
  const file = await open(draft, 'wx', FILE_MODE);
  try {
    await file.writeFile(bytes);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, join(target, name)).catch(async (error: unknown) => {
    // It was idle, and was moved away a moment ago.
    if (codeOf(error) !== 'ENOENT') throw error;
    await mkdir(target, { recursive: true, mode: FOLDER_MODE });
    await rename(draft, join(target, name));
  });
  for (let at = target; at.length >= root.length; at = dirname(at)) await synced(at);
}

/** null: there is none, or a larger one. */
async function readWhole(path: string, mostBytes: number): Promise<Buffer | null> {
  const file = await open(path).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  });
  if (file === null) return null;
  try {
    const { size } = await file.stat();
    return size > mostBytes ? null : await file.readFile();
  } finally {
    await file.close();
  }
}

/** Moved away first: what is written meanwhile is seen by its time, or begins a folder of its own. */
async function removedIdle(root: string, within: string, before: number): Promise<boolean> {
  const aside = join(root, INCOMING, randomUUID());
  await mkdir(join(root, INCOMING), { recursive: true, mode: FOLDER_MODE });
  try {
    await rename(join(root, within), aside);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false;
    throw error;
  }
  const isIdle = await isOlder(aside, before);
  if (!isIdle) await putBack(aside, join(root, within));
  await rm(aside, { recursive: true, force: true });
  return isIdle;
}

/** Beside what was written there since. */
async function putBack(aside: string, target: string): Promise<void> {
  await mkdir(target, { recursive: true, mode: FOLDER_MODE });
  for await (const name of entriesOf(aside)) await rename(join(aside, name), join(target, name));
}

/** Folders of one installation, two levels below its own; also the drafts that a dead process has left. */
async function* idleFolders(root: string, installation: string, before: number): AsyncGenerator<string> {
  for await (const draft of entriesOf(join(root, INCOMING)))
    if (await isOlder(join(root, INCOMING, draft), before)) yield join(INCOMING, draft);
  for await (const tenant of entriesOf(join(root, installation)))
    for await (const request of entriesOf(join(root, installation, tenant))) {
      const within = join(installation, tenant, request);
      if (await isOlder(join(root, within), before)) yield within;
    }
}

async function* entriesOf(path: string): AsyncGenerator<string> {
  const folder = await opendir(path).catch(() => null);
  if (folder === null) return;
  for await (const { name } of folder) yield name;
}

async function isOlder(path: string, before: number): Promise<boolean> {
  const found = await stat(path).catch(() => null);
  return found !== null && found.mtimeMs < before;
}
