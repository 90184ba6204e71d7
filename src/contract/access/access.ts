// API keys on the wire: their scopes, what each may use, and how one is made and listed.
// Must never hold a key itself, except in the one answer that shows a new one.
import * as z from 'zod';
import type { PersonalLoginClient } from './personal-login.ts';
import type { AuditPage, AuditQuery } from './audit.ts';
import { MOST_OF_A_DAY } from '../model/budget.ts';
import { identifierSchema, instantSchema } from '../identifiers.ts';
import { tenantSchema } from './tenant-name.ts';
import type { SubmittedViewToken, ViewToken } from './view-token.ts';

/**
 * `submit`: directives, runs, and input to runs. `read`: requests, listings, metrics. `cancel`. `decide`: approvals and answers to
 * questions. `redrive`: dead letters. `work`: the work of remote directive types of all tenants. `admin`: keys, the audit, and which
 * workers take work; who has it can make a key for everything.
 */
export const SCOPES = ['submit', 'read', 'cancel', 'decide', 'redrive', 'work', 'admin'] as const;

/** Schema of a scope. */
export const scopeSchema = z.enum(SCOPES);

/** Right that an API key grants. */
export type Scope = z.infer<typeof scopeSchema>;

/** The first characters of every key, by which it is recognised where it should not be. */
export const KEY_MARK = 'adj_';

const KEY_NAME = /^[A-Za-z0-9][A-Za-z0-9 ._@-]{0,63}$/;
const keyNameSchema = z.string().regex(KEY_NAME, '1 to 64 characters of A-Z a-z 0-9 space . _ @ -');

/** Names with the wildcard `*`. */
const patternsSchema = z.array(z.string().min(1).max(256)).min(1).max(64);

const budgetSchema = z.int().min(1).max(1_000_000_000);

const spendingSchema = z.int().min(1).max(MOST_OF_A_DAY);

const allowedFields = {
  tools: patternsSchema
    .optional()
    .describe(
      'Tools that the key may call, by full name such as `server.tool`, or patterns; custom directives as `custom.<type>`. For a key with `tools`, `agents` or `models`, an absent one of the three permits nothing; a key with none of them permits everything.',
    ),
  agents: patternsSchema
    .optional()
    .describe(
      "Agents whose runs the key may start. Their runs use the tools and models of the agent's definition.",
    ),
  models: patternsSchema
    .optional()
    .describe('Models that the key may use, by alias or name as a directive or run gives them.'),
  mcp_tools: z
    .literal('search')
    .optional()
    .describe(
      'How `/mcp` presents tools to the key: `search` shows tools that find and call the others, unless the address says `?tools=list`. Default: the list of all tools.',
    ),
  per_minute: budgetSchema
    .optional()
    .describe('Maximum number of directives and runs submitted with the key per minute. Default: no limit.'),
  per_day: budgetSchema
    .optional()
    .describe('Maximum number of directives and runs submitted with the key per UTC day. Default: no limit.'),
  tokens_per_day: spendingSchema
    .optional()
    .describe(
      'Budget of model tokens per UTC day for everything submitted with the key. Default: no budget of its own.',
    ),
  money_per_day: spendingSchema
    .optional()
    .describe(
      'Budget of model costs per UTC day for everything submitted with the key, in millionths of a US dollar. Default: no budget of its own.',
    ),
};

/** Schema of the body that creates an API key. */
export const createKeyBodySchema = z.strictObject({
  name: keyNameSchema.describe('Name of the key, as audit entries and listings show it.'),
  tenant: tenantSchema
    .optional()
    .describe(
      'Tenant whose requests the key reaches. Only keys of `default` create keys of another tenant. Default: the tenant of the creating key.',
    ),
  scopes: z
    .array(scopeSchema)
    .min(1)
    .max(SCOPES.length)
    .describe('Scopes that the key grants, at least one.'),
  ...allowedFields,
  expires_at: instantSchema
    .optional()
    .describe('Instant (UTC) from which the key counts as revoked. Default: never.'),
});

/** Schema of an API key as listings show it. */
export const accessKeySchema = z.object({
  id: identifierSchema.describe('Id of the key: the part after `adj_` that may be displayed.'),
  name: z.string().describe('Name of the key.'),
  tenant: z.string().describe('Tenant whose requests the key reaches.'),
  scopes: z.array(z.string()).describe('Scopes that the key grants.'),
  ...allowedFields,
  created_at: instantSchema.describe('Instant (UTC) of the creation.'),
  created_by: z
    .string()
    .nullable()
    .describe('Name of the key that created it; null where it was created before keys were required.'),
  expires_at: instantSchema
    .nullable()
    .describe('Instant (UTC) from which the key counts as revoked; null: never.'),
  last_used_at: instantSchema
    .nullable()
    .describe('Instant (UTC) of the last use, accurate to a minute; null: never used.'),
});

/** Schema of a created API key. `key` appears in this answer only: the service stores its hash. */
export const createdKeySchema = z.object({
  key: z.string().describe('Secret text of the key. It appears in this answer only.'),
  ...accessKeySchema.shape,
});

/** Schema of the list of API keys. */
export const keyListingSchema = z.object({ keys: z.array(accessKeySchema).describe('Keys of the tenant.') });

/** Body that creates an API key, as it is written. */
export type SubmittedKey = z.input<typeof createKeyBodySchema>;
/** Body that creates an API key, with every default filled in. */
export type ParsedKey = z.output<typeof createKeyBodySchema>;
/** API key as listings show it. */
export type AccessKey = z.infer<typeof accessKeySchema>;
/** Created API key with its secret text. */
export type CreatedKey = z.infer<typeof createdKeySchema>;
/** List of the API keys of a tenant. */
export type KeyListing = z.infer<typeof keyListingSchema>;

/** Client for API keys, the audit log and the caller's own logins. Every method throws like those of `DirectiveClient`. */
export interface AccessClient extends PersonalLoginClient {
  /** Creates a key. The answer is the only one that holds its text. */
  create(key: SubmittedKey): Promise<CreatedKey>;
  /** Keys of the tenant. */
  list(): Promise<KeyListing>;
  /** Revokes a key. Refused with `not_found` for an unknown key, and with `last_admin_key` for the last key that creates keys, unless forced. */
  revoke(id: string, options?: { readonly force?: boolean }): Promise<AccessKey>;
  /** One page of the audit log. */
  audit(query?: AuditQuery): Promise<AuditPage>;
  /** Makes a token with which a browser reads one request. Refused with `forbidden` for a caller without an API key. */
  viewToken(requestId: string, token?: SubmittedViewToken): Promise<ViewToken>;
}
