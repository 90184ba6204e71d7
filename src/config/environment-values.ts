// Fills `${NAME}` and `${NAME:-default}` in configuration values from the environment; `${env:NAME}`, as editors write it, is the same.
// Must never put a value into an error message: it may be a secret.
import { ownMember } from '../contract/json/json-object.ts';
import type { FieldError } from '../contract/problem.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

const PLACEHOLDER = /\$\{(?<inside>[^}]+)\}/g;
const VARIABLE = /^(?:env:)?(?<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?<fallback>.*))?$/s;
/** The part of an unknown placeholder that a message may show: a longer or other text may be part of a secret. */
const SHOWN = /^[\w.:/-]{1,64}$/;

export interface FilledIn {
  value: unknown;
  /** Variables that are not set. */
  unset: FieldError[];
  /** Placeholders of another form. */
  unknown: FieldError[];
}

type Faults = Omit<FilledIn, 'value'>;

/** A copy of `raw` with every placeholder in its strings replaced, and those that cannot be. */
export function fillIn(raw: unknown, environment: Environment): FilledIn {
  const faults: Faults = { unset: [], unknown: [] };
  return { value: fill(raw, '', environment, faults), ...faults };
}

function fill(value: unknown, path: string, environment: Environment, faults: Faults): unknown {
  if (typeof value === 'string') return fillText(value, path, environment, faults);
  if (Array.isArray(value))
    return value.map((item, index) => fill(item, `${path}[${index}]`, environment, faults));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => [
    key,
    fill(item, path ? `${path}.${key}` : key, environment, faults),
  ]);
  return Object.fromEntries(entries) as unknown;
}

function fillText(text: string, path: string, environment: Environment, faults: Faults): string {
  return text.replaceAll(PLACEHOLDER, (whole, inside: string) => {
    const { name, fallback } = VARIABLE.exec(inside)?.groups ?? {};
    if (name === undefined) {
      faults.unknown.push({ path, message: unknownMessage(inside) });
      return whole;
    }
    const value = ownMember(environment, name) ?? fallback;
    if (value !== undefined) return value;
    faults.unset.push({ path, message: `names the environment variable ${name}, which is not set` });
    return whole;
  });
}

function unknownMessage(inside: string): string {
  const [name = ''] = inside.split(':-');
  if (!SHOWN.test(name)) return 'has a placeholder in ${…} that is not the name of a variable';
  const input = /^input:(.+)$/.exec(name)?.[1];
  return input === undefined
    ? `has the unknown placeholder \${${name}}`
    : `has the placeholder \${${name}}: an editor asks a person for "${input}", a service cannot`;
}
