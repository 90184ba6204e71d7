/** The tools of an OpenAPI 3.0 or 3.1 document: names, one input schema for each operation, and repeat annotations.
 *  Never reads a reference outside the document, and bounds what a document may make it do. */
import type { Tool } from '@modelcontextprotocol/client';
import { isObject } from '../../contract/json/json-object.ts';
import { leftOut } from '../tools/read-descriptor.ts';
import { toolMatches } from '../../contract/tool/tool-pattern.ts';

type Members = Readonly<Record<string, unknown>>;

type Place = 'path' | 'query' | 'header';

export interface OperationParameter {
  /** The name of its argument. */
  readonly argument: string;
  /** The name that the API gives it. */
  readonly name: string;
  readonly place: Place;
  /** Whether each item of an array is a parameter of its own. */
  readonly explodes: boolean;
}

/** One operation, and the tool that calls it. */
export interface Operation {
  readonly tool: Tool;
  readonly method: string;
  /** With `{parameters}`. */
  readonly path: string;
  readonly parameters: readonly OperationParameter[];
  /** Media type of the argument `body`; null: no body. */
  readonly bodyType: string | null;
  /** The header that takes the key of the call; null: the operation declares none. */
  readonly keyHeader: string | null;
}

const METHODS = ['get', 'head', 'put', 'post', 'delete', 'patch'] as const;
const MOST_OPERATIONS = 1_000;
const MOST_PARAMETERS = 100;
const MOST_NAME_CHARACTERS = 64;
const MOST_DESCRIPTION_CHARACTERS = 4_000;
const DEEPEST_SCHEMA = 24;
/** In all operations of a document together. */
const MOST_SCHEMA_MEMBERS = 200_000;
const IDEMPOTENCY_KEY = 'idempotency-key';
const FORM = 'application/x-www-form-urlencoded';
/** Headers that the transport or the operator sets. */
const OWN_HEADERS: ReadonlySet<string> = new Set(
  'accept accept-encoding authorization connection content-length content-type cookie expect host te trailer transfer-encoding upgrade'.split(
    ' ',
  ),
);

export interface Operations {
  readonly callable: readonly Operation[];
  /** Descriptions in place of those that cannot be called, each with the reason. */
  readonly leftOut: readonly Tool[];
}

/** `names`: which operations, by the names of their tools; null: all. Throws an error that names what is wrong. */
export function operationsOf(document: unknown, names: readonly string[] | null): Operations {
  if (!isObject(document) || !/^3\.[01](?:\.|$)/.test(String(document['openapi'])))
    throw new Error('is no OpenAPI 3.0 or 3.1 document');
  const read = referenceReader(document);
  const schemas = schemaReader(read);
  const found: Operation[] = [];
  const crowded: Tool[] = [];
  const taken = new Map<string, number>();
  const paths = isObject(document['paths']) ? document['paths'] : {};
  for (const [path, given] of Object.entries(paths)) {
    const item = read(given);
    if (!path.startsWith('/') || !isObject(item)) continue;
    for (const method of METHODS) {
      if (!Object.hasOwn(item, method) || !isObject(item[method])) continue;
      const name = nameOf(item[method], `${method}_${path}`, taken);
      if (names !== null && !names.some((pattern) => toolMatches(pattern, name))) continue;
      const operation = operationAt({ name, path, method, item, operation: item[method] }, read, schemas);
      if (operation === null) continue;
      if (found.length + crowded.length === MOST_OPERATIONS)
        throw new Error(
          `has more than ${MOST_OPERATIONS} operations: name those that are needed in "operations"`,
        );
      if (operation === 'crowded') crowded.push(leftOut(name, CROWDED) as Tool);
      else found.push(operation);
    }
  }
  const tools = [...found.map(({ tool }) => tool), ...crowded];
  const missing = names?.find((name) => !tools.some((tool) => toolMatches(name, tool.name)));
  if (missing === undefined) return { callable: found, leftOut: crowded };
  throw new Error(`has no operation "${missing}" without cookies and multipart bodies`);
}

interface Found {
  readonly name: string;
  readonly path: string;
  readonly method: string;
  readonly item: Members;
  readonly operation: Members;
}

const CROWDED = `has more than ${MOST_PARAMETERS} parameters`;

