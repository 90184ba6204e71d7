// Definitions that a tenant adds while the installation runs, servers, agents and policies, share these members: version and last change.
import * as z from 'zod';
import { instantSchema } from './identifiers.ts';

/** Schema of the version of a definition. */
export const definitionVersionSchema = z
  .string()
  .regex(/^\d{1,16}$/, 'must be a version as it was read')
  .describe('Version of the definition; each change creates a higher one.');

/** Schema of the version that a change replaces. */
export const replacedVersionSchema = definitionVersionSchema
  .optional()
  .describe(
    'Version that is replaced. Absent: nothing has the name yet. Another version is answered with `version_conflict`.',
  );

/** Schema of the query that removes a definition. */
export const removeDefinitionQuerySchema = z.strictObject({
  version: definitionVersionSchema
    .optional()
    .describe('Version that is removed; another one is answered with `version_conflict`. Default: any.'),
});

/** Members of the view of a definition. */
export const definitionChange = {
  version: definitionVersionSchema,
  changed_at: instantSchema.describe('Instant (UTC) of the last change.'),
  changed_by: z
    .string()
    .nullable()
    .describe('Name of the key of the last change; null: no key was required.'),
};

/** Query that removes a definition. */
export type RemoveDefinitionQuery = z.input<typeof removeDefinitionQuerySchema>;

/** The tenant whose definitions are read and changed. */
export interface OfTenant {
  /** Needs the scope `admin` of the tenant `default`, and is audited. Default: that of the caller. */
  readonly tenant?: string | undefined;
}
