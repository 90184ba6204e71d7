// The fields every directive has: its identity and the caller's metadata.
// Must never gain a field that only some directives have.
import { identifierSchema, jsonObjectSchema } from '../identifiers.ts';
import { submittedMetadataSchema } from './tags.ts';

const metadata = jsonObjectSchema.default({});

/** As journalled and executed: `(request_id, id)` is the identity. */
export const directiveFields = {
  id: identifierSchema.describe(
    'Id of the directive, unique within its request. 1 to 128 characters of A-Z a-z 0-9 . _ : -',
  ),
  request_id: identifierSchema.describe(
    'Id of the request that the directive belongs to. 1 to 128 characters of A-Z a-z 0-9 . _ : -',
  ),
  metadata: metadata.describe("Caller's metadata, copied to every signal of the directive. Default: {}."),
};

/** As submitted: absent ids are generated. */
export const submittedFields = {
  id: identifierSchema
    .optional()
    .describe(
      'Id of the directive, unique within its request; the same id with the same content is the same directive. 1 to 128 characters of A-Z a-z 0-9 . _ : - Default: generated.',
    ),
  request_id: identifierSchema
    .optional()
    .describe(
      'Id of the request that the directive belongs to. 1 to 128 characters of A-Z a-z 0-9 . _ : - Default: generated.',
    ),
  metadata: submittedMetadataSchema.describe(
    "Caller's metadata, copied to every signal of the directive; `tags` holds at most 16 texts by which the request is found. Default: {}.",
  ),
};
