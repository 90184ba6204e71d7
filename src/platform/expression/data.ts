// JSON as expressions read it, and their values as JSON.
// Never shows a part of a value that is too large: it counts as unreadable.
import { isObject } from '../../contract/json/json-object.ts';
import type { Data, Expression } from './expression.ts';

/** Values, and characters of texts and names, that expressions can read: an expression visits each of them for each other one at most. */
const MOST_VALUES = 2_000;
const MOST_CHARACTERS = 262_144;
const DEEPEST = 32;

const TOO_LARGE = new RangeError('the value is too large for expressions');

export interface ReadData {
  /** undefined: the value is too large. */
  readonly data: Data | undefined;
  /** Time of reading all of it, in that of a character. */
  readonly weight: number;
  /** Time of reading all of it in each round of a loop over its values. */
  readonly loopWeight: number;
}

/** Time of a value, in that of a character. */
const VALUE_WEIGHT = 8;

const UNREADABLE: ReadData = { data: undefined, weight: Infinity, loopWeight: Infinity };

/** How often expressions go through a value. */
export interface Reads {
  readonly once: number;
  /** In each round of a loop. */
  readonly inLoops: number;
}

/** Reads times the weight: at most 15 ms of processor time, as of `size`. */
const MOST_READ = 1_500_000;
/** Likewise at most 20 ms. A decision has one of these, and two of those: of the operator and of the tenant. */
const MOST_READ_IN_LOOPS = 8_000_000;

export function readsOf(expressions: readonly Expression[]): Reads {
  const sum = (inLoops: boolean): number =>
    expressions.reduce((all, { repeats, cost }) => all + (repeats === inLoops ? cost.reads : 0), 0);
  return { once: sum(false), inLoops: sum(true) };
}

/** Whether the expressions end in time. */
export function isReadable({ weight, loopWeight }: ReadData, { once, inLoops }: Reads): boolean {
  return weight * once <= MOST_READ && loopWeight * inLoops <= MOST_READ_IN_LOOPS;
}

/** Objects of JSON become maps, so that no name means a member of a prototype. */
export function dataFrom(json: unknown): ReadData {
  const left = { values: MOST_VALUES, characters: MOST_CHARACTERS };

  function converted(value: unknown, depth: number): Data {
    left.values -= 1;
    if (typeof value === 'string') left.characters -= value.length;
    if (left.values < 0 || left.characters < 0 || depth > DEEPEST) throw TOO_LARGE;
    if (Array.isArray(value)) return (value as unknown[]).map((each) => converted(each, depth + 1));
    if (!isObject(value)) return value as Data;
    const map = new Map<string, Data>();
    for (const name of Object.keys(value)) {
      left.characters -= name.length;
      map.set(name, converted((value as Record<string, unknown>)[name], depth + 1));
    }
    return map;
  }

  try {
    const data = converted(json, 0);
    const values = MOST_VALUES - left.values;
    const characters = MOST_CHARACTERS - left.characters;
    return {
      data,
      weight: characters + VALUE_WEIGHT * values,
      loopWeight: values * (values + characters),
    };
  } catch (error) {
    if (error === TOO_LARGE) return UNREADABLE;
    throw error;
  }
}

/** The value of an expression as JSON: maps become objects, instants texts. Throws where it has no such form. */
export function jsonFrom(value: unknown): unknown {
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'bigint' || typeof value === 'number') return Number(value);
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return (value as unknown[]).map(jsonFrom);
  if (value instanceof Map)
    return Object.fromEntries([...value].map(([name, each]) => [String(name), jsonFrom(each)]));
  if (isObject(value))
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, jsonFrom(each)]));
  throw new TypeError('the value of the expression is no JSON');
}
