// The rules about calls that a tenant adds while the installation runs, on the wire.
// Must never hold a rule that allows what the operator's rules do not.
import * as z from 'zod';
import { jsonObjectSchema } from '../identifiers.ts';
import {
  definitionChange,
  type OfTenant,
  type RemoveDefinitionQuery,
  replacedVersionSchema,
} from '../runtime-definition.ts';

/** Schema of the name of a policy. */
export const policyNameSchema = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,63}$/, 'must be 1 to 64 of a-z 0-9 _ -, not _ or - first');

/** Schema of the body that adds or replaces a policy. */
export const putPolicyBodySchema = z.strictObject({
  policy: jsonObjectSchema.describe(
    '`rules` and `counters` as in `policy` of adjutant.json, at most 8 rules, 4 counters, 4 `+` in an expression and 16,384 bytes. `ask_ms` is at most 1 h, which is its default. The decision `allow` is refused.',
  ),
  version: replacedVersionSchema,
});

/** Schema of a policy that a tenant has added. */
export const runtimePolicySchema = z.object({
  name: policyNameSchema.describe('Name of the policy; its rules decide as `<policy>/<rule>`.'),
  ...definitionChange,
  policy: jsonObjectSchema.describe('Rules and counters.'),
  fault: z
    .string()
    .nullable()
    .describe('Reason why it cannot be evaluated, so that every call of the tenant is denied; null: none.'),
});

/** Schema of the policies that a tenant has added. */
export const runtimePolicyListingSchema = z.object({
  policies: z.array(runtimePolicySchema).describe('Policies in the order of their names.'),
});

/** Policy that a tenant has added. */
export type RuntimePolicy = z.infer<typeof runtimePolicySchema>;
/** Policies that a tenant has added. */
export type RuntimePolicyListing = z.infer<typeof runtimePolicyListingSchema>;

type PutPolicyBody = z.input<typeof putPolicyBodySchema>;

/** Client for policies that are added while the installation runs. Refused with `not_found` where that is off. */
export interface RuntimePolicyClient {
  /** Policies of the tenant. */
  list(options?: OfTenant): Promise<RuntimePolicyListing>;
  /** Throws `DirectiveRefused` (`not_found`) for an unknown name. */
  get(name: string, options?: OfTenant): Promise<RuntimePolicy>;
  /** Adds or replaces a policy, which decides after 1 s at the latest. The same definition again changes nothing. */
  put(name: string, body: PutPolicyBody, options?: OfTenant): Promise<RuntimePolicy>;
  /** Removes a policy and returns its last view. */
  remove(name: string, query?: RemoveDefinitionQuery, options?: OfTenant): Promise<RuntimePolicy>;
}
