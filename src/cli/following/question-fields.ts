/** The fields of a form that a tool asks for: how each is shown, and what a typed line means for it.
 *  It must never check an answer: the service does. */
import { isObject } from '../../contract/json/json-object.ts';
import { oneLine, plainJson } from '../terminal.ts';

export interface Field {
  readonly name: string;
  readonly type: string;
  readonly title: string;
  readonly required: boolean;
  /** Empty: any value. */
  readonly choices: readonly string[];
  readonly fallback: unknown;
}

const SIMPLE: ReadonlySet<string> = new Set(['string', 'number', 'integer', 'boolean', 'array']);

/** null: a field is not a simple value, and the answer is to be typed as JSON. */
export function fieldsOf(schema: Readonly<Record<string, unknown>>): Field[] | null {
  const { properties, required } = schema;
  if (!isObject(properties)) return null;
  const names: readonly unknown[] = Array.isArray(required) ? required : [];
  const fields = Object.entries(properties).map(([name, property]) =>
    fieldOf(name, property, names.includes(name)),
  );
  return fields.every((field) => field !== null) ? fields : null;
}

function fieldOf(name: string, property: unknown, required: boolean): Field | null {
  if (!isObject(property)) return null;
  const { type, title, description, items } = property;
  if (typeof type !== 'string' || !SIMPLE.has(type)) return null;
  const shown = [title, description].filter((text) => typeof text === 'string').join(': ');
  const choices = choicesOf(type === 'array' && isObject(items) ? items : property);
  return { name, type, title: shown, required, choices, fallback: property['default'] };
}

function choicesOf(property: Record<string, unknown>): string[] {
  const { enum: values, oneOf, anyOf } = property;
  if (Array.isArray(values)) return values.map(String);
  const titled: readonly unknown[] = Array.isArray(oneOf) ? oneOf : Array.isArray(anyOf) ? anyOf : [];
  return titled.map((choice) => String(isObject(choice) ? choice['const'] : choice));
}

/** Name, meaning and form, in one line. */
export function fieldText({ name, type, title, required, choices, fallback }: Field): string {
  const kind = choices.length > 0 ? choices.join(' | ') : type;
  const many = type === 'array' ? ', with commas between' : '';
  const absent =
    fallback === undefined ? (required ? '' : ', may be empty') : `, default ${plainJson(fallback)}`;
  const meaning = title === '' ? '' : ` ${title}`;
  return oneLine(`${name}${meaning} (${kind}${many}${absent})`, Infinity);
}

/** undefined: nothing was typed, so the default counts. What is no number stays text, and the service says so. */
export function valueOf({ type }: Field, text: string): unknown {
  const typed = text.trim();
  if (typed === '') return undefined;
  if (type === 'boolean')
    return /^(y(es)?|t(rue)?)$/i.test(typed) || (/^(no?|f(alse)?)$/i.test(typed) ? false : typed);
  if (type === 'number' || type === 'integer') return Number.isNaN(Number(typed)) ? typed : Number(typed);
  if (type === 'array') return typed.split(',').map((item) => item.trim());
  return text;
}
