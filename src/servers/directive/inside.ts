/** Finds what a path names inside a folder, one segment after the other, links included.
 *  It never accesses anything outside the folder, not even to test whether it exists. */
import type { BigIntStats } from 'node:fs';
import { lstat, readlink } from 'node:fs/promises';
import { isAbsolute, join, sep } from 'node:path';

export interface Folder {
  /** Without links. */
  readonly realPath: string;
  /** The ways in which an absolute link may name it. */
  readonly names: readonly string[];
}

export type Found =
  | { readonly kind: 'found'; readonly path: string; readonly stats: BigIntStats }
  | { readonly kind: 'missing' }
  | { readonly kind: 'outside' };

const MISSING: Found = { kind: 'missing' };
const OUTSIDE: Found = { kind: 'outside' };

/** As Linux: a longer chain of links is a circle. */
const MAX_LINKS = 40;

interface Walk {
  readonly folder: Folder;
  /** Segments of the place where the walk is; none of them is a link. */
  readonly behind: string[];
  /** Segments still to be walked, the next one last. */
  readonly ahead: string[];
  stats: BigIntStats | null;
  links: number;
}

/** `segments` may hold `..`, which must not leave the folder on the way either. */
export async function findInside(folder: Folder, segments: readonly string[]): Promise<Found> {
  const stats = await statsOf(folder.realPath);
  const walk: Walk = { folder, behind: [], ahead: segments.toReversed(), stats, links: 0 };
  for (let name = walk.ahead.pop(); name !== undefined; name = walk.ahead.pop()) {
    const end = name === '..' ? await goUp(walk) : await goDown(walk, name);
    if (end !== null) return end;
  }
  return walk.stats === null ? MISSING : { kind: 'found', path: placeOf(walk), stats: walk.stats };
}

/** The end of the walk; null: it goes on. */
async function goUp(walk: Walk): Promise<Found | null> {
  if (walk.behind.pop() === undefined) return OUTSIDE;
  walk.stats = await statsOf(placeOf(walk));
  return null;
}

async function goDown(walk: Walk, name: string): Promise<Found | null> {
  if (name === '' || name === '.') return null;
  if (!isName(name)) return MISSING;
  const path = join(placeOf(walk), name);
  const stats = await statsOf(path);
  if (stats === null) return MISSING;
  if (stats.isSymbolicLink()) return followLink(walk, path);
  walk.behind.push(name);
  walk.stats = stats;
  return null;
}

async function followLink(walk: Walk, path: string): Promise<Found | null> {
  walk.links += 1;
  const target = walk.links > MAX_LINKS ? null : await linkTarget(path);
  if (target === null) return MISSING;
  const onward = isAbsolute(target) ? segmentsBelow(walk.folder, target) : target.split(sep);
  if (onward === null) return OUTSIDE;
  if (isAbsolute(target)) walk.behind.length = 0;
  walk.ahead.push(...onward.toReversed());
  walk.stats = await statsOf(placeOf(walk));
  return null;
}

function placeOf({ folder, behind }: Walk): string {
  return join(folder.realPath, ...behind);
}

/** null: the target is not below the folder. */
function segmentsBelow({ names }: Folder, target: string): string[] | null {
  for (const name of names) {
    if (target === name) return [];
    if (target.startsWith(`${name}${sep}`)) return target.slice(name.length + 1).split(sep);
  }
  return null;
}

/** Where `\` separates, a segment must not hold one, nor a drive or a stream. */
function isName(segment: string): boolean {
  return segment.isWellFormed() && !(sep === '\\' && /[\\:]/.test(segment));
}

async function statsOf(path: string): Promise<BigIntStats | null> {
  return lstat(path, { bigint: true }).catch(() => null);
}

async function linkTarget(path: string): Promise<string | null> {
  return readlink(path).catch(() => null);
}