/** null: it needs something that is not supported, such as a cookie or a multipart body. */
function operationAt(
  { name: toolName, path, method, item, operation }: Found,
  read: Read,
  schemas: (schema: unknown) => unknown,
): Operation | 'crowded' | null {
  const declared = [...parametersIn(item, read), ...parametersIn(operation, read)];
  const last = new Map(
    declared.map((parameter) => [`${String(parameter['in'])} ${String(parameter['name'])}`, parameter]),
  );
  if (last.size > MOST_PARAMETERS) return 'crowded';
  const properties = new Map<string, unknown>();
  const required = new Set<string>();
  const parameters: OperationParameter[] = [];
  let keyHeader: string | null = null;
  for (const given of last.values()) {
    const { name, in: place } = given;
    if (typeof name !== 'string' || name === '') return null;
    const isHeader = place === 'header';
    if (isHeader && name.toLowerCase() === IDEMPOTENCY_KEY) keyHeader = name;
    if (isHeader && (keyHeader === name || OWN_HEADERS.has(name.toLowerCase()))) continue;
    if (place !== 'path' && place !== 'query' && !isHeader) {
      if (given['required'] === true) return null;
      continue;
    }
    const argument = properties.has(name) || name === 'body' ? `${String(place)}_${name}` : name;
    properties.set(argument, described(schemas(parameterSchema(given)), given['description']));
    if (given['required'] === true || place === 'path') required.add(argument);
    parameters.push({ argument, name, place: place as Place, explodes: given['explode'] !== false });
  }
  const body = bodyOf(operation, read);
  if (body === 'unsupported') return null;
  if (body !== null) {
    properties.set('body', described(schemas(body.schema), body.description));
    if (body.required) required.add('body');
  }
  const inputSchema = {
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.size === 0 ? {} : { required: [...required] }),
    additionalProperties: false,
  };
  const tool = {
    name: toolName,
    description: descriptionOf(operation, method, path),
    inputSchema,
    annotations: annotationsOf(method, keyHeader !== null),
  } as Tool;
  return { tool, method: method.toUpperCase(), path, parameters, bodyType: body?.type ?? null, keyHeader };
}

function annotationsOf(method: string, isKeyed: boolean): object {
  if (method === 'get' || method === 'head') return { readOnlyHint: true };
  if (method === 'put' || method === 'delete') return { idempotentHint: true, destructiveHint: true };
  return isKeyed ? { idempotentHint: true } : {};
}

function descriptionOf({ summary, description }: Members, method: string, path: string): string {
  const texts = [summary, description].filter((text) => typeof text === 'string' && text !== '');
  const text = texts.length === 0 ? `${method.toUpperCase()} ${path}` : [...new Set(texts)].join('. ');
  return text.slice(0, MOST_DESCRIPTION_CHARACTERS);
}

/** A name that hosts accept, and that no other operation of the document has. `taken`: the last number of each name. */
function nameOf({ operationId }: Members, otherwise: string, taken: Map<string, number>): string {
  const wanted = typeof operationId === 'string' && operationId !== '' ? operationId : otherwise;
  const plain =
    wanted
      .replaceAll(/[^A-Za-z0-9_-]+/g, '_')
      .replaceAll(/^_+|_+$/g, '')
      .slice(0, MOST_NAME_CHARACTERS) || 'operation';
  for (let count = (taken.get(plain) ?? 0) + 1; ; count += 1) {
    const end = count === 1 ? '' : `_${count}`;
    const name = `${plain.slice(0, MOST_NAME_CHARACTERS - end.length)}${end}`;
    if (taken.has(name)) continue;
    taken.set(plain, count);
    if (name !== plain) taken.set(name, 1);
    return name;
  }
}

function parametersIn({ parameters }: Members, read: Read): Members[] {
  return Array.isArray(parameters) ? parameters.map((each) => read(each)).filter(isObject) : [];
}

/** A parameter has a schema, or one media type with a schema. */
function parameterSchema({ schema, content }: Members): unknown {
  if (schema !== undefined || !isObject(content)) return schema ?? {};
  const [media] = Object.values(content);
  return isObject(media) ? (media['schema'] ?? {}) : {};
}

interface Body {
  readonly type: string;
  readonly schema: unknown;
  readonly required: boolean;
  readonly description: unknown;
}

