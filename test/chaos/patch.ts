/** Removals of protections: a guard that is marked in the sources, and what replaces the lines under its marker.
 *  A marker is a comment line, `// @guard <name>` or `-- @guard <name>`, and covers the next line, or with `+<n>` the next n + 1 lines. */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Patch {
  /** Name of the guard, unique in `src`. */
  readonly guard: string;
  /** Replaces the covered lines; '' removes them. */
  readonly becomes: string;
}

/** By the name of a mutation: what becomes of the guard of that name, or of each guard that it names. */
export type Mutations = Readonly<Record<string, string | Readonly<Record<string, string>>>>;

export function patchesOf(mutations: Mutations): [name: string, patches: Patch[]][] {
  return Object.entries(mutations).map(([name, removed]) => {
    const guards = typeof removed === 'string' ? { [name]: removed } : removed;
    return [name, Object.entries(guards).map(([guard, becomes]) => ({ guard, becomes }))];
  });
}

const MARKER = /^\s*(?:\/\/|--) @guard (\S+)(?: \+(\d+))?$/;

interface Marked {
  readonly file: string;
  /** Index of the marker's line. */
  readonly line: number;
  /** Number of covered lines; markers in between are not counted. */
  readonly length: number;
}

/** Every guard below `root`, by its name. A name that marks several places has all of them. */
export function guardsIn(root: string): ReadonlyMap<string, readonly Marked[]> {
  const guards = new Map<string, Marked[]>();
  for (const file of globSync('src/**/*.{ts,tsx,lua}', { cwd: root }))
    for (const [line, text] of readFileSync(join(root, file), 'utf8').split('\n').entries()) {
      const [, name, more = '0'] = MARKER.exec(text) ?? [];
      if (name === undefined) continue;
      const marked = guards.get(name) ?? [];
      marked.push({ file, line, length: Number(more) + 1 });
      guards.set(name, marked);
    }
  return guards;
}

/** The source without the protection. */
export function withoutGuard(source: string, { line, length }: Marked, { becomes }: Patch): string {
  const lines = source.split('\n');
  const indent = /^\s*/.exec(lines[line] ?? '')?.[0] ?? '';
  let end = line + 1;
  for (let left = length; left > 0 && end < lines.length; end += 1)
    if (!MARKER.test(lines[end] ?? '')) left -= 1;
  const replaced = becomes === '' ? [] : becomes.split('\n').map((text) => indent + text);
  // The number of lines stays as it was, so that other guards of the file are still found where they were.
  const rest = Array.from({ length: Math.max(0, end - line - replaced.length) }, () => '');
  return [...lines.slice(0, line), ...replaced, ...rest, ...lines.slice(end)].join('\n');
}

/** Removes the protections from the sources below `root`. Throws where a guard is not marked exactly once. */
export function applyPatches(root: string, patches: readonly Patch[]): void {
  const guards = guardsIn(root);
  for (const each of patches) {
    const [marked, ...others] = guards.get(each.guard) ?? [];
    if (marked === undefined || others.length > 0)
      throw new Error(`the guard ${each.guard} is marked ${others.length + (marked ? 1 : 0)} times`);
    const path = join(root, marked.file);
    writeFileSync(path, withoutGuard(readFileSync(path, 'utf8'), marked, each));
  }
}
