/** The tables of docs/configuration.md: every key of adjutant.json and every variable, from the schemas of src/config.
 *  It must not describe a single key: the schema does, beside the key. */
import { environmentSchema } from '../src/config/environment.ts';
import type { Note } from '../src/config/notes.ts';
import { annotatedFileSchema, annotatedSchema } from './configuration-schema.ts';
import { type GeneratedPage, withContent } from './generated-page.ts';

/** The part of an annotated JSON Schema that is read here. */
interface Schema extends Partial<Note> {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | false;
  readonly default?: unknown;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
  readonly required?: readonly string[];
}

interface Row extends Schema {
  readonly path: string;
  readonly isRequired: boolean;
}

export const CONFIGURATION_PAGE: GeneratedPage = {
  page: 'docs/configuration.md',
  script: 'scripts/generate-configuration.ts',
};

/** Sections whose keys are names, and the placeholder for such a name in a path. */
const NAMES: Readonly<Record<string, string>> = {
  mcpServers: '<server>',
  providers: '<provider>',
  agents: '<agent>',
  models: '<model>',
};

/** Largest numbers that are not our limits: the limits of timers and of whole numbers. */
const UNBOUNDED: ReadonlySet<number> = new Set([2_147_483_647, Number.MAX_SAFE_INTEGER]);

/** The page with new tables. */
export function configurationPage(text: string): string {
  return withContent(CONFIGURATION_PAGE, text, tables());
}

function tables(): string {
  const file = annotatedFileSchema() as Schema;
  const sections = Object.entries(file.properties ?? {});
  const top = tableOf(sections.map(([path, schema]) => ({ ...schema, path, isRequired: false })));
  const parts = sections.flatMap(([name, schema]) => {
    const rows = rowsBelow(schema, '', name);
    return rows.length === 0 ? [] : [`### ${name}\n\n${introOf(name)}\n\n${tableOf(rows)}`];
  });
  const variables = tableOf(rowsBelow(annotatedSchema(environmentSchema) as Schema, '', ''));
  return [`### The whole file\n\n${top}`, ...parts, `### Environment\n\n${variables}`].join('\n');
}

function introOf(name: string): string {
  const member = NAMES[name];
  return `Keys of \`${member === undefined ? name : `${name}.${member}`}\`:`;
}

/** The keys of an object and of the objects in it; of alternatives, each key once. */
function rowsBelow(schema: Schema, prefix: string, name: string): Row[] {
  const alternatives = alternativesOf(schema);
  const named = alternatives.flatMap(({ additionalProperties }) => additionalProperties || []);
  const member = prefix === '' ? '' : `${prefix}.${NAMES[name] ?? '<name>'}`;
  const rows = alternatives.flatMap(({ properties = {}, required = [] }) =>
    Object.entries(properties).flatMap(([key, each]) => {
      const path = prefix === '' ? key : `${prefix}.${key}`;
      return [{ ...each, path, isRequired: required.includes(key) }, ...rowsBelow(each, path, key)];
    }),
  );
  const unique = new Map(rows.map((row) => [row.path, merged(row, rows)]));
  return [...unique.values(), ...named.flatMap((each) => rowsBelow(each, member, ''))];
}

function alternativesOf(schema: Schema): readonly Schema[] {
  return schema.anyOf === undefined ? [schema] : schema.anyOf.flatMap(alternativesOf);
}

/** A key that several alternatives have, with all their values. */
function merged(row: Row, rows: readonly Row[]): Row {
  const same = rows.filter(({ path }) => path === row.path);
  const constants = same.flatMap((each) => (each.const === undefined ? (each.enum ?? []) : [each.const]));
  const isRequired = same.every((each) => each.isRequired);
  return { ...row, isRequired, ...(constants.length === 0 ? {} : { enum: [...new Set(constants)] }) };
}

function tableOf(rows: readonly Row[]): string {
  const lines = rows.map((row) => {
    const cells = [`\`${row.path}\``, row.description ?? '', valuesOf(row), row.unit ?? '', defaultOf(row)];
    return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  });
  return [
    '| key | meaning | values | unit | default |',
    '| --- | --- | --- | --- | --- |',
    ...lines,
    '',
  ].join('\n');
}

function valuesOf(row: Row): string {
  const sorts = [...new Set(alternativesOf(row).map(sortOf))].filter((sort) => sort !== '');
  const all = (row.enum === undefined ? sorts : [codes(row.enum)]).join(', ');
  const { special = '' } = row;
  // The special values already name every value.
  const isComplete = all
    .split(', ')
    .every((value) => value.startsWith('`') && special.includes(`${value} =`));
  return [isComplete ? '' : all, special].filter((text) => text !== '').join('; ');
}

/** The names of types; null is explained beside them. */
const WORDS: Readonly<Record<string, string>> = {
  boolean: 'true, false',
  array: 'list',
  string: 'text',
  null: '',
};

function sortOf(schema: Schema): string {
  if (schema.const !== undefined) return codes([schema.const]);
  if (schema.enum !== undefined) return codes(schema.enum);
  const { type = '' } = schema;
  return type === 'integer' || type === 'number' ? rangeOf(schema) : (WORDS[type] ?? type);
}

function rangeOf({ minimum, exclusiveMinimum, maximum }: Schema): string {
  const from = minimum === undefined ? `more than ${grouped(exclusiveMinimum ?? 0)}` : grouped(minimum);
  return maximum === undefined || UNBOUNDED.has(maximum)
    ? `${from} or more`
    : `${from} to ${grouped(maximum)}`;
}

function defaultOf({ isRequired, fallback, unit, default: value }: Row): string {
  if (fallback !== undefined) return fallback;
  if (isRequired) return 'required';
  if (typeof value === 'number') return unit === 'ms' ? durationText(value) : grouped(value);
  if (typeof value !== 'object' || value === null) return value === '' ? 'empty' : codes([value ?? null]);
  return Array.isArray(value) ? 'none' : Object.keys(value).length === 0 ? '{}' : codes([value]);
}

const WORDED_UNITS = [
  [86_400_000, 'day'],
  [3_600_000, 'hour'],
  [60_000, 'minute'],
] as const;

/** `86,400,000 (1 day)`: a minute and more is also said in words. */
function durationText(ms: number): string {
  const unit = WORDED_UNITS.find(([each]) => ms >= each && ms % each === 0);
  if (unit === undefined) return grouped(ms);
  const count = ms / unit[0];
  return `${grouped(ms)} (${count} ${unit[1]}${count === 1 ? '' : 's'})`;
}

function codes(values: readonly unknown[]): string {
  return values.map((value) => `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``).join(', ');
}

function grouped(value: number): string {
  return value.toLocaleString('en-US');
}