function bodyOf({ requestBody }: Members, read: Read): Body | 'unsupported' | null {
  const body = read(requestBody);
  if (!isObject(body) || !isObject(body['content'])) return null;
  const { content, required, description } = body;
  const types = Object.keys(content as Members);
  const type =
    types.find((each) => /^application\/(?:[\w.-]+\+)?json\b/i.test(each)) ??
    types.find((each) => each.toLowerCase().startsWith(FORM)) ??
    (types.includes('*/*') ? '*/*' : undefined);
  if (type === undefined) return required === true ? 'unsupported' : null;
  const media = (content as Members)[type];
  const schema = isObject(media) ? (media['schema'] ?? {}) : {};
  return {
    type: type === '*/*' ? 'application/json' : type,
    schema,
    required: required === true,
    description,
  };
}

function described(schema: unknown, description: unknown): unknown {
  if (typeof description !== 'string' || description === '' || !isObject(schema)) return schema;
  return { ...schema, description: description.slice(0, MOST_DESCRIPTION_CHARACTERS) };
}

/** Follows references of the document. */
type Read = (given: unknown) => unknown;

const MOST_HOPS = 16;

function referenceReader(document: Members): Read {
  return (given) => {
    let value = given;
    for (let hops = 0; hops < MOST_HOPS; hops += 1) {
      if (!isObject(value) || typeof value['$ref'] !== 'string') return value;
      value = valueAt(document, value['$ref']);
    }
    throw new Error('has references that lead in a circle');
  };
}

function valueAt(document: Members, reference: string): unknown {
  if (!reference.startsWith('#/'))
    throw new Error(`refers to "${reference.slice(0, 200)}": only references within the document are read`);
  let value: unknown = document;
  for (const part of reference.slice(2).split('/')) {
    const key = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
    const isMember = (isObject(value) || Array.isArray(value)) && Object.hasOwn(value, key);
    if (!isMember) throw new Error(`refers to "${reference.slice(0, 200)}", which it does not have`);
    value = (value as Members)[key];
  }
  return value;
}

/** Members of a schema that say nothing about valid values. */
const DROPPED: ReadonlySet<string> = new Set([
  'xml',
  'externalDocs',
  'discriminator',
  'example',
  'examples',
  '$schema',
  '$id',
  'deprecated',
]);
/** Members whose own members are names and not keywords. */
const NAMED: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
]);

/** Schemas without references, as JSON Schema 2020-12. A schema within itself, and what is too deep, permits everything. */
function schemaReader(read: Read): (schema: unknown) => unknown {
  let members = 0;
  const schemaOf = (given: unknown, open: readonly unknown[]): unknown => {
    const value = read(given);
    if (!isObject(value)) return typeof value === 'boolean' ? value : {};
    if (open.includes(value) || open.length >= DEEPEST_SCHEMA) return {};
    const within = [...open, value];
    const kept = new Map<string, unknown>();
    for (const [key, member] of Object.entries(value)) {
      if (DROPPED.has(key) || key.startsWith('x-')) continue;
      members += 1;
      if (members > MOST_SCHEMA_MEMBERS) return {};
      kept.set(key, memberOf(key, member, within));
    }
    return modern(kept);
  };
  const memberOf = (key: string, member: unknown, open: readonly unknown[]): unknown => {
    if (key === 'enum' || key === 'const' || key === 'default' || key === 'required' || key === 'type')
      return member;
    if (!isObject(member) && !Array.isArray(member)) return member;
    if (!NAMED.has(key) && !Array.isArray(member)) return schemaOf(member, open);
    members += Object.keys(member).length;
    if (members > MOST_SCHEMA_MEMBERS) return Array.isArray(member) ? [] : {};
    if (Array.isArray(member)) return member.map((each) => (isObject(each) ? schemaOf(each, open) : each));
    return Object.fromEntries(Object.entries(member).map(([name, schema]) => [name, schemaOf(schema, open)]));
  };
  return (schema) => schemaOf(schema, []);
}

/** OpenAPI 3.0 has `nullable`, and booleans for exclusive limits. */
function modern(schema: Map<string, unknown>): Members {
  const type = schema.get('type');
  if (schema.get('nullable') === true && typeof type === 'string') {
    schema.set('type', [type, 'null']);
    const values = schema.get('enum');
    if (Array.isArray(values) && !values.includes(null)) schema.set('enum', [...values, null]);
  }
  schema.delete('nullable');
  for (const [exclusive, limit] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ] as const) {
    if (typeof schema.get(exclusive) !== 'boolean') continue;
    const isExclusive = schema.get(exclusive) === true && schema.has(limit);
    schema.delete(exclusive);
    if (!isExclusive) continue;
    schema.set(exclusive, schema.get(limit));
    schema.delete(limit);
  }
  return Object.fromEntries(schema);
}
