// Directives of kinds that a user's module defines: what all of them have, and how one is read.
// Must never take a kind for one of the service's own.
import * as z from 'zod';
import { directiveFields, submittedFields } from './directive-identity.ts';

/** `defineDirective` takes no other names. */
export const CUSTOM_TYPE_PATTERN = /^[A-Za-z][A-Za-z0-9_.-]{0,63}$/;

export const customTypeSchema = z.string().regex(CUSTOM_TYPE_PATTERN);

/** As journalled and shown; its own fields are as its kind's schema left them. */
export const customDirectiveSchema = z.looseObject({ type: customTypeSchema, ...directiveFields });

/** What every submitted one has. */
export const submittedCustomFieldsSchema = z.object({ type: customTypeSchema, ...submittedFields });

/** The kinds that an installation knows, by type, with the schema of each one's own fields. */
export type CustomTypes = ReadonlyMap<string, z.ZodType>;

export const NO_CUSTOM_TYPES: CustomTypes = new Map();

/** Where a run keeps the context of a directive of such a kind: a name that no kind has for a field of its own. */
export const CUSTOM_CONTEXT = 'adjutant/context';

/** The fields of a directive that are its kind's own. */
export function ownFields(item: Record<string, unknown>): Record<string, unknown> {
  const { type: _type, id: _id, request_id: _request, metadata: _metadata, ...own } = item;
  return own;
}
