// Fills `${NAME}` and `${NAME:-default}` in configuration values from the environment.
// Must never put a value into an error message: it may be a secret.
import { ownMember } from '../contract/own-member.ts';
import type { FieldError } from '../contract/problem.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

const PLACEHOLDER = /\$\{(?<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?<fallback>[^}]*))?\}/g;

export interface FilledIn {
  value: unknown;
  errors: FieldError[];
}

/** A copy of `raw` with every placeholder in its strings replaced; unset variables become errors. */
export function fillIn(raw: unknown, environment: Environment): FilledIn {
  const errors: FieldError[] = [];
  return { value: fill(raw, '', environment, errors), errors };
}

function fill(value: unknown, path: string, environment: Environment, errors: FieldError[]): unknown {
  if (typeof value === 'string') return fillText(value, path, environment, errors);
  if (Array.isArray(value))
    return value.map((item, index) => fill(item, `${path}[${index}]`, environment, errors));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => [
    key,
    fill(item, path ? `${path}.${key}` : key, environment, errors),
  ]);
  return Object.fromEntries(entries) as unknown;
}

function fillText(text: string, path: string, environment: Environment, errors: FieldError[]): string {
  return text.replaceAll(PLACEHOLDER, (whole, name: string, fallback: string | undefined) => {
    const value = ownMember(environment, name) ?? fallback;
    if (value !== undefined) return value;
    errors.push({ path, message: `names the environment variable ${name}, which is not set` });
    return whole;
  });
}
