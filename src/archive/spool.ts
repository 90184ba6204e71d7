// Writes a request to a compressed file before it is stored, so that its size and digest are known and no memory holds it.
// Must never leave a file of this process behind, nor one of a dead process for long.
import { createHash, randomUUID } from 'node:crypto';
import { createWriteStream, existsSync } from 'node:fs';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
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

/** `use` gets the file; it is removed afterwards. */
export async function withSpooled<T>(
  folder: string,
  lines: AsyncIterable<string>,
  signal: AbortSignal,
  use: (spooled: Spooled) => Promise<T>,
): Promise<T> {
  // Only this one: a volume that is not mounted is a failure.
  if (!existsSync(folder)) await mkdir(folder, { mode: FOLDER_MODE }).catch(unlessThere);
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

/** What processes have left that died as they wrote. */
export async function removeOld(folder: string, now: number): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names.filter((each) => each.endsWith(ENDING))) {
    const path = join(folder, name);
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: now }));
    if (now - mtimeMs > OLD_MS) await rm(path, { force: true });
  }
}
