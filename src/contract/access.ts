// API keys on the wire: their scopes, what each may use, and how one is made and listed.
// Must never hold a key itself, except in the one answer that shows a new one.
import * as z from 'zod';
import type { AuditPage, AuditQuery } from './audit.ts';
import { MOST_OF_A_DAY } from './budget.ts';
import { identifierSchema, instantSchema } from './identifiers.ts';
import { tenantSchema } from './tenant-name.ts';

/**
 * `submit`: directives, runs, and input to runs. `read`: requests, listings, metrics. `cancel`. `decide`: approvals and answers to
 * questions. `redrive`: dead letters. `admin`: keys, the audit, and which workers take work; who has it
 * can make a key for everything.
 */
export const SCOPES = ['submit', 'read', 'cancel', 'decide', 'redrive', 'admin'] as const;

export const scopeSchema = z.enum(SCOPES);

export type Scope = z.infer<typeof scopeSchema>;

/** The first characters of every key, by which it is recognised where it should not be. */
export const KEY_MARK = 'adj_';

const KEY_NAME = /^[A-Za-z0-9][A-Za-z0-9 ._@-]{0,63}$/;
const keyNameSchema = z.string().regex(KEY_NAME, '1 to 64 characters of A-Z a-z 0-9 space . _ @ -');

/** Names in which `*` stands for any characters. */
const patternsSchema = z.array(z.string().min(1).max(256)).min(1).max(64);

const budgetSchema = z.int().min(1).max(1_000_000_000);

const spendingSchema = z.int().min(1).max(MOST_OF_A_DAY);

const allowedFields = {
  // Of a key with `tools`, `agents` or `models`, what is absent of the three is closed; with none of them, all is open.
  /** Tools by their whole names, as `server.tool`; custom directives as `custom.<type>`. */
  tools: patternsSchema.optional(),
  /** Agents that runs may be started of. They call the tools and models of their definition. */
  agents: patternsSchema.optional(),
  /** Aliases and names of models as a directive or run gives them. */
  models: patternsSchema.optional(),
  /** Directives and runs that may be submitted with it in a minute, and in a day of UTC. Absent = no limit. */
  per_minute: budgetSchema.optional(),
  per_day: budgetSchema.optional(),
  /** What models may take in a day, of what is submitted with it; money in millionths of a US dollar. Absent = no budget of its own. */
  tokens_per_day: spendingSchema.optional(),
  money_per_day: spendingSchema.optional(),
};

export const createKeyBodySchema = z.strictObject({
  name: keyNameSchema,
  /** Whose requests it reaches. Only keys of `default` make keys of another tenant than their own. Absent = that of whoever makes it. */
  tenant: tenantSchema.optional(),
  scopes: z.array(scopeSchema).min(1).max(SCOPES.length),
  ...allowedFields,
  /** From then on it counts as revoked. Absent = never. */
  expires_at: instantSchema.optional(),
});

export const accessKeySchema = z.object({
  /** The part of the key after `adj_` that may be shown. */
  id: identifierSchema,
  name: z.string(),
  tenant: z.string(),
  scopes: z.array(z.string()),
  ...allowedFields,
  created_at: instantSchema,
  /** Name of the key that made it; null: made while no key was asked for. */
  created_by: z.string().nullable(),
  expires_at: instantSchema.nullable(),
  /** At most a minute late; null: never. */
  last_used_at: instantSchema.nullable(),
});

/** `key` is shown this once: the service keeps only its hash. */
export const createdKeySchema = z.object({ key: z.string(), ...accessKeySchema.shape });

export const keyListingSchema = z.object({ keys: z.array(accessKeySchema) });

export type SubmittedKey = z.input<typeof createKeyBodySchema>;
export type ParsedKey = z.output<typeof createKeyBodySchema>;
export type AccessKey = z.infer<typeof accessKeySchema>;
export type CreatedKey = z.infer<typeof createdKeySchema>;
export type KeyListing = z.infer<typeof keyListingSchema>;

/** What an operator does with keys, and who has used them for what. Every method throws as those of `DirectiveClient` do. */
export interface AccessClient {
  create(key: SubmittedKey): Promise<CreatedKey>;
  list(): Promise<KeyListing>;
  /** Refused with `not_found` where there is no such key, and with `last_admin_key` where nobody could make keys afterwards, unless forced. */
  revoke(id: string, options?: { readonly force?: boolean }): Promise<AccessKey>;
  audit(query?: AuditQuery): Promise<AuditPage>;
}
