/** Fits the input schema of a tool for the providers of models, each of which refuses a whole request for one schema.
 *  The fitted schema never allows less: the arguments of a call are checked against the whole schema. */
import { shortened } from './shortened-text.ts';

type Schema = Readonly<Record<string, unknown>>;

export interface ModelSchemaOptions {
  /** The names that the provider accepts for arguments. Default: all. */
  readonly names?: RegExp;
}

/** An object with properties, without references and without a choice at its root; the description keeps the rest as text. */
export function modelSchema(schema: Schema, { names = ANY_NAME }: ModelSchemaOptions = {}): Schema {
  const walk: Walk = { root: schema, open: new Set(), depth: 0, budget: { schemas: MAX_SCHEMAS } };
  const { description, ...whole } = fitted(schema, walk);
  const folded = foldedObject(whole, 0);
  const isTaken = ([name]: [string, unknown]): boolean => names.test(name);
  const all = Object.entries(folded.properties);
  const properties = Object.fromEntries(all.filter(isTaken));
  const others = all.filter((argument) => !isTaken(argument));
  const required = [...folded.required].filter((name) => Object.hasOwn(properties, name));
  const keywords = Object.entries(whole);
  const choices = keywords.filter(([keyword]) => REFUSED_AT_ROOT.has(keyword));
  const kept = keywords.filter(([keyword]) => !isFolded(keyword) && !isClosing(keyword, others));
  const notes = [
    typeof description === 'string' ? description : '',
    noteOf('The arguments also match this JSON Schema', choices),
    noteOf('Further arguments, by name', others),
  ].filter((note) => note !== '');
  return {
    ...Object.fromEntries(kept),
    type: 'object',
    ...(notes.length === 0 ? {} : { description: notes.join('\n') }),
    properties,
    ...(required.length === 0 ? {} : { required }),
  };
}

const ANY_NAME = /^/;

function isFolded(keyword: string): boolean {
  return REFUSED_AT_ROOT.has(keyword) || keyword === 'required';
}

function isClosing(keyword: string, others: readonly unknown[]): boolean {
  return keyword === 'additionalProperties' && others.length > 0;
}

/** Larger schemas do not fit into the context of a model. */
const MAX_SCHEMAS = 5_000;
const MAX_DEPTH = 64;
const MAX_NOTE_CHARACTERS = 1_000;

/** OpenAI refuses all of these at the root, Anthropic the first three. */
const REFUSED_AT_ROOT: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf', 'not', 'enum', 'const']);

function noteOf(what: string, members: readonly [string, unknown][]): string {
  if (members.length === 0) return '';
  return `${what}: ${shortened(JSON.stringify(Object.fromEntries(members)), MAX_NOTE_CHARACTERS)}`;
}

interface Walk {
  readonly root: Schema;
  /** The references that lead here. */
  readonly open: ReadonlySet<string>;
  readonly depth: number;
  readonly budget: { schemas: number };
}

/** References are replaced by the schemas that they name: no provider takes all of them. */
function fitted(schema: unknown, walk: Walk): Schema {
  walk.budget.schemas -= 1;
  if (!isObject(schema) || walk.depth > MAX_DEPTH || walk.budget.schemas < 0) return {};
  const { $ref: reference, ...own } = schema;
  const inner = { ...walk, depth: walk.depth + 1 };
  const named = typeof reference === 'string' ? namedSchema(reference, inner) : {};
  return { ...named, ...withKeywords(own, inner) };
}

/** A reference to a schema around it, or to another document, allows anything of its type. */
function namedSchema(reference: string, walk: Walk): Schema {
  const target = targetOf(reference, walk.root);
  if (!isObject(target)) return {};
  if (walk.open.has(reference)) return typeof target['type'] === 'string' ? bareType(target['type']) : {};
  return fitted(target, { ...walk, open: new Set([...walk.open, reference]) });
}

function bareType(type: string): Schema {
  return type === 'array' ? { type, items: {} } : { type };
}

function targetOf(reference: string, root: Schema): unknown {
  if (reference === '#') return root;
  if (!reference.startsWith('#/')) return undefined;
  let target: unknown = root;
  for (const step of reference.slice(2).split('/')) {
    const name = decoded(step).replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof target !== 'object' || target === null || !Object.hasOwn(target, name)) return undefined;
    target = (target as Record<string, unknown>)[name];
  }
  return target;
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}

const MAPS: ReadonlySet<string> = new Set(['properties', 'patternProperties', 'dependentSchemas']);
const LISTS: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems']);
const SINGLE: ReadonlySet<string> = new Set([
  'items',
  'contains',
  'propertyNames',
  'not',
  'if',
  'then',
  'else',
]);
const OR_BOOLEAN: ReadonlySet<string> = new Set([
  'additionalProperties',
  'unevaluatedProperties',
  'additionalItems',
  'unevaluatedItems',
]);
/** Definitions are in the places that named them. */
const DROPPED: ReadonlySet<string> = new Set([
  '$schema',
  '$id',
  'id',
  '$anchor',
  '$dynamicAnchor',
  '$dynamicRef',
  '$recursiveAnchor',
  '$recursiveRef',
  '$comment',
  '$defs',
  'definitions',
]);

