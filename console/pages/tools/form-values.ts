/** The texts of a form, and the arguments that they mean.
 *  It must never drop what was written: what cannot be read is a fault of its field. */
import { isObject } from '../../../src/contract/json/json-object.ts';
import { listFault, numberFault, textFault } from './field-limits.ts';
import type { FormField } from './form-fields.ts';

/** A text, a mark, the entries of a list, or the fields of a group by their names. */
export type Written = string | boolean | readonly string[] | Values;
/** Texts by the names of the fields. A name that is missing: nothing was written. */
export type Values = ReadonlyMap<string, Written>;

export interface FieldFault {
  /** The name of the field, then that of the one in it, or the number of the entry. */
  readonly path: readonly (string | number)[];
  readonly message: string;
}

export interface ReadForm {
  readonly value: Record<string, unknown>;
  readonly faults: readonly FieldFault[];
}

type Reading = { readonly value: unknown } | { readonly fault: string } | null;

/** First values of a form: the defaults of the schema, or arguments that there are already. */
export function writtenOf(
  fields: readonly FormField[],
  given: Readonly<Record<string, unknown>> = {},
): Values {
  const written = fields.flatMap((field): [string, Written][] => {
    const value = Object.hasOwn(given, field.name) ? given[field.name] : field.default;
    const text = writtenAs(field, value);
    return text === undefined ? [] : [[field.name, text]];
  });
  return new Map(written);
}

function writtenAs(field: FormField, value: unknown): Written | undefined {
  if (field.kind === 'group') return writtenOf(field.fields, isObject(value) ? value : {});
  if (value === undefined) return undefined;
  if (field.kind === 'json') return JSON.stringify(value, null, 2);
  if (field.kind === 'boolean') return typeof value === 'boolean' ? value : undefined;
  if (field.kind === 'choice') {
    const wanted = JSON.stringify(value);
    const place = field.choices.findIndex((choice) => JSON.stringify(choice.value) === wanted);
    return place === -1 ? undefined : String(place);
  }
  if (field.kind === 'list') return Array.isArray(value) ? entriesOf(field, value) : undefined;
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
}

function entriesOf({ fields: [entry] }: FormField, values: readonly unknown[]): string[] {
  return values.map((value) => {
    const written = entry === undefined ? undefined : writtenAs(entry, value);
    return typeof written === 'string' ? written : '';
  });
}

export function readForm(fields: readonly FormField[], values: Values): ReadForm {
  const faults: FieldFault[] = [];
  const members: [string, unknown][] = [];
  for (const field of fields) {
    const read = readField(field, values.get(field.name), faults);
    if (read !== null) members.push([field.name, read.value]);
  }
  // A member called "__proto__" is one like any other.
  return { value: Object.fromEntries(members), faults };
}

/** null: the member is left out. */
function readField(
  field: FormField,
  written: Written | undefined,
  faults: FieldFault[],
): { value: unknown } | null {
  if (field.kind === 'group') return readGroup(field, written, faults);
  if (field.kind === 'list') return readList(field, written, faults);
  const read = readSingle(field, written);
  if (read === null || 'value' in read) return read;
  faults.push({ path: [field.name], message: read.fault });
  return null;
}

function readGroup(field: FormField, written: Written | undefined, faults: FieldFault[]) {
  const values = written instanceof Map ? (written as Values) : new Map<string, Written>();
  const inner = readForm(field.fields, values);
  const isEmpty = Object.keys(inner.value).length === 0;
  // An optional group in which nothing was written is not there, whatever is required inside it.
  if (!field.isRequired && isEmpty && !hasText(values)) return null;
  for (const { path, message } of inner.faults) faults.push({ path: [field.name, ...path], message });
  return { value: inner.value };
}

function hasText(values: Values): boolean {
  return [...values.values()].some((written) => written !== '' && written !== false);
}

function readList(field: FormField, written: Written | undefined, faults: FieldFault[]) {
  const entries = Array.isArray(written) ? (written as readonly string[]) : [];
  const [entry] = field.fields;
  if (entry === undefined || (entries.length === 0 && !field.isRequired)) return null;
  const wrong = listFault(entries.length, field.limits);
  if (wrong !== null) faults.push({ path: [field.name], message: wrong });
  const value = entries.map((text, place) => {
    const read =
      entry.kind === 'text' || entry.kind === 'lines' ? readText(entry, text) : readSingle(entry, text);
    if (read !== null && 'value' in read) return read.value;
    faults.push({ path: [field.name, place], message: read?.fault ?? 'is required' });
    return null;
  });
  return { value };
}

function readSingle(field: FormField, written: Written | undefined): Reading {
  if (field.kind === 'boolean') return readMark(field, written);
  const text = typeof written === 'string' ? written : '';
  if (text === '') return field.isRequired ? { fault: 'is required' } : null;
  switch (field.kind) {
    case 'number':
    case 'integer':
      return readNumber(field, text.trim());
    case 'choice':
      return readChoice(field, text);
    case 'json':
      return readJson(text);
    case 'text':
    case 'lines':
    case 'list':
    case 'group':
      return readText(field, text);
  }
}

function readMark({ isRequired }: FormField, written: Written | undefined): Reading {
  if (typeof written === 'boolean') return { value: written };
  return isRequired ? { value: false } : null;
}

function readText(field: FormField, text: string): Reading {
  const wrong = textFault(text, field.limits);
  return wrong === null ? { value: text } : { fault: wrong };
}

function readNumber({ kind, limits }: FormField, text: string): Reading {
  if (!/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text)) return { fault: 'must be a number' };
  const value = Number(text);
  if (!Number.isFinite(value)) return { fault: 'is too large' };
  if (kind === 'integer' && !Number.isInteger(value)) return { fault: 'must be a whole number' };
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) return { fault: 'has too many digits' };
  const wrong = numberFault(value, limits);
  return wrong === null ? { value } : { fault: wrong };
}

function readChoice({ choices }: FormField, text: string): Reading {
  const choice = choices[Number(text)];
  return choice === undefined ? { fault: 'is none of the choices' } : { value: choice.value };
}

function readJson(text: string): Reading {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch (error) {
    return { fault: `is not JSON: ${(error as Error).message}` };
  }
}

/** Arguments written as JSON. */
export function readWhole(text: string): ReadForm {
  const read = text.trim() === '' ? { value: {} } : readJson(text);
  if (read !== null && 'value' in read && isObject(read.value)) return { value: read.value, faults: [] };
  const message = read !== null && 'fault' in read ? read.fault : 'must be a JSON object: { … }';
  return { value: {}, faults: [{ path: [], message }] };
}
