/** One place of a stranger's JSON schema, as a form can use it: references followed, nullable unions reduced.
 *  It must never follow a schema for longer than a few steps, nor read an inherited member. */
import { isObject } from '../../../src/contract/json/json-object.ts';

export type Schema = Readonly<Record<string, unknown>>;

const MOST_STEPS = 8;
const LONGEST_REFERENCE = 256;

/** null: it is no object, goes round in circles, or says more than a form can. */
export function plainSchema(given: unknown, root: Schema): Schema | null {
  let schema = given;
  const outer: Schema[] = [];
  for (let step = 0; step < MOST_STEPS; step += 1) {
    if (!isObject(schema)) return null;
    const next = innerOf(schema, root);
    if (next === schema) return withOuterWords(schema, outer);
    outer.push(schema);
    schema = next;
  }
  return null;
}

/** The schema that a reference means; without a reference, the schema itself. */
function innerOf(schema: Schema, root: Schema): unknown {
  const reference = member(schema, '$ref');
  if (reference !== undefined) {
    const target = atReference(reference, root);
    return target === schema ? null : target;
  }
  for (const name of ['anyOf', 'oneOf', 'allOf']) {
    const branches = member(schema, name);
    if (branches === undefined) continue;
    if (!Array.isArray(branches)) return null;
    if (name === 'oneOf' || name === 'anyOf') {
      if (namedConstants(schema) !== null) return schema;
      const others = branches.slice(0, 3).filter((branch) => !isNull(branch));
      return branches.length <= 2 && others.length === 1 ? others[0] : null;
    }
    return branches.length === 1 ? branches[0] : null;
  }
  return schema;
}

/** Title, description and default stand beside a reference as often as behind it. */
function withOuterWords(schema: Schema, outer: readonly Schema[]): Schema {
  if (outer.length === 0) return schema;
  const words: [string, unknown][] = [];
  for (const each of outer.toReversed()) {
    for (const name of ['title', 'description', 'default']) {
      const value = member(each, name);
      if (value !== undefined) words.push([name, value]);
    }
  }
  return { ...schema, ...Object.fromEntries(words) };
}

/** Only within the schema itself: `#/$defs/name`. */
function atReference(reference: unknown, root: Schema): unknown {
  if (typeof reference !== 'string' || reference.length > LONGEST_REFERENCE) return null;
  if (reference === '#') return root;
  if (!reference.startsWith('#/')) return null;
  let place: unknown = root;
  for (const name of reference.slice(2).split('/').slice(0, MOST_STEPS)) {
    if (!isObject(place)) return null;
    place = member(place, nameOf(name));
  }
  return place;
}

function nameOf(escaped: string): string {
  return decoded(escaped).replaceAll('~1', '/').replaceAll('~0', '~');
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export function member(schema: Schema, name: string): unknown {
  return Object.hasOwn(schema, name) ? schema[name] : undefined;
}

function isNull(schema: unknown): boolean {
  return isObject(schema) && member(schema, 'type') === 'null';
}

const MOST_CHOICES = 200;

/** `oneOf` of constants with titles: a choice. null: it is something else. */
export function namedConstants(schema: Schema): readonly Schema[] | null {
  const branches = member(schema, 'oneOf') ?? member(schema, 'anyOf');
  if (!Array.isArray(branches) || branches.length === 0 || branches.length > MOST_CHOICES) return null;
  const isConstant = (branch: unknown): branch is Schema =>
    isObject(branch) && Object.hasOwn(branch, 'const');
  return branches.every(isConstant) ? branches : null;
}

/** The type but null; null: none, or several. */
export function typeOf(schema: Schema): string | null {
  const type = member(schema, 'type');
  if (typeof type === 'string') return type;
  if (!Array.isArray(type)) return null;
  const others = type.slice(0, 8).filter((each) => each !== 'null');
  return others.length === 1 && typeof others[0] === 'string' ? others[0] : null;
}
