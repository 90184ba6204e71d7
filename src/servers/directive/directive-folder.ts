/** The directive/ folder: reads one file of it, lists all of them.
 *  It must never write, follow a link out of the folder, wait for a pipe, or read more than its bounds. */
import { constants, type Dirent } from 'node:fs';
import { type FileHandle, open, opendir, readlink, realpath } from 'node:fs/promises';
import { basename, join, resolve, sep } from 'node:path';
import { findInside, type Folder, type Found } from './inside.ts';
import { done, echoed, missing, type Outcome, refused, serverFault } from './refusal.ts';

export interface DirectiveFolder {
  /** The text of a file, exactly as it is stored. `path` is the client's. */
  read(path: string): Promise<Outcome<string>>;
  /** Paths that begin with `directive/`, sorted by code point. */
  list(): Promise<Outcome<string[]>>;
}

const NAME = 'directive';
const PREFIX = `${NAME}/`;
const MAX_PATH_CHARS = 4_096;
const MAX_FILE_BYTES = 1024 * 1024;
const MAX_ENTRIES = 10_000;
const MAX_DEPTH = 32;
/** A pipe or a device that takes the place of a file must not hold the call. */
const READING = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** `place`: the folder that holds directive/, or a folder of that name itself. It may appear later. */
export function createDirectiveFolder(place: string): DirectiveFolder {
  return {
    async read(path) {
      const folder = await folderAt(place);
      return folder === null ? refused(NO_FOLDER) : readIn(folder, path);
    },
    async list() {
      const folder = await folderAt(place);
      return folder === null ? refused(NO_FOLDER) : listIn(folder);
    },
  };
}

const NO_FOLDER = missing("directive/ directory not found. Run 'directive init' to create it.", {
  suggestion: 'Run `adjutant init --directive` in the folder for it.',
});

async function folderAt(place: string): Promise<Folder | null> {
  const holder = await folderOf(resolve(place));
  if (holder === null) return null;
  const found = await findInside(holder, [NAME]);
  if (found.kind === 'found' && found.stats.isDirectory()) {
    return { realPath: found.path, names: holder.names.map((name) => join(name, NAME)).concat(found.path) };
  }
  return basename(resolve(place)) === NAME ? holder : null;
}

async function folderOf(path: string): Promise<Folder | null> {
  const real = await realpath(path).catch(() => null);
  return real === null ? null : { realPath: real, names: [real, path] };
}

async function readIn(folder: Folder, path: string): Promise<Outcome<string>> {
  const notFound = refused(missing(`File not found under directive/: ${echoed(path)}`));
  if (path.includes('\0')) return refused(serverFault('path must not contain a NUL character', 'path'));
  if (path.length > MAX_PATH_CHARS) return notFound;
  const segments = segmentsOf(path);
  const found: Found = segments === null ? { kind: 'outside' } : await findInside(folder, segments);
  if (found.kind === 'outside') return refused(ESCAPE);
  if (found.kind === 'missing' || !found.stats.isFile()) return notFound;
  return (await readFound(folder, found)) ?? notFound;
}

const ESCAPE = serverFault('Path escape detected; refusing to read outside directive root', 'path');

/** null: the path leaves the folder, if only on its way. */
function segmentsOf(path: string): string[] | null {
  const below = path.startsWith(PREFIX) ? path.slice(PREFIX.length) : path;
  const kept: string[] = [];
  for (const segment of below.split('/')) {
    if (segment === '' || segment === '.') continue;
    if (segment !== '..') kept.push(segment);
    else if (kept.pop() === undefined) return null;
  }
  return kept;
}

type FoundFile = Extract<Found, { kind: 'found' }>;

/** null: the file is gone, is not ours to read, or another one has taken its place. */
async function readFound(folder: Folder, found: FoundFile): Promise<Outcome<string> | null> {
  const file = await open(found.path, READING).catch(() => null);
  if (file === null) return null;
  try {
    if (!(await isSame(file, found)) || !(await isStillInside(folder, file))) return null;
    const bytes = await readBounded(file);
    if (bytes === null) return refused(serverFault(`File is larger than ${MAX_FILE_BYTES} bytes`));
    return textOf(bytes);
  } catch {
    return refused(serverFault('File cannot be read'));
  } finally {
    await file.close();
  }
}

async function isSame(file: FileHandle, { stats }: FoundFile): Promise<boolean> {
  const opened = await file.stat({ bigint: true });
  return opened.isFile() && opened.dev === stats.dev && opened.ino === stats.ino;
}

/** A folder on the way may have been replaced by a link meanwhile. Only Linux says where an open file is. */
async function isStillInside({ realPath }: Folder, file: FileHandle): Promise<boolean> {
  const path = await readlink(`/proc/self/fd/${file.fd}`).catch(() => null);
  return path === null || path.startsWith(`${realPath}${sep}`);
}

/** null: there is more than the bound. The size of a file may change while it is read. */
async function readBounded(file: FileHandle): Promise<Buffer | null> {
  const { size } = await file.stat();
  if (size > MAX_FILE_BYTES) return null;
  const bytes = Buffer.alloc(MAX_FILE_BYTES + 1);
  let length = 0;
  for (;;) {
    const { bytesRead } = await file.read(bytes, length, bytes.length - length, length);
    length += bytesRead;
    if (length > MAX_FILE_BYTES) return null;
    if (bytesRead === 0) return bytes.subarray(0, length);
  }
}

function textOf(bytes: Buffer): Outcome<string> {
  try {
    return done(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    return refused(serverFault('File is not valid UTF-8'));
  }
}

async function listIn(folder: Folder): Promise<Outcome<string[]>> {
  const files: string[] = [];
  const ahead: string[][] = [[]];
  let entries = 0;
  for (let at = ahead.pop(); at !== undefined; at = ahead.pop()) {
    if (at.length > MAX_DEPTH) return refused(serverFault(`directive/ is deeper than ${MAX_DEPTH} folders`));
    for await (const entry of entriesOf(join(folder.realPath, ...at))) {
      entries += 1;
      if (entries > MAX_ENTRIES)
        return refused(serverFault(`directive/ holds more than ${MAX_ENTRIES} entries`));
      const segments = [...at, entry.name];
      if (entry.isDirectory()) ahead.push(segments);
      else if (await isListed(folder, entry, segments)) files.push(PREFIX + segments.join('/'));
    }
  }
  return done(files.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))));
}

/** A folder that may not be read, or has just gone, is left out. */
async function* entriesOf(path: string): AsyncGenerator<Dirent> {
  try {
    yield* await opendir(path);
  } catch {
    // It lists what can be read.
  }
}

/** Whether `read` would return it: a file, or a link to a file inside. A name that is no text cannot be asked for. */
async function isListed(folder: Folder, entry: Dirent, segments: readonly string[]): Promise<boolean> {
  if (entry.isFile() && !entry.name.includes('\uFFFD')) return true;
  if (!entry.isFile() && !entry.isSymbolicLink()) return false;
  const found = await findInside(folder, segments);
  return found.kind === 'found' && found.stats.isFile();
}
