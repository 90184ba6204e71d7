/** The seal of every `adjutant mcp` of a folder: a random value in `.adjutant/`, made by the first process.
 *  It must never make that folder, nor trust a file that another user could have written or read. */
import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { link, lstat, open, readdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';

const NAME = 'mcp-seal';
const BYTES = 32;
const FORM = /^[0-9a-f]{64}$/;
/** Readable and writable by the owner only. */
const MODE = 0o600;
const OTHERS = 0o077;
const DRAFT = /^mcp-seal\.\d+-[0-9a-f]{12}$/;
/** Age of a draft that was left by a process that died. */
const OLD_MS = 60_000;

/** Rejects with a sentence where the file cannot be trusted or made; null: the folder has no `.adjutant/`. */
export async function sharedSeal(folder: string): Promise<string | null> {
  const dir = join(folder, '.adjutant');
  const state = await lstat(dir).catch(() => null);
  if (state === null || !state.isDirectory()) return null;
  const file = join(dir, NAME);
  await removeOldDrafts(dir);
  return (await readSeal(file)) ?? (await makeSeal(file));
}

/** null: there is none. */
async function readSeal(file: string): Promise<string | null> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const handle = await open(file, flags).catch(absent);
  if (handle === null) return null;
  try {
    const state = await handle.stat();
    const isMine = process.getuid === undefined || state.uid === process.getuid();
    if (!state.isFile() || !isMine || (process.getuid !== undefined && (state.mode & OTHERS) !== 0))
      throw new Error(`${file} must be a file that only you can read (chmod 600)`);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(2 * BYTES + 1), 0, 2 * BYTES + 1, 0);
    const text = buffer.toString('latin1', 0, bytesRead);
    if (!FORM.test(text)) throw new Error(`${file} is damaged: remove it`);
    return text;
  } finally {
    await handle.close();
  }
}

/** Whole or not there: it is written under another name, and the first that gives it its name has made it. */
async function makeSeal(file: string): Promise<string> {
  const draft = `${file}.${process.pid}-${randomBytes(6).toString('hex')}`;
  const handle = await open(draft, 'wx', MODE);
  try {
    await handle.writeFile(randomBytes(BYTES).toString('hex'));
    await handle.sync();
    await link(draft, file).catch(existing);
  } finally {
    await handle.close();
    await unlink(draft);
  }
  const made = await readSeal(file);
  if (made === null) throw new Error(`${file} was removed`);
  return made;
}

/** Removes drafts that dead processes left; they hold unused values. */
async function removeOldDrafts(dir: string): Promise<void> {
  const names = await readdir(dir).catch(() => []);
  for (const name of names.filter((each) => DRAFT.test(each))) {
    const path = join(dir, name);
    const state = await lstat(path).catch(() => null);
    if (state?.isFile() && Date.now() - state.mtimeMs > OLD_MS) await unlink(path).catch(() => {});
  }
}

function absent(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null;
  throw error;
}

function existing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}
