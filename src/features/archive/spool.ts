// Writes a request to a compressed file before it is stored, so that its size and digest are known and no memory holds it.
// Must never leave a file of this process behind, nor one of a dead process for long.
import { createHash, randomUUID } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { lstat, mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Spooled } from './archive-store.ts';

const FILE_MODE = 0o600;
const FOLDER_MODE = 0o700;
/** Far longer than a request takes. */
const OLD_MS = 3_600_000;
const ENDING = '.spool';
/** Prefix of folders in the temporary folder, which others may write to: each file has a private folder. */
const OWN_FOLDER = 'adjutant-spool-';

/** `use` gets the file; it is removed afterwards. `folder` null: the temporary folder. */
export async function withSpooled<T>(
  folder: string | null,
  lines: AsyncIterable<string>,
  signal: AbortSignal,
  use: (spooled: Spooled) => Promise<T>,
): Promise<T> {
  if (folder === null) return inOwnFolder((own) => spooledIn(own, lines, signal, use));
  // Only this one: a volume that is not mounted is a failure.
  await mkdir(folder, { mode: FOLDER_MODE }).catch(unlessThere);
  return spooledIn(folder, lines, signal, use);
}

async function inOwnFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), OWN_FOLDER));
  try {
    return await use(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function spooledIn<T>(
  folder: string,
  lines: AsyncIterable<string>,
  signal: AbortSignal,
  use: (spooled: Spooled) => Promise<T>,
): Promise<T> {
  const path = join(folder, `${randomUUID()}${ENDING}`);
  try {
    const digest = createHash('sha256');
    let bytes = 0;
    const seen = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        digest.update(chunk);
        bytes += chunk.length;
        done(null, chunk);
      },
    });
    const file = createWriteStream(path, { flags: 'wx', mode: FILE_MODE, flush: true });
    await pipeline(Readable.from(lines), createGzip(), seen, file, { signal });
    return await use({ path, bytes, sha256: digest.digest('hex') });
  } finally {
    await rm(path, { force: true });
  }
}

function unlessThere(error: NodeJS.ErrnoException): void {
  if (error.code !== 'EEXIST') throw error;
}

/** Removes files of processes that died while writing. `folder` as above. */
export async function removeOld(folder: string | null, now: number, temporary = tmpdir()): Promise<void> {
  const [where, isLeft] =
    folder === null
      ? [temporary, (name: string) => name.startsWith(OWN_FOLDER)]
      : [folder, (name: string) => name.endsWith(ENDING)];
  const names = await readdir(where).catch(() => []);
  for (const name of names.filter(isLeft)) {
    const path = join(where, name);
    const found = await lstat(path).catch(() => null);
    // Others may have put there what looks alike, as a link.
    if (found === null || now - found.mtimeMs <= OLD_MS || found.uid !== process.getuid?.()) continue;
    if (folder === null ? found.isDirectory() : found.isFile())
      await rm(path, { recursive: true, force: true });
  }
}
