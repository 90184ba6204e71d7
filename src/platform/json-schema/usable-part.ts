/** Finds what of a foreign schema cannot be compiled, and the part without it, which checks as much as it can.
 *  It must never make a schema stricter: where a fault cannot be left out alone, the keyword around it goes too. */
import { shortened } from './shortened-text.ts';
import { isKnownReference, namesIn, type SchemaNames } from './schema-names.ts';

export interface UsablePart {
  readonly part: Readonly<Record<string, unknown>>;
  /** Each with its place: `properties.a.$ref cannot be resolved`. */
  readonly faults: readonly string[];
}

type Schema = Readonly<Record<string, unknown>>;

export function usablePart(schema: Schema): UsablePart {
  const found: Found = { faults: [], doubts: 0 };
  const part = partOf(schema, { dialect: dialectOf(schema), names: namesIn(schema), path: '', found });
  if (found.faults.length === 0) return { faults: [], part: schema };
  return { faults: found.faults, part: isObject(part) ? part : {} };
}

interface Found {
  readonly faults: string[];
  /** Faults, and references: what a reference names may be looser than it was. */
  doubts: number;
}

interface Walk {
  readonly dialect: SchemaDialect;
  readonly names: SchemaNames;
  readonly path: string;
  readonly found: Found;
}

/** More would not be read by anybody. */
const MAX_FAULTS = 20;
const MAX_PATH_CHARACTERS = 200;
const MAX_FAULT_CHARACTERS = 400;

function report({ path, found }: Walk, what: string): void {
  found.doubts += 1;
  if (found.faults.length >= MAX_FAULTS) return;
  found.faults.push(
    shortened(`${shortened(path === '' ? 'it' : path, MAX_PATH_CHARACTERS)} ${what}`, MAX_FAULT_CHARACTERS),
  );
}

function partOf(schema: unknown, walk: Walk): unknown {
  if (typeof schema === 'boolean') return schema;
  if (!isObject(schema)) {
    report(walk, 'is not a schema');
    return true;
  }
  const read = Object.entries(schema).map(([keyword, value]) => {
    const here = { ...walk, path: walk.path === '' ? keyword : `${walk.path}.${keyword}` };
    return [keyword, keywordPart(keyword, value, here)] as const;
  });
  const lost = read.filter(([keyword, part]) => isLess(part, schema[keyword])).map(([keyword]) => keyword);
  // References inside count from the `$id`, and would name something else without it.
  if (walk.path !== '' && lost.includes('$id')) return true;
  const without = new Set(lost.flatMap((keyword) => TAKEN_ALONG.get(keyword) ?? []));
  return Object.fromEntries(read.filter(([keyword, part]) => part !== LEFT_OUT && !without.has(keyword)));
}

const LEFT_OUT = Symbol('left out');

/** Whether a keyword is left out, or a member of its object. */
function isLess(part: unknown, whole: unknown): boolean {
  if (part === LEFT_OUT) return true;
  return isObject(part) && isObject(whole) && Object.keys(part).length < Object.keys(whole).length;
}

/** These count from what the other keyword covers: without it they would refuse more, or cannot be compiled. */
const TAKEN_ALONG: ReadonlyMap<string, readonly string[]> = new Map([
  ['properties', ['additionalProperties']],
  ['patternProperties', ['additionalProperties']],
  ['prefixItems', ['items']],
  ['minContains', ['contains']],
  ['type', ['nullable']],
]);

function keywordPart(keyword: string, value: unknown, walk: Walk): unknown {
  if (SCHEMA_MAPS.has(keyword)) return mapPart(keyword, value, walk);
  if (SCHEMA_LISTS.has(keyword)) return listPart(keyword, value, walk);
  if (keyword === 'items' && Array.isArray(value) && walk.dialect !== '2020')
    return listPart(keyword, value, walk);
  if (keyword === 'dependencies' && isObject(value)) return mapPart(keyword, value, walk);
  if (SCHEMAS.has(keyword)) return wholeUnlessLoosened(keyword, walk, () => partOf(value, walk));
  if (REFERENCES.has(keyword)) walk.found.doubts += 1;
  const fault = faultOf(keyword, value, walk.names);
  if (fault === null) return value;
  report(walk, fault);
  return LEFT_OUT;
}

const SCHEMA_MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);
const SCHEMA_LISTS = new Set(['allOf', 'anyOf', 'oneOf', 'prefixItems']);
const SCHEMAS = new Set([
  'items',
  'additionalItems',
  'additionalProperties',
  'unevaluatedItems',
  'unevaluatedProperties',
  'propertyNames',
  'contains',
  'not',
  'if',
  'then',
  'else',
]);
const REFERENCES = new Set(['$ref', '$dynamicRef', '$recursiveRef']);
/** A looser schema inside makes these stricter, or turns them round. */
const TURNING = new Set(['not', 'if', 'then', 'else', 'oneOf', 'contains']);
/** They refuse what no other keyword covers, and one that is left out covers nothing, wherever it is. */
const UNEVALUATED = new Set(['unevaluatedItems', 'unevaluatedProperties']);