function withKeywords(schema: Schema, walk: Walk): Schema {
  const keywords: [string, unknown][] = [];
  for (const [keyword, value] of Object.entries(schema)) {
    const fit = keywordOf(keyword, value, walk);
    if (fit !== undefined) keywords.push([keyword, fit]);
  }
  return withParts(Object.fromEntries(keywords));
}

/** undefined: without the keyword the schema allows more, and every provider takes it. */
function keywordOf(keyword: string, value: unknown, walk: Walk): unknown {
  if (DROPPED.has(keyword)) return undefined;
  if (MAPS.has(keyword)) return isObject(value) ? fittedMap(value, walk) : undefined;
  if (LISTS.has(keyword)) return isFilled(value) ? value.map((each) => fitted(each, walk)) : undefined;
  if (OR_BOOLEAN.has(keyword)) return typeof value === 'boolean' ? value : fitted(value, walk);
  // The older drafts list the items of a tuple.
  if (keyword === 'items' && Array.isArray(value))
    return value.length === 0 ? {} : { anyOf: value.map((each) => fitted(each, walk)) };
  if (keyword === 'not') return isObject(value) ? fitted(value, walk) : undefined;
  if (SINGLE.has(keyword)) return fitted(value, walk);
  if (keyword === 'enum') return isFilled(value) ? value : undefined;
  // The third draft has a flag here.
  if (keyword === 'required')
    return Array.isArray(value) ? value.filter((name) => typeof name === 'string') : undefined;
  return value;
}

function isFilled(value: unknown): value is unknown[] {
  return Array.isArray(value) && value.length > 0;
}

function fittedMap(map: Schema, walk: Walk): Schema {
  const members = Object.entries(map).filter(([, member]) => member !== false);
  return Object.fromEntries(members.map(([name, member]) => [name, fitted(member, walk)]));
}

/** OpenAI wants the items of every array, Google the property of every name that is required. */
function withParts(schema: Schema): Schema {
  const { type, required, properties = {} } = schema;
  const isArray = type === 'array' || (Array.isArray(type) && type.includes('array'));
  const items = isArray && schema['items'] === undefined ? { items: {} } : {};
  if (!Array.isArray(required) || schema['type'] !== 'object') return { ...schema, ...items };
  const missing = (required as string[]).filter((name) => !Object.hasOwn(properties as object, name));
  if (missing.length === 0) return { ...schema, ...items };
  const added = Object.fromEntries(missing.map((name) => [name, {}]));
  return { ...schema, ...items, properties: { ...(properties as Schema), ...added } };
}

interface FoldedObject {
  readonly properties: Schema;
  readonly required: ReadonlySet<string>;
}

/** The properties of all branches in one object; required is only what every choice requires. */
function foldedObject(schema: Schema, depth: number): FoldedObject {
  const own = isObject(schema['properties']) ? schema['properties'] : {};
  const required = new Set(Array.isArray(schema['required']) ? (schema['required'] as string[]) : []);
  if (depth > MAX_DEPTH) return { properties: own, required };
  const branchesOf = (keyword: string): FoldedObject[] => {
    const branches = Array.isArray(schema[keyword]) ? (schema[keyword] as Schema[]) : [];
    return branches.filter(isOfObjects).map((branch) => foldedObject(branch, depth + 1));
  };
  const all = branchesOf('allOf');
  const choices = [branchesOf('anyOf'), branchesOf('oneOf')];
  const names = choices.map((branches) => requiredByEach(branches));
  const folded = new Set([...required, ...all.flatMap((each) => [...each.required]), ...names.flat()]);
  const properties = together([own, ...all.map((each) => each.properties)], choices.flat());
  const named = Object.fromEntries([...folded].map((name) => [name, {}]));
  return { properties: { ...named, ...properties }, required: folded };
}

function isOfObjects({ type }: Schema): boolean {
  return type === undefined || type === 'object' || (Array.isArray(type) && type.includes('object'));
}

function requiredByEach(branches: readonly FoldedObject[]): string[] {
  const [first, ...others] = branches;
  return [...(first?.required ?? [])].filter((name) => others.every(({ required }) => required.has(name)));
}

/** A property that every case has keeps its form; one that differs between choices becomes a choice. */
function together(fixed: readonly Schema[], choices: readonly FoldedObject[]): Schema {
  const forms = new Map<string, Map<string, unknown>>();
  for (const { properties } of choices)
    for (const [name, property] of Object.entries(properties)) {
      const known = forms.get(name) ?? new Map<string, unknown>();
      forms.set(name, known.set(JSON.stringify(property), property));
    }
  const chosen = [...forms].map(([name, each]) => {
    const [only, ...others] = each.values();
    return [name, others.length === 0 ? only : { anyOf: [...each.values()] }] as const;
  });
  return Object.fromEntries([...chosen, ...fixed.toReversed().flatMap((each) => Object.entries(each))]);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
