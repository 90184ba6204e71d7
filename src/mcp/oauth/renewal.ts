/** Gets a new access token for a login: with its refresh token, or with the account of the service.
 *  It must never ask for consent, nor repeat what an authorization server has written. */
import {
  auth as authorize,
  AuthorizationServerMismatchError,
  ClientCredentialsProvider,
  createPrivateKeyJwtAuth,
  type FetchLike,
  InsecureTokenEndpointError,
  IssuerMismatchError,
  OAuthError,
  PrivateKeyJwtProvider,
  refreshAuthorization,
} from '@modelcontextprotocol/client';
import { describe } from '../connect-fault.ts';
import type { OAuthOptions } from '../server-options.ts';
import { AddressRefused, createAuthFetch, withSlash } from './auth-fetch.ts';
import type { Login } from './login.ts';
import { loginOf } from './login-tokens.ts';

/** Requirements of a server for its token, in its 401. */
export interface Challenge {
  readonly resourceMetadataUrl?: URL | undefined;
  readonly scope?: string | undefined;
}

export interface RenewalRequest {
  readonly serverUrl: string;
  readonly auth: OAuthOptions;
  /** null: no login. */
  readonly login: Login | null;
  readonly challenge: Challenge;
  readonly signal: AbortSignal;
  readonly now: () => number;
}

export type Renewal =
  | { readonly kind: 'renewed'; readonly login: Login }
  /** Repeating it cannot help. `reason`: our words. */
  | { readonly kind: 'denied'; readonly reason: string }
  | { readonly kind: 'failed'; readonly reason: string };

export type Renew = (request: RenewalRequest) => Promise<Renewal>;

/** Never rejects. */
export async function renewLogin(request: RenewalRequest): Promise<Renewal> {
  const { serverUrl, auth, signal } = request;
  const fetchFn = createAuthFetch({ serverUrl, issuer: auth.issuer, signal });
  try {
    const login =
      auth.grant === 'client_credentials'
        ? await ownToken(request, fetchFn)
        : await refreshed(request, fetchFn);
    return login === null
      ? { kind: 'denied', reason: 'there is no refresh token' }
      : { kind: 'renewed', login };
  } catch (error) {
    return endingOf(error);
  }
}

/** null: it cannot be renewed. */
async function refreshed({ auth, login, now }: RenewalRequest, fetchFn: FetchLike): Promise<Login | null> {
  if (login === null || login.refreshToken === null) return null;
  const { issuer, endpoints, client, resource, refreshToken } = login;
  const tokens = await refreshAuthorization(issuer, {
    ...(endpoints === null ? {} : { metadata: endpoints }),
    clientInformation: { ...client, ...secretOf(auth) },
    refreshToken,
    ...(resource === null ? {} : { resource }),
    ...(auth.privateKey === undefined
      ? {}
      : { addClientAuthentication: signedClient(client.client_id, auth.privateKey) }),
    fetchFn,
  });
  return loginOf({ tokens, before: login, now: now() });
}

/** The configuration's secret may be newer than the one of the login. */
function secretOf({ clientSecret }: OAuthOptions): { client_secret?: string } {
  return clientSecret === undefined ? {} : { client_secret: clientSecret };
}

export function signedClient(clientId: string, { pem, algorithm }: { pem: string; algorithm: string }) {
  return createPrivateKeyJwtAuth({ issuer: clientId, subject: clientId, privateKey: pem, alg: algorithm });
}

/** Discovers each time: who answers for the server may change, and only the configured issuer gets the secret. */
async function ownToken(request: RenewalRequest, fetchFn: FetchLike): Promise<Login | null> {
  const { serverUrl, auth, login, challenge, now } = request;
  const provider = accountOf(auth);
  const resourceMetadataUrl = challenge.resourceMetadataUrl ?? urlOrNothing(login?.resourceMetadataUrl);
  const scope =
    auth.scopes.length > 0 ? auth.scopes.join(' ') : (challenge.scope ?? login?.scope ?? undefined);
  await authorize(provider, {
    serverUrl: withSlash(serverUrl),
    fetchFn,
    ...(resourceMetadataUrl === undefined ? {} : { resourceMetadataUrl }),
    ...(scope === undefined ? {} : { scope }),
  });
  const tokens = provider.tokens();
  if (tokens === undefined) return null;
  const begun: Omit<Login, 'accessToken' | 'refreshToken' | 'expiresAt' | 'renewedAt'> = {
    serverUrl,
    issuer: tokens.issuer ?? auth.issuer ?? '',
    endpoints: null,
    client: { client_id: auth.clientId ?? '' },
    resource: null,
    resourceMetadataUrl: resourceMetadataUrl?.href ?? null,
    scope: scope ?? null,
    account: null,
    loggedInAt: login?.loggedInAt ?? now(),
    refused: null,
  };
  return loginOf({ tokens: { ...tokens, refresh_token: undefined }, before: begun, now: now() });
}

function urlOrNothing(text: string | null | undefined): URL | undefined {
  return typeof text === 'string' && URL.canParse(text) ? new URL(text) : undefined;
}

function accountOf(auth: OAuthOptions): ClientCredentialsProvider | PrivateKeyJwtProvider {
  const { clientId = '', clientSecret = '', issuer = '', privateKey } = auth;
  const account = { clientId, clientName: 'Adjutant', expectedIssuer: issuer };
  return privateKey === undefined
    ? new ClientCredentialsProvider({ ...account, clientSecret })
    : new PrivateKeyJwtProvider({ ...account, privateKey: privateKey.pem, algorithm: privateKey.algorithm });
}

/** Codes of RFC 6749 and its kin are words; other texts of a stranger are not repeated. */
const CODE = /^[a-z_]{1,40}$/;
/** The server will take the same request later. */
const PASSING: ReadonlySet<string> = new Set([
  'server_error',
  'temporarily_unavailable',
  'slow_down',
  'too_many_requests',
]);

function endingOf(error: unknown): Exclude<Renewal, { kind: 'renewed' }> {
  if (error instanceof OAuthError) {
    const code = CODE.test(error.code) ? error.code : 'an unknown error';
    return { kind: PASSING.has(code) ? 'failed' : 'denied', reason: code };
  }
  if (error instanceof AuthorizationServerMismatchError || error instanceof IssuerMismatchError)
    return { kind: 'denied', reason: 'the server names another issuer than the configured one' };
  if (error instanceof InsecureTokenEndpointError)
    return { kind: 'denied', reason: 'the token endpoint is not https' };
  if (error instanceof AddressRefused) return { kind: 'denied', reason: error.message };
  if (error instanceof TypeError) return { kind: 'failed', reason: describe(error) };
  return {
    kind: 'failed',
    reason: isTimeout(error) ? 'it did not answer in time' : 'its answer cannot be used',
  };
}

function isTimeout(error: unknown): boolean {
  return error instanceof Error && (error.name === 'TimeoutError' || error.name === 'AbortError');
}
