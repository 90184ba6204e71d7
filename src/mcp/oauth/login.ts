/** A login at an MCP server: what is stored of it, whether it fits the configuration, and when its token is renewed.
 *  It must never be logged or shown as a whole: it holds tokens. */
import * as z from 'zod';
import type { OAuthOptions } from '../server-options.ts';

/** The part of the authorization server's metadata that a renewal needs. */
export const endpointsSchema = z.object({
  issuer: z.string(),
  authorization_endpoint: z.string(),
  token_endpoint: z.string(),
  response_types_supported: z.array(z.string()),
  token_endpoint_auth_methods_supported: z.array(z.string()).optional(),
});

const clientSchema = z.object({
  client_id: z.string(),
  client_secret: z.string().optional(),
  token_endpoint_auth_method: z.string().optional(),
});

export const loginSchema = z.object({
  /** The address of the MCP server: the token goes nowhere else. */
  serverUrl: z.string(),
  /** The authorization server. */
  issuer: z.string(),
  /** null: the authorization server publishes none, and has the paths of the protocol of 2025-03-26. */
  endpoints: endpointsSchema.nullable(),
  client: clientSchema,
  /** The resource indicator that the tokens are asked for; null: none. */
  resource: z.string().nullable(),
  /** Where the server says which authorization server it has; null: at the usual place. */
  resourceMetadataUrl: z.string().nullable(),
  accessToken: z.string(),
  refreshToken: z.string().nullable(),
  /** Separated by spaces; null: the authorization server did not say. */
  scope: z.string().nullable(),
  /** Who logged in, as the authorization server names the person; null: it did not say. */
  account: z.string().nullable(),
  loggedInAt: z.number(),
  renewedAt: z.number(),
  /** null: the authorization server did not say. */
  expiresAt: z.number().nullable(),
  /** Why the authorization server refused to renew it: only a new login helps. null: it did not. */
  refused: z.string().nullable(),
});

export type Login = z.infer<typeof loginSchema>;

/** Names one login of a person: its renewals keep the name, and the next login has another. */
export function nameOfLogin({ loggedInAt }: Pick<Login, 'loggedInAt'>): string {
  return String(loggedInAt);
}

/** A token is renewed this long before it expires, or a fifth of its life where that is shorter. Milliseconds. */
const LEAD_MS = 60_000;
const LEAD_SHARE = 0.2;

/** `random` from 0 up to 1 spreads the processes over half of the lead. Never for a token without an end. */
export function isDue(
  { expiresAt, renewedAt }: Pick<Login, 'expiresAt' | 'renewedAt'>,
  now: number,
  random: number,
): boolean {
  if (expiresAt === null) return false;
  const leadMs = Math.min(LEAD_MS, (expiresAt - renewedAt) * LEAD_SHARE);
  return now >= expiresAt - leadMs * (1 - random / 2);
}

const YOUNG_MS = 10_000;

/** A server that refuses such a token refuses the next one, too: renewing again would only load the authorization server. */
export function isYoung(
  { expiresAt, renewedAt }: Pick<Login, 'expiresAt' | 'renewedAt'>,
  now: number,
): boolean {
  const halfLifeMs = expiresAt === null ? YOUNG_MS : (expiresAt - renewedAt) / 2;
  const ageMs = now - renewedAt;
  // Negative: the clock that renewed it is ahead, and says nothing of its age.
  return ageMs >= 0 && ageMs < Math.min(YOUNG_MS, halfLifeMs);
}

export function isOver({ expiresAt }: Pick<Login, 'expiresAt'>, now: number): boolean {
  return expiresAt !== null && now >= expiresAt;
}

/** Reason why a new login is needed before the token can be used; null: none. */
export function misfitOf(login: Login, serverUrl: string, auth: OAuthOptions): string | null {
  if (login.serverUrl !== serverUrl) return 'the login is for another address of the server';
  if (auth.issuer !== undefined && !isSameIssuer(login.issuer, auth.issuer))
    return 'the login is from another issuer than the configuration names';
  if (auth.clientId !== undefined && auth.clientId !== login.client.client_id)
    return 'the login is of another client than the configuration names';
  return login.refused === null ? null : `the authorization server refused to renew it (${login.refused})`;
}

/** The SDK ends the issuers that it derives from an address with a slash. */
export function isSameIssuer(left: string, right: string): boolean {
  return left.replace(/\/$/, '') === right.replace(/\/$/, '');
}

/** Every secret text of the login. */
export function secretsOf({ accessToken, refreshToken, client }: Login): string[] {
  return [accessToken, refreshToken, client.client_secret].filter((text) => typeof text === 'string');
}

/** Public part of a login. */
export interface LoginSummary {
  readonly issuer: string;
  readonly clientId: string;
  readonly account: string | null;
  readonly scope: string | null;
  readonly expiresAt: number | null;
  readonly renewable: boolean;
  readonly refused: string | null;
}

export function summaryOf(login: Login, renewable = login.refreshToken !== null): LoginSummary {
  const { issuer, client, account, scope, expiresAt, refused } = login;
  return { issuer, clientId: client.client_id, account, scope, expiresAt, renewable, refused };
}
