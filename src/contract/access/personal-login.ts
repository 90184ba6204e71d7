// The logins of a caller at MCP servers on the wire.
// Must never hold a token, nor the login of another caller.
import * as z from 'zod';
import { instantSchema } from '../identifiers.ts';

/** Schema of the caller's login at a server. */
export const personalLoginSchema = z.object({
  server: z.string().describe('Name of the MCP server.'),
  url: z.string().describe('Address of the page at which the caller logs in. It holds no secret.'),
  logged_in_at: instantSchema.nullable().describe('Instant (UTC) of the login; null: none is stored.'),
  account: z
    .string()
    .optional()
    .describe('Account at the server, as its authorization server names it. Absent: unknown.'),
  scope: z.string().optional().describe('Scopes of the login, separated by spaces. Absent: unknown.'),
});

/** Schema of the list of the caller's logins. */
export const personalLoginListingSchema = z.object({
  logins: z
    .array(personalLoginSchema)
    .describe('One entry for each server that is called with the logins of callers.'),
});

/** Schema of a removed login. */
export const forgottenLoginSchema = z.object({
  server: z.string().describe('Name of the MCP server.'),
  forgotten: z.boolean().describe('Whether a login was stored.'),
});

/** Schema of the query that names whose login is removed. */
export const forgetLoginQuerySchema = z.strictObject({
  caller: z
    .string()
    .min(1)
    .max(300)
    .optional()
    .describe(
      'Id of another caller of the tenant, as the audit log shows it: that of a key, or `oidc:` or `jwt:` with a subject. For administrators. Default: the caller.',
    ),
});

/** Login of the caller at a server. */
export type PersonalLogin = z.infer<typeof personalLoginSchema>;
/** List of the logins of the caller. */
export type PersonalLoginListing = z.infer<typeof personalLoginListingSchema>;
/** Removed login. */
export type ForgottenLogin = z.infer<typeof forgottenLoginSchema>;

/** Query that names whose login is removed. */
export type ForgetLoginQuery = z.infer<typeof forgetLoginQuerySchema>;

/** Calls about the caller's own logins. Every method throws like those of `DirectiveClient`. */
export interface PersonalLoginClient {
  /** Logins of the caller at servers with `"login": "each"`. */
  logins(): Promise<PersonalLoginListing>;
  /** Removes a login. Calls that need it ask for a new one. Refused with `not_found` for a server without logins of callers. */
  forgetLogin(server: string, query?: ForgetLoginQuery): Promise<ForgottenLogin>;
}