/** The part is used only if something of the schema is faulty. */
function wholeUnlessLoosened(keyword: string, walk: Walk, read: () => unknown): unknown {
  const before = walk.found.doubts;
  const part = read();
  if (UNEVALUATED.has(keyword)) return LEFT_OUT;
  return TURNING.has(keyword) && walk.found.doubts > before ? LEFT_OUT : part;
}

function mapPart(keyword: string, value: unknown, walk: Walk): unknown {
  if (!isObject(value)) {
    report(walk, 'is not an object');
    return LEFT_OUT;
  }
  const members = Object.entries(value).filter(([name]) => {
    const isUsable = keyword !== 'patternProperties' || isPattern(name);
    if (!isUsable) report(walk, `has the key ${JSON.stringify(name)}, which is not a regular expression`);
    return isUsable;
  });
  return Object.fromEntries(
    members.map(([name, schema]) => {
      const isNames = keyword === 'dependencies' && isTextList(schema);
      return [name, isNames ? schema : partOf(schema, { ...walk, path: `${walk.path}.${name}` })];
    }),
  );
}

function listPart(keyword: string, value: unknown, walk: Walk): unknown {
  if (!Array.isArray(value)) {
    report(walk, 'is not a list of schemas');
    return LEFT_OUT;
  }
  const read = (): unknown =>
    value.map((schema, index) => partOf(schema, { ...walk, path: `${walk.path}[${index}]` }));
  return wholeUnlessLoosened(keyword, walk, read);
}

const TYPES: ReadonlySet<unknown> = new Set([
  'array',
  'boolean',
  'integer',
  'null',
  'number',
  'object',
  'string',
]);

const isCount = (value: unknown): boolean => Number.isInteger(value) && (value as number) >= 0;
const isNumber = (value: unknown): boolean => typeof value === 'number';
const isText = (value: unknown): boolean => typeof value === 'string';
const isTextList = (value: unknown): boolean => Array.isArray(value) && value.every(isText);
const isType = (value: unknown): boolean =>
  Array.isArray(value) ? value.length > 0 && value.every((type) => TYPES.has(type)) : TYPES.has(value);

const LIMITS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'];
const COUNTS =
  'minLength maxLength minItems maxItems minProperties maxProperties minContains maxContains'.split(' ');

/** Test of the value of a keyword, and the name of the fault. */
const RULES: Readonly<Record<string, readonly [test: (value: unknown) => boolean, fault: string]>> = {
  type: [isType, 'is not a type of JSON'],
  pattern: [isPattern, 'is not a regular expression'],
  required: [isTextList, 'is not a list of names'],
  enum: [(value) => Array.isArray(value) && value.length > 0, 'is not a list of values'],
  format: [isText, 'is not a name'],
  uniqueItems: [(value) => typeof value === 'boolean', 'is not true or false'],
  multipleOf: [(value) => isNumber(value) && (value as number) > 0, 'is not a number above 0'],
  dependentRequired: [
    (value) => isObject(value) && Object.values(value).every(isTextList),
    'is not an object of lists',
  ],
  ...Object.fromEntries(LIMITS.map((name) => [name, [isNumber, 'is not a number']])),
  ...Object.fromEntries(COUNTS.map((name) => [name, [isCount, 'is not a count']])),
};

function faultOf(keyword: string, value: unknown, names: SchemaNames): string | null {
  if (keyword === '$ref' || keyword === '$dynamicRef')
    return isKnownReference(value, names) ? null : `(${String(value).slice(0, 100)}) cannot be resolved`;
  if (keyword === '$id')
    return isText(value) && !isMetaSchema(String(value)) ? null : 'is not a name of its own';
  const rule = Object.hasOwn(RULES, keyword) ? RULES[keyword] : undefined;
  return rule === undefined || rule[0](value) ? null : rule[1];
}

function isMetaSchema(id: string): boolean {
  return /^https?:\/\/json-schema\.org\//.test(id);
}

function isPattern(value: unknown): boolean {
  if (typeof value !== 'string') return false;
  try {
    new RegExp(value, 'u');
    return true;
  } catch {
    return false;
  }
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export type SchemaDialect = '2020' | '2019' | '07';

/** Without `$schema`, MCP means 2020-12. */
export function dialectOf(schema: Readonly<Record<string, unknown>>): SchemaDialect {
  const named = schema['$schema'];
  if (typeof named !== 'string' || named.includes('2020-12')) return '2020';
  return named.includes('2019-09') ? '2019' : '07';
}
