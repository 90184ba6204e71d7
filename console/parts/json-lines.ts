/** A JSON value as lines of a tree: open and closed containers, matches of a search, and the path of each line.
 *  Never makes more lines than its limit, and never searches more than its bound of values. */

export type JsonKind = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null';

export interface JsonLine {
  /** Unique in the tree, and the key of its fold: the path, with a sign before it where a comparison has both sides of a path. */
  readonly id: string;
  /** JSONPath: `$.a["b c"][0]`. */
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
  /** Side of a comparison that has the line. Absent: both have it. */
  readonly side?: Side;
}

/** The first value of a comparison, or the second. */
export type Side = 'a' | 'b';

export interface JsonTree {
  readonly lines: readonly JsonLine[];
  /** Whether there are lines after the limit. */
  readonly isCut: boolean;
}

/** Decisions of a reader about containers, by the id of their line. */
export type Folds = ReadonlyMap<string, boolean>;

/** Longer texts are cut until they are opened. */
export const LONGEST_TEXT = 300;
/** Longer strings are not read as JSON. */
const LONGEST_PARSED = 1_000_000;
const MOST_VALUES = 50_000;

export interface LineOptions {
  readonly folds: Folds;
  /** Ids of containers that are open where the reader has not decided. */
  readonly open: { readonly has: (id: string) => boolean };
  readonly limit: number;
}

/** The lines from top to bottom, as far as the limit goes. */
export function jsonLines(root: unknown, options: LineOptions): JsonTree {
  const lines: JsonLine[] = [];
  const isWhole = addLines(lines, { value: root, key: null, path: '$', depth: 0 }, options);
  return { lines, isCut: !isWhole };
}

export interface JsonPlace {
  readonly value: unknown;
  readonly key: string | number | null;
  readonly path: string;
  readonly depth: number;
  readonly side?: Side;
}

/** Adds the lines of a value and of its open members; false: the limit ended them. */
export function addLines(lines: JsonLine[], place: JsonPlace, options: LineOptions): boolean {
  if (lines.length >= options.limit) return false;
  const { path, depth, side } = place;
  const line = lineOf(place, options);
  lines.push(line);
  const members = line.isOpen === true ? membersOf(unwrapped(place.value).value) : null;
  if (members === null) return true;
  return members.every(([key, value]) =>
    addLines(
      lines,
      { value, key, path: pathTo(path, key), depth: depth + 1, ...(side && { side }) },
      options,
    ),
  );
}

const SIGNS = { a: '-', b: '+' } as const;

export function lineOf(
  { value: given, key, path, depth, side }: JsonPlace,
  { folds, open }: Pick<LineOptions, 'folds' | 'open'>,
): JsonLine {
  const { value, isText } = unwrapped(given);
  const members = membersOf(value);
  const text = members === null ? scalarText(value) : countWords(value, members.length);
  const isFixed = members === null ? text.length <= LONGEST_TEXT : members.length === 0;
  const id = side === undefined ? path : `${SIGNS[side]}${path}`;
  const isOpen = isFixed ? null : (folds.get(id) ?? open.has(id));
  return {
    id,
    path,
    depth,
    key,
    kind: kindOf(value),
    text,
    isOpen,
    isText,
    value: given,
    ...(side && { side }),
  };
}

/** Containers that are open at first, breadth first, as long as their members fit into so many lines. */
export function firstOpen(root: unknown, count: number): ReadonlySet<string> {
  const open = new Set<string>();
  let left = count;
  let level: (readonly [string, unknown])[] = [['$', root]];
  while (level.length > 0) {
    const next: (readonly [string, unknown])[] = [];
    for (const [path, given] of level) {
      const members = membersOf(unwrapped(given).value) ?? [];
      if (members.length === 0 || (members.length > left && path !== '$')) continue;
      left -= members.length;
      open.add(path);
      for (const [name, member] of members.slice(0, count))
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
export function unwrapped(value: unknown): { readonly value: unknown; readonly isText: boolean } {
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

export function pathTo(path: string, name: string | number): string {
  if (typeof name === 'number') return `${path}[${name}]`;
  return /^[A-Za-z_]\w*$/.test(name) ? `${path}.${name}` : `${path}[${JSON.stringify(name)}]`;
}
