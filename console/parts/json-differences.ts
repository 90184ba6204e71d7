/** Two JSON values as lines of one tree, with the lines that only one of them has.
 *  Never makes more lines than its limit. Members are compared by name; a list, between its equal beginning and end, by place. */
import { isObject } from '../../src/contract/json/json-object.ts';
import {
  addLines,
  type JsonLine,
  type JsonPlace,
  lineOf,
  type LineOptions,
  pathTo,
  type Side,
  unwrapped,
} from './json-lines.ts';

/** The values to compare. An absent one is no value, which JSON has no word for. */
export interface ComparedValues {
  readonly a?: unknown;
  readonly b?: unknown;
}

export interface DifferenceTree {
  readonly lines: readonly JsonLine[];
  readonly isCut: boolean;
  /** Number of members or values that one side has and the other one lacks or has otherwise, among the lines. */
  readonly differences: number;
}

/** Deeper values are compared by their text. */
const DEEPEST = 200;

export interface DifferenceOptions extends LineOptions {
  /** Whether equal members have lines as well. */
  readonly isWhole: boolean;
}

export function differenceLines(values: ComparedValues, options: DifferenceOptions): DifferenceTree {
  const lines: JsonLine[] = [];
  let differences = 0;
  const one = (side: Side, place: Omit<Pair, 'a' | 'b'>, value: unknown): boolean =>
    addLines(lines, { ...place, value, side }, { ...options, open: OPEN });
  const walk = (pair: Pair): boolean => {
    if (lines.length >= options.limit) return false;
    const { a, b, ...place } = pair;
    if ('a' in pair && 'b' in pair && isEqual(a, b))
      return (!options.isWhole && place.depth > 0) || addLines(lines, { ...place, value: b }, options);
    const members = 'a' in pair && 'b' in pair ? membersOfBoth(unwrapped(a).value, unwrapped(b).value) : null;
    if (members === null) {
      differences += 1;
      return (!('a' in pair) || one('a', place, a)) && (!('b' in pair) || one('b', place, b));
    }
    const line = lineOf({ ...place, value: b }, { folds: options.folds, open: OPEN });
    lines.push(line);
    if (line.isOpen === false) return true;
    return members.every(({ key, ...sides }) =>
      walk({ ...sides, key, path: pathTo(place.path, key), depth: place.depth + 1 }),
    );
  };
  const isWhole = walk({ ...values, key: null, path: '$', depth: 0 });
  return { lines, isCut: !isWhole, differences };
}

const OPEN = { has: () => true };

type Pair = Omit<JsonPlace, 'value' | 'side'> & ComparedValues;
type Member = ComparedValues & { readonly key: string | number };

/** The members of two objects or two lists; null: the values are of different kinds, or have none. */
function membersOfBoth(a: unknown, b: unknown): Member[] | null {
  if (Array.isArray(a) && Array.isArray(b)) return itemsOfBoth(a, b);
  if (!isObject(a) || !isObject(b)) return null;
  return [...new Set([...Object.keys(a), ...Object.keys(b)])].map((key) => ({
    key,
    ...(Object.hasOwn(a, key) ? { a: a[key] } : {}),
    ...(Object.hasOwn(b, key) ? { b: b[key] } : {}),
  }));
}

/** An item that was inserted or removed moves those after it: the equal end is compared from the end. */
function itemsOfBoth(a: readonly unknown[], b: readonly unknown[]): Member[] {
  const shorter = Math.min(a.length, b.length);
  let start = 0;
  while (start < shorter && isEqual(a[start], b[start])) start += 1;
  let end = 0;
  while (end < shorter - start && isEqual(a.at(-1 - end), b.at(-1 - end))) end += 1;
  const between = Math.max(a.length, b.length) - end;
  const items: Member[] = [];
  for (let key = 0; key < between; key += 1)
    items.push({
      key,
      ...(key < a.length - end ? { a: a[key] } : {}),
      ...(key < b.length - end ? { b: b[key] } : {}),
    });
  for (let key = b.length - end; key < b.length; key += 1)
    items.push({ key, a: a[key - b.length + a.length], b: b[key] });
  return items;
}

/** Whether two values are the same JSON, whatever the order of their members; JSON in a text is read. */
function isEqual(one: unknown, other: unknown, depth = 0): boolean {
  if (Object.is(one, other)) return true;
  const [a, b] = [unwrapped(one).value, unwrapped(other).value];
  if (depth > DEEPEST) return JSON.stringify(a) === JSON.stringify(b);
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((item, at) => isEqual(item, b[at], depth + 1));
  if (!isObject(a) || !isObject(b)) return false;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && isEqual(a[name], b[name], depth + 1))
  );
}
