/** The directive/ folder to begin with: writes it, and later renews the files that are ours.
 *  It must never overwrite a file of the project: its context, its specs; nor write through a link. */
import { lstat, mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

/** `adjutant`: renewed by an update. `project`: written once, when it is missing. */
type Owner = 'adjutant' | 'project';

const FILES: readonly (readonly [string, Owner])[] = [
  ['reference/agent_operating_procedure.md', 'adjutant'],
  ['reference/agent_context.md', 'project'],
  ['reference/templates/spec_template.md', 'adjutant'],
  ['reference/templates/impact_template.md', 'adjutant'],
  ['reference/templates/tdr_template.md', 'adjutant'],
];

/** Those of `FILES`, each after the one that holds it. */
const FOLDERS = ['directive', 'directive/reference', 'directive/reference/templates'] as const;

export interface FileChange {
  readonly path: string;
  readonly change: 'wrote' | 'updated' | 'kept';
}

/** A folder on the way to our files is a link, which may lead out of the project: nothing was written. */
export class LinkedFolderError extends Error {
  override readonly name = 'LinkedFolderError';
  /** Begins with `directive`. */
  readonly path: string;

  constructor(path: string) {
    super(`${path} is a link`);
    this.path = path;
  }
}

/** Writes the starter of `init`; existing files stay. Throws when it cannot write. */
export async function writeStarter(place: string): Promise<FileChange[]> {
  await refuseLinks(place);
  return Promise.all(FILES.map(async ([path]) => changeOf(place, path, 'project', true)));
}

/** Renews the starter for `update`. null: no directive/ folder exists. `writes` false: it only says what it would change. */
export async function renewStarter(place: string, writes: boolean): Promise<FileChange[] | null> {
  const folder = await stat(join(place, 'directive')).catch(() => null);
  if (folder?.isDirectory() !== true) return null;
  await refuseLinks(place);
  return Promise.all(FILES.map(async ([path, owner]) => changeOf(place, path, owner, writes)));
}

/** From the top down: what is under a link is not looked at. */
async function refuseLinks(place: string): Promise<void> {
  for (const path of FOLDERS) {
    const stats = await lstat(join(place, path)).catch(() => null);
    if (stats?.isSymbolicLink() === true) throw new LinkedFolderError(path);
  }
}

async function changeOf(place: string, path: string, owner: Owner, writes: boolean): Promise<FileChange> {
  const shown = `directive/${path}`;
  const ours = await readFile(new URL(`./starter/${path}`, import.meta.url));
  const there = await contentAt(join(place, shown));
  if (there !== null && (owner === 'project' || there.equals(ours))) return { path: shown, change: 'kept' };
  if (writes) await replace(join(place, shown), ours);
  return { path: shown, change: there === null ? 'wrote' : 'updated' };
}

/** Content of a file; null: it does not exist. */
async function contentAt(path: string): Promise<Buffer | null> {
  try {
    return await readFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** Whole or not at all, and never through a link. */
async function replace(path: string, content: Buffer): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const draft = `${path}.${process.pid}.new`;
  try {
    await writeFile(draft, content, { flag: 'wx' });
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
}
