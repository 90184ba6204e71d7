// The fields every directive has: its identity and the caller's metadata.
// Must never gain a field that only some directives have.
import { identifierSchema, jsonObjectSchema } from './identifiers.ts';
import { submittedMetadataSchema } from './tags.ts';

const metadata = jsonObjectSchema.default({});

/** As journalled and executed: `(request_id, id)` is the identity. */
export const directiveFields = { id: identifierSchema, request_id: identifierSchema, metadata };

/** As submitted: absent ids are generated. */
export const submittedFields = {
  id: identifierSchema.optional(),
  request_id: identifierSchema.optional(),
  metadata: submittedMetadataSchema,
};
