// Finds the keys that a schema knows at each place of a value, to suggest one for a mistyped key.
// Must never decide whether a value is valid: zod does.
import * as z from 'zod';
import { fieldErrors } from '../contract/json/field-error.ts';
import { fieldPath } from '../contract/json/field-path.ts';
import type { FieldError } from '../contract/problem.ts';
import { closeNames } from '../platform/bounds/close-names.ts';

/** Zod's faults of `value`, with similar known keys beside each unknown key. */
export function schemaErrors(
  error: z.ZodError,
  schema: z.ZodType,
  value: unknown,
  prefix = '',
): FieldError[] {
  const suggestions = keySuggestions(schema, value, prefix);
  return fieldErrors(error, prefix).map(({ path, message }) => {
    const close = suggestions.get(path) ?? [];
    return close.length === 0 ? { path, message } : { path, message: `${message}; ${didYouMean(close)}` };
  });
}

/** Suggestion such as `did you mean "command"?`. */
export function didYouMean(names: readonly string[]): string {
  return `did you mean ${names.map((name) => `"${name}"`).join(' or ')}?`;
}

/** Path of each unknown key of `value` → similar known keys; only where there are any. */
function keySuggestions(schema: z.ZodType, value: unknown, prefix: string): Map<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  visit([schema], value, [], (keys, close) => found.set(fieldPath(keys, prefix), close));
  return found;
}

type Suggest = (keys: readonly PropertyKey[], close: readonly string[]) => void;

/** `schemas`: all that the value may match; the alternatives of a union are searched together. */
function visit(
  schemas: readonly z.core.$ZodType[],
  value: unknown,
  keys: readonly PropertyKey[],
  suggest: Suggest,
): void {
  if (typeof value !== 'object' || value === null) return;
  const alternatives = schemas.flatMap(alternativesOf);
  if (Array.isArray(value)) {
    const items = alternatives.flatMap((each) => (each instanceof z.ZodArray ? [each.element] : []));
    for (const [index, item] of value.entries()) visit(items, item, [...keys, index], suggest);
    return;
  }
  const shapes = alternatives.flatMap((each) => (each instanceof z.ZodObject ? [each.shape] : []));
  const records = alternatives.flatMap((each) =>
    each instanceof z.ZodRecord || each instanceof z.ZodMap ? [each.valueType] : [],
  );
  for (const [key, member] of Object.entries(value)) {
    const known = shapes.flatMap((shape) => (Object.hasOwn(shape, key) ? [shape[key]] : []));
    if (known.length > 0 || records.length > 0)
      visit([...known, ...records], member, [...keys, key], suggest);
    else suggestFor(key, shapes, (close) => suggest([...keys, key], close));
  }
}

function suggestFor(
  key: string,
  shapes: readonly object[],
  suggest: (close: readonly string[]) => void,
): void {
  const close = closeNames(key, [...new Set(shapes.flatMap((shape) => Object.keys(shape)))]);
  if (close.length > 0) suggest(close);
}

/** The schemas inside defaults, optionals and unions. */
function alternativesOf(schema: z.core.$ZodType): z.core.$ZodType[] {
  if (schema instanceof z.ZodUnion) return schema.options.flatMap(alternativesOf);
  if (
    schema instanceof z.ZodOptional ||
    schema instanceof z.ZodNullable ||
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault
  )
    return alternativesOf(schema.def.innerType);
  // Of a preparation, as of names, only what it leads to has a shape.
  if (schema instanceof z.ZodPipe)
    return alternativesOf(schema.def.in instanceof z.ZodTransform ? schema.def.out : schema.def.in);
  return [schema];
}
