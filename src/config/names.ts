// Sections of the configuration whose keys are names: of servers, tools, models, variables, headers.
// Must never lose a name: zod's records silently drop "__proto__".
import * as z from 'zod';
import { isObject } from '../contract/json/json-object.ts';

/** Values by names, in the order of the file. */
export function byName<K extends z.ZodType<string>, V extends z.ZodType>(name: K, value: V) {
  return z.preprocess(entriesOf, z.map(name, value));
}

function entriesOf(raw: unknown): unknown {
  return isObject(raw) ? new Map(Object.entries(raw)) : raw;
}

/** Values by names, kept as a plain object, in which "__proto__" is not allowed as a name. */
export function recordByName<K extends z.ZodType<string, string>, V extends z.ZodType>(name: K, value: V) {
  const named = z.unknown().refine((raw) => !isObject(raw) || !Object.hasOwn(raw, '__proto__'), {
    path: ['__proto__'],
    message: 'is not allowed as a key',
  });
  return named.pipe(z.record(name, value));
}
