/** Puts the answer of a token endpoint into a login.
 *  It must never trust the claims of an identity token: they are shown, and decide nothing. */
import type { OAuthTokens } from '@modelcontextprotocol/client';
import type { Login } from './login.ts';
import { LoginFault, plainText } from './login-fault.ts';

export type LoginBefore = Omit<Login, 'accessToken' | 'refreshToken' | 'expiresAt' | 'renewedAt'> & {
  readonly refreshToken?: string | null;
};

export interface LoginParts {
  readonly tokens: OAuthTokens;
  readonly before: LoginBefore;
  readonly now: number;
}

/** A year: longer ones are not believed. Seconds. */
const LONGEST_LIFE_S = 31_536_000;
/** A token that ends at once would be renewed for each request. Seconds. */
const SHORTEST_LIFE_S = 5;

/** Characters that a header takes: more than those of RFC 6750, 2.1. */
const BEARER_TOKEN = /^[\x20-\x7E\xA0-\xFF]+$/;

/** Throws a `LoginFault` for a token that no request can carry: each call would end as if the server were away. */
export function loginOf({ tokens, before, now }: LoginParts): Login {
  const {
    access_token: accessToken,
    refresh_token: refreshToken,
    expires_in: life,
    id_token: idToken,
  } = tokens;
  if (!BEARER_TOKEN.test(accessToken))
    throw new LoginFault('auth', 'the authorization server gave a token that no header can carry');
  const lifeMs =
    life === undefined ? null : Math.min(Math.max(life, SHORTEST_LIFE_S), LONGEST_LIFE_S) * 1_000;
  return {
    ...before,
    accessToken,
    // A refresh that brings no new refresh token leaves the old one valid.
    refreshToken: refreshToken ?? before.refreshToken ?? null,
    scope: tokens.scope ?? before.scope,
    account: accountIn(idToken) ?? before.account,
    renewedAt: now,
    expiresAt: lifeMs === null ? null : now + lifeMs,
    refused: null,
  };
}

const NAMES = ['preferred_username', 'email', 'name', 'sub'] as const;

function accountIn(idToken: string | undefined): string | null {
  const claims = claimsOf(idToken ?? '');
  const name = NAMES.map((key) => claims[key]).find((claim) => typeof claim === 'string' && claim !== '');
  return typeof name === 'string' ? plainText(name, 100) : null;
}

function claimsOf(idToken: string): Record<string, unknown> {
  try {
    const claims: unknown = JSON.parse(Buffer.from(idToken.split('.')[1] ?? '', 'base64url').toString());
    return typeof claims === 'object' && claims !== null ? { ...claims } : {};
  } catch {
    return {};
  }
}
