/** The fields of a form for a tool's arguments, from its JSON schema.
 *  It must never evaluate anything of it: what is too much for a form becomes a JSON field. */
import { isObject } from '../../../src/contract/json/json-object.ts';
import { type FieldLimits, limitsOf } from './field-limits.ts';
import { member, namedConstants, plainSchema, type Schema, typeOf } from './schema-view.ts';

export type FieldKind =
  | 'text'
  | 'lines'
  | 'number'
  | 'integer'
  | 'boolean'
  | 'choice'
  | 'list'
  | 'group'
  | 'json';

export interface Choice {
  readonly label: string;
  readonly value: unknown;
}

export interface FormField {
  readonly name: string;
  readonly kind: FieldKind;
  readonly title: string;
  readonly description: string;
  readonly isRequired: boolean;
  readonly limits: FieldLimits;
  /** Options of a choice. */
  readonly choices: readonly Choice[];
  /** Fields of a group; for a list, the one field that each entry is. */
  readonly fields: readonly FormField[];
  /** undefined: there is none. */
  readonly default: unknown;
  /** Shown beside a JSON field. */
  readonly schema: unknown;
}

/** Maximum number of fields of a form; a schema with more is written as JSON. */
const MOST_FIELDS = 64;
const MOST_CHOICES = 200;
const LONGEST_TITLE = 200;
const LONGEST_DESCRIPTION = 1_000;
/** Fields inside a field: a form is flat. */
const DEEPEST = 1;

interface Place {
  readonly name: string;
  readonly isRequired: boolean;
  readonly depth: number;
}

/** null: the arguments are written as JSON. */
export function formFields(schema: unknown): readonly FormField[] | null {
  if (!isObject(schema)) return null;
  const root = plainSchema(schema, schema);
  return root === null ? null : membersOf(root, schema, 0);
}

function membersOf(object: Schema, root: Schema, depth: number): FormField[] | null {
  const properties = member(object, 'properties') ?? {};
  if (!isObject(properties)) return null;
  const names = Object.keys(properties);
  if (names.length > MOST_FIELDS || (depth > 0 && names.length === 0)) return null;
  const given = member(object, 'required');
  const required = new Set(Array.isArray(given) ? given.slice(0, 1_000) : []);
  return names.map((name) =>
    fieldOf(member(properties, name), root, { name, isRequired: required.has(name), depth }),
  );
}

function fieldOf(given: unknown, root: Schema, place: Place): FormField {
  const schema = plainSchema(given, root);
  const { kind, ...rest } = schema === null ? JSON_KIND : kindOf(schema, root, place);
  const words = schema ?? (isObject(given) ? given : {});
  return {
    name: place.name,
    kind,
    title: textOf(words, 'title', LONGEST_TITLE) || place.name,
    description: textOf(words, 'description', LONGEST_DESCRIPTION),
    isRequired: place.isRequired,
    limits: limitsOf(words),
    choices: rest.choices ?? [],
    fields: rest.fields ?? [],
    default: member(words, 'default'),
    schema: given,
  };
}

interface Kind {
  readonly kind: FieldKind;
  readonly choices?: readonly Choice[];
  readonly fields?: readonly FormField[];
}

const JSON_KIND: Kind = { kind: 'json' };

function kindOf(schema: Schema, root: Schema, place: Place): Kind {
  const choices = choicesOf(schema);
  if (choices !== null) return choices.length > MOST_CHOICES ? JSON_KIND : { kind: 'choice', choices };
  switch (typeOf(schema)) {
    case 'string':
      return { kind: isLong(schema, place.name) ? 'lines' : 'text' };
    case 'number':
      return { kind: 'number' };
    case 'integer':
      return { kind: 'integer' };
    case 'boolean':
      return { kind: 'boolean' };
    case 'array':
      return listOf(schema, root, place);
    case 'object':
      return groupOf(schema, root, place);
    case null:
    default:
      return JSON_KIND;
  }
}

/** null: it is no choice. */
function choicesOf(schema: Schema): Choice[] | null {
  const constants = namedConstants(schema);
  if (constants !== null) return constants.map((each) => choiceOf(member(each, 'const'), each));
  if (Object.hasOwn(schema, 'const')) return [choiceOf(schema['const'], {})];
  const values = member(schema, 'enum');
  if (!Array.isArray(values) || values.length === 0) return null;
  return values.slice(0, MOST_CHOICES + 1).map((value) => choiceOf(value, {}));
}

function choiceOf(value: unknown, words: Schema): Choice {
  const title = textOf(words, 'title', LONGEST_TITLE);
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  return { label: title === '' ? text.slice(0, LONGEST_TITLE) || '(empty)' : title, value };
}

/** A list of single values. */
function listOf(schema: Schema, root: Schema, { depth }: Place): Kind {
  if (depth >= DEEPEST || Array.isArray(member(schema, 'prefixItems'))) return JSON_KIND;
  const items = plainSchema(member(schema, 'items'), root);
  if (items === null) return JSON_KIND;
  const entry = fieldOf(items, root, { name: 'entry', isRequired: true, depth: depth + 1 });
  return isSingle(entry) && entry.kind !== 'boolean' ? { kind: 'list', fields: [entry] } : JSON_KIND;
}

/** An object of single values that allows no others. */
function groupOf(schema: Schema, root: Schema, { depth }: Place): Kind {
  if (depth >= DEEPEST || isObject(member(schema, 'additionalProperties'))) return JSON_KIND;
  const fields = membersOf(schema, root, depth + 1);
  return fields !== null && fields.every(isSingle) ? { kind: 'group', fields } : JSON_KIND;
}

function isSingle({ kind }: FormField): boolean {
  return kind !== 'json' && kind !== 'list' && kind !== 'group';
}

const LONG_NAMES = /^(body|content|contents|text|message|prompt|query|description|code|sql|markdown)$/i;

function isLong(schema: Schema, name: string): boolean {
  const most = member(schema, 'maxLength');
  if (member(schema, 'format') !== undefined) return false;
  return typeof most === 'number' ? most > 200 : LONG_NAMES.test(name);
}

function textOf(schema: Schema, name: string, most: number): string {
  const text = member(schema, name);
  return typeof text === 'string' ? text.slice(0, most) : '';
}
