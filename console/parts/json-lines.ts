/** A JSON value as lines of a tree: what is open, what is found, and the path of each line.
 *  Never makes more lines than its limit, and never looks at more than its bound of values. */

export type JsonKind = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null';

export interface JsonLine {
  /** JSONPath, unique in the tree: `$.a["b c"][0]`. */
  readonly path: string;
  readonly depth: number;
  /** Name or index within its container; null: the root. */
  readonly key: string | number | null;
  readonly kind: JsonKind;
  /** Text of a scalar; of a container the number of its members. */
  readonly text: string;
  /** null: the value cannot be opened. */
  readonly isOpen: boolean | null;
  /** Whether the value is JSON within a string. */
  readonly isText: boolean;
  readonly value: unknown;
}

export interface JsonTree {
  readonly lines: readonly JsonLine[];
  /** Whether there are lines after the limit. */
  readonly isCut: boolean;
}

/** Decisions of a reader about containers, by path. */
export type Folds = ReadonlyMap<string, boolean>;

/** Longer texts are cut until they are opened. */
export const LONGEST_TEXT = 300;
/** Longer strings are not read as JSON. */
const LONGEST_PARSED = 1_000_000;
const MOST_VALUES = 50_000;

export interface LineOptions {
  readonly folds: Folds;
  /** Paths of containers that are open where the reader has not decided. */
  readonly open: ReadonlySet<string>;
  readonly limit: number;
}

/** The lines from top to bottom, as far as the limit goes. */
export function jsonLines(root: unknown, { folds, open, limit }: LineOptions): JsonTree {
  const lines: JsonLine[] = [];
  const walk = (given: unknown, key: string | number | null, path: string, depth: number): boolean => {
    if (lines.length >= limit) return false;
    const { value, isText } = unwrapped(given);
    const members = membersOf(value);
    const text = members === null ? scalarText(value) : countWords(value, members.length);
    const isLong = members === null && text.length > LONGEST_TEXT;
    const isEmpty = members?.length === 0;
    const isOpen = isEmpty || (members === null && !isLong) ? null : (folds.get(path) ?? open.has(path));
    lines.push({ path, depth, key, kind: kindOf(value), text, isOpen, isText, value: given });
    if (members === null || isOpen !== true) return true;
    return members.every(([name, member]) => walk(member, name, pathTo(path, name), depth + 1));
  };
  const isWhole = walk(root, null, '$', 0);
  return { lines, isCut: !isWhole };
}

/** Containers that are open at first, breadth first, as long as their members fit into `room` lines. */
export function firstOpen(root: unknown, room: number): ReadonlySet<string> {
  const open = new Set<string>();
  let left = room;
  let level: (readonly [string, unknown])[] = [['$', root]];
  while (level.length > 0) {
    const next: (readonly [string, unknown])[] = [];
    for (const [path, given] of level) {
      const members = membersOf(unwrapped(given).value) ?? [];
      if (members.length === 0 || (members.length > left && path !== '$')) continue;
      left -= members.length;
      open.add(path);
      for (const [name, member] of members.slice(0, room))
        if (typeof member === 'object' || typeof member === 'string') next.push([pathTo(path, name), member]);
    }
    level = left > 0 ? next : [];
  }
  return open;
}

export interface Found {
  /** Paths of the values that match, in their order. */
  readonly matches: readonly string[];
  /** Containers that lead to a match. */
  readonly open: ReadonlySet<string>;
  /** Whether the bound ended the search. */
  readonly isCut: boolean;
}

/** Values whose name or text holds the words, in any case. */
export function findInJson(root: unknown, words: string, most = 200): Found {
  const wanted = words.toLowerCase();
  const matches: string[] = [];
  const open = new Set<string>();
  let seen = 0;
  const walk = (
    given: unknown,
    key: string | number | null,
    path: string,
    above: readonly string[],
  ): void => {
    seen += 1;
    if (seen > MOST_VALUES || matches.length >= most) return;
    const { value } = unwrapped(given);
    const members = membersOf(value);
    const isMatch =
      String(key ?? '')
        .toLowerCase()
        .includes(wanted) ||
      (members === null && scalarText(value).toLowerCase().includes(wanted));
    if (isMatch) {
      matches.push(path);
      for (const each of above) open.add(each);
    }
    const below = [...above, path];
    for (const [name, member] of members ?? []) {
      if (seen > MOST_VALUES) return;
      walk(member, name, pathTo(path, name), below);
    }
  };
  if (wanted !== '') walk(root, null, '$', []);
  return { matches, open, isCut: seen > MOST_VALUES || matches.length >= most };
}

/** A string that is itself a JSON object or array is shown as that value, so that nothing is escaped twice. */
function unwrapped(value: unknown): { readonly value: unknown; readonly isText: boolean } {
  if (typeof value !== 'string') return { value, isText: false };
  const parsed = jsonInText(value);
  return parsed === null ? { value, isText: false } : { value: parsed, isText: true };
}

/** The object or array that a text holds; null: it holds none. */
export function jsonInText(text: string): object | null {
  if (text.length > LONGEST_PARSED || !/^\s*[[{]/.test(text)) return null;
  try {
    return JSON.parse(text) as object;
  } catch {
    return null;
  }
}

/** null: a scalar. */
function membersOf(value: unknown): readonly (readonly [string | number, unknown])[] | null {
  if (Array.isArray(value)) return value.map((item: unknown, index) => [index, item] as const);
  return typeof value === 'object' && value !== null ? Object.entries(value) : null;
}

function kindOf(value: unknown): JsonKind {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return 'array';
  const kind = typeof value;
  return kind === 'object' || kind === 'number' || kind === 'boolean' ? kind : 'string';
}

function scalarText(value: unknown): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'undefined');
}

function countWords(value: unknown, count: number): string {
  if (Array.isArray(value)) return count === 0 ? '[]' : `${count} ${count === 1 ? 'item' : 'items'}`;
  return count === 0 ? '{}' : `${count} ${count === 1 ? 'member' : 'members'}`;
}

function pathTo(path: string, name: string | number): string {
  if (typeof name === 'number') return `${path}[${name}]`;
  return /^[A-Za-z_]\w*$/.test(name) ? `${path}.${name}` : `${path}[${JSON.stringify(name)}]`;
}
