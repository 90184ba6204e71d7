// Tokens of an issuer beside keys: checks the signature, issuer, audience and times, and reads scopes and tenant.
// Must never accept a token whose key the issuer does not publish, nor ask the issuer for each request.
import type { JWTPayload, JWTVerifyOptions } from 'jose';
import { SCOPES } from '../../contract/access/access.ts';
import { DEFAULT_TENANT } from '../../contract/access/tenant.ts';
import { ServiceUnavailable } from '../../contract/problem.ts';
import { boundedFetch } from './issuer-fetch.ts';
import { digestOf } from './key-text.ts';
import { type Principal, TOKEN_MARK, UNLIMITED } from './principal.ts';

export interface JwtRules {
  readonly issuer: string;
  readonly audience: string;
  readonly jwks_url: string;
  readonly scopes_claim: string;
  readonly tenant_claim?: string | undefined;
}

/** Whether tokens may name a tenant. */
export type KnowsTenant = (name: string) => boolean;

export interface VerifiedToken {
  readonly principal: Principal;
  /** Its `exp`, milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** null: the token is not valid. Rejects with `ServiceUnavailable` where the issuer's keys cannot be read. */
export type VerifyToken = (token: string) => Promise<VerifiedToken | null>;

/** Only those with a public key: a secret that both sides have would let the service forge tokens. */
const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'];
const CLOCK_TOLERANCE_S = 30;
/** Time during which a checked token is accepted without checking the issuer's keys again. */
const KNOWN_MS = 60_000;
const MOST_KNOWN = 1_000;
const FETCH_MS = 5_000;
const LONGEST_REASON = 300;
const PARTS = /^[\w-]+\.[\w-]+\.[\w-]+$/;

export function looksLikeToken(text: string): boolean {
  return PARTS.test(text);
}

interface KnownToken extends VerifiedToken {
  readonly until: number;
}

/** Why a token was refused, or the issuer's keys were not read. `jwksUrl` is without its query and password. */
export type TokenTrouble = (reason: string, details: { readonly jwksUrl?: string }) => void;

export function createTokenCheck(
  rules: JwtRules,
  onTrouble: TokenTrouble,
  knowsTenant: KnowsTenant = (name) => name === DEFAULT_TENANT,
  now: () => number = Date.now,
): VerifyToken {
  const known = new Map<string, KnownToken>();
  // Loaded only where tokens are configured.
  const verifying = createVerifier(rules, onTrouble);
  return async (token) => {
    const digest = digestOf(token);
    const found = known.get(digest);
    if (found !== undefined && now() < found.until) return found;
    known.delete(digest);
    const payload = await (await verifying)(token);
    const principal = payload && principalOf(payload, rules, knowsTenant);
    if (payload && !principal)
      onTrouble(
        'the token is of a tenant that the configuration does not name, or its subject cannot be shown',
        {},
      );
    if (!principal) return null;
    if (known.size >= MOST_KNOWN) known.clear();
    const expiresAt = (payload.exp ?? 0) * 1_000;
    const until = Math.min(expiresAt + CLOCK_TOLERANCE_S * 1_000, now() + KNOWN_MS);
    const verified = { principal, expiresAt, until };
    known.set(digest, verified);
    return verified;
  };
}

/** The issuer's keys are read when one is unknown, at most every 30 s, so that a rotation needs no restart. */
async function createVerifier({ issuer, audience, jwks_url: url }: JwtRules, onTrouble: TokenTrouble) {
  const { createRemoteJWKSet, customFetch, errors, jwtVerify } = await import('jose');
  const keys = createRemoteJWKSet(new URL(url), {
    timeoutDuration: FETCH_MS,
    [customFetch]: boundedFetch(),
  });
  const options: JWTVerifyOptions = {
    issuer,
    audience,
    algorithms: ALGORITHMS,
    clockTolerance: CLOCK_TOLERANCE_S,
    requiredClaims: ['exp', 'sub'],
  };
  /** The issuer is out of reach, or does not answer with keys. */
  const isAway = (error: unknown): boolean =>
    !(error instanceof errors.JOSEError) ||
    error instanceof errors.JWKSTimeout ||
    error instanceof errors.JWKSInvalid ||
    error.code === 'ERR_JOSE_GENERIC';
  return async (token: string): Promise<JWTPayload | null> => {
    try {
      return (await jwtVerify(token, keys, options)).payload;
    } catch (error) {
      if (!isAway(error)) {
        onTrouble(reasonOf(error), {});
        return null;
      }
      const { origin, pathname, href } = new URL(url);
      const jwksUrl = origin + pathname;
      // fetch repeats the whole address in some of its errors.
      onTrouble(reasonOf(error).replaceAll(url, jwksUrl).replaceAll(href, jwksUrl).slice(0, LONGEST_REASON), {
        jwksUrl,
      });
      throw new ServiceUnavailable('The keys of the issuer of tokens cannot be read.', { cause: error });
    }
  };
}

/** The reason of an error of jose or of the network, in the words of this service and of the rules; never the token. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  const { code = '', message: below = code } = Object(cause) as { code?: string; message?: string };
  return [message, below].filter(Boolean).join(': ');
}

/** As an id it is kept and shown whole: cut or altered, two callers would be one. */
export const SUBJECT = /^[\x20-\x7E]{1,255}$/;

/** null: it is of a tenant that there is not, or its subject cannot be shown. */
function principalOf(payload: JWTPayload, rules: JwtRules, knowsTenant: KnowsTenant): Principal | null {
  const { scopes_claim: scopesClaim, tenant_claim: tenantClaim } = rules;
  const tenant = tenantClaim === undefined ? DEFAULT_TENANT : payload[tenantClaim];
  if (typeof tenant !== 'string' || !knowsTenant(tenant)) return null;
  const { sub: subject } = payload as { sub?: unknown };
  if (typeof subject !== 'string' || !SUBJECT.test(subject)) return null;
  const scopes = scopesOf(payload[scopesClaim]);
  return { id: `${TOKEN_MARK}${subject}`, name: subject, issuer: rules.issuer, tenant, scopes, ...UNLIMITED };
}

/** Words in a text or a list; those that name no scope are ignored. */
export function scopesOf(claim: unknown): ReadonlySet<string> {
  const words: unknown[] = typeof claim === 'string' ? claim.split(' ') : Array.isArray(claim) ? claim : [];
  return new Set(SCOPES.filter((scope) => words.includes(scope) || words.includes(`adjutant:${scope}`)));
}
