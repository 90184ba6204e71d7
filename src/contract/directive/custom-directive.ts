// Custom directives, whose types a user's module defines: the fields that all have, and how one is read.
// Must never read a custom type as one of the service's own types.
import * as z from 'zod';
import { isObject } from '../json/json-object.ts';
import { directiveFields, submittedFields } from './directive-identity.ts';

/** `defineDirective` takes no other names. */
export const CUSTOM_TYPE_PATTERN = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/;

/** Schema of the name of a custom directive type. */
export const customTypeSchema = z.string().regex(CUSTOM_TYPE_PATTERN);

/** As journalled and shown; its own fields are as the schema of its type returned them. */
export const customDirectiveSchema = z.looseObject({
  type: customTypeSchema.describe('Type of the directive, registered in the configuration.'),
  ...directiveFields,
});

/** The fields of every submitted custom directive. */
export const submittedCustomFieldsSchema = z.object({
  type: customTypeSchema.describe('Type of the directive, registered in the configuration.'),
  ...submittedFields,
});

/** The custom directive types of an installation, each with the schema of its own fields. */
export type CustomTypes = ReadonlyMap<string, z.ZodType>;

/** Set without any custom type. */
export const NO_CUSTOM_TYPES: CustomTypes = new Map();

/** Where a run keeps the context of a custom directive: a name that no type uses for a field of its own. */
export const CUSTOM_CONTEXT = 'adjutant/context';

/** The fields that the type of the directive defines. */
export function ownFields(item: Record<string, unknown>): Record<string, unknown> {
  const { type: _type, id: _id, request_id: _request, metadata: _metadata, ...own } = item;
  return own;
}

/** Splits a stored directive into what its type declares and the context from its run; {} outside a run. */
export function partedContext<D extends object>(
  stored: D,
): { directive: D; toolContext: Record<string, unknown> } {
  const { [CUSTOM_CONTEXT]: given, ...directive } = stored as D & { [CUSTOM_CONTEXT]?: unknown };
  return { directive: directive as unknown as D, toolContext: isObject(given) ? { ...given } : {} };
}
