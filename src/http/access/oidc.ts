// A login at an issuer: authorization code with PKCE, by discovery; and who it says has logged in.
// Must never take an answer that this browser did not begin, that was taken before, or that another issuer made.
import type { Configuration, IDToken } from 'openid-client';
import { callback, createIssuer, type IssuerTimes, type Library, type OidcRules } from './oidc-issuer.ts';
import type { BegunLogin, LoginSeal } from './login-seal.ts';
import { type KnowsTenant, scopesOf, SUBJECT } from './jwt.ts';
import { PERSON_MARK, type Principal, UNLIMITED } from './principal.ts';
import type { SpendLogin } from './spent-logins.ts';
import { SCOPES } from '../../contract/access/access.ts';
import { DEFAULT_TENANT } from '../../contract/access/tenant.ts';

/** The reason why a login failed, for the person; the log has more. */
export class LoginFailed extends Error {
  override readonly name = 'LoginFailed';
}

/**
 * The callback of another login than the one that this browser has begun; that one continues. Any page can send a
 * browser here.
 */
export class StrayCallback extends LoginFailed {}

export interface OidcLogin {
  /** The cookie for the browser, and the address to send it to. */
  begin(returnTo: string): Promise<{ readonly sealed: string; readonly url: string }>;
  /** `query` of the callback. Throws `LoginFailed`. */
  finish(query: string, sealed: string | null): Promise<{ principal: Principal; returnTo: string }>;
  /** Where the session at the issuer ends; null: it has no such page. */
  endUrl(): Promise<string | null>;
}

export interface OidcParts {
  readonly rules: OidcRules;
  readonly seal: LoginSeal;
  readonly spend: SpendLogin;
  readonly knowsTenant: KnowsTenant;
  /** Called with the cause of a failure, for the log; never with a code, token or secret. */
  readonly onTrouble: (reason: string) => void;
  readonly times?: IssuerTimes;
}

/** Anyone who began a login can cause one; each contacts the issuer up to three times. */
const MOST_AT_ONCE = 32;
const LONGEST_REASON = 300;

export function createOidcLogin(parts: OidcParts): OidcLogin {
  const { rules, seal, spend, knowsTenant, onTrouble } = parts;
  const issuer = createIssuer(rules, parts.times);
  const host = new URL(rules.issuer).host;
  let finishing = 0;

  function away(error: unknown): LoginFailed {
    onTrouble(reasonOf(error));
    return new LoginFailed(`${host} cannot be asked now: try again in a moment.`);
  }

  function notLetIn(code: string, error: unknown): LoginFailed {
    onTrouble(reasonOf(error));
    return new LoginFailed(`${host} did not let you in (${/^[a-z_]{1,40}$/.exec(code)?.[0] ?? 'an error'}).`);
  }

  async function asked(): Promise<readonly [Library, Configuration]> {
    return issuer().catch((error: unknown) => {
      throw away(error);
    });
  }

  async function begin(returnTo: string) {
    const [library, config] = await asked();
    const begun: BegunLogin = {
      kind: 'begun',
      state: library.randomState(),
      nonce: library.randomNonce(),
      verifier: library.randomPKCECodeVerifier(),
      returnTo,
    };
    const url = library.buildAuthorizationUrl(config, {
      redirect_uri: callback(rules),
      scope: rules.scopes.join(' '),
      state: begun.state,
      nonce: begun.nonce,
      code_challenge: await library.calculatePKCECodeChallenge(begun.verifier),
      code_challenge_method: 'S256',
    });
    return { sealed: await seal.seal(begun), url: url.href };
  }

  async function finish(query: string, sealed: string | null) {
    const begun = sealed === null ? null : await seal.open(sealed);
    if (begun?.kind !== 'begun') throw new LoginFailed(NOT_BEGUN);
    if (new URLSearchParams(query).get('state') !== begun.state) throw new StrayCallback(NOT_BEGUN);
    if (!(await spend(begun.state))) throw new LoginFailed(NOT_BEGUN);
    const [library, config] = await asked();
    const claims = await claimsOf(library, config, { rules, query, begun }).catch((error: unknown) => {
      throw error instanceof library.AuthorizationResponseError ? notLetIn(error.error, error) : away(error);
    });
    const person = personOf(claims, { rules, host, knowsTenant });
    if ('missing' in person) throw new LoginFailed(person.missing);
    return { principal: person.principal, returnTo: begun.returnTo };
  }

  return {
    begin,
    async finish(query, sealed) {
      if (finishing >= MOST_AT_ONCE)
        throw new LoginFailed('Too many people log in at once: try again in a moment.');
      finishing += 1;
      try {
        return await finish(query, sealed);
      } finally {
        finishing -= 1;
      }
    },
    async endUrl() {
      const [library, config] = await asked();
      if (config.serverMetadata().end_session_endpoint === undefined) return null;
      const home = `${rules.redirect_base}/console/`;
      return library.buildEndSessionUrl(config, { post_logout_redirect_uri: home }).href;
    },
  };
}

interface Answered {
  readonly rules: OidcRules;
  readonly query: string;
  readonly begun: BegunLogin;
}

/** The claims of the ID token; where it lacks a required one, also those of userinfo. */
async function claimsOf(
  library: Library,
  config: Configuration,
  { rules, query, begun }: Answered,
): Promise<Readonly<Record<string, unknown>>> {
  const url = new URL(callback(rules));
  url.search = query;
  const tokens = await library.authorizationCodeGrant(config, url, {
    expectedState: begun.state,
    expectedNonce: begun.nonce,
    pkceCodeVerifier: begun.verifier,
    idTokenExpected: true,
  });
  const claims = tokens.claims() as IDToken;
  if (needed(rules).every((name) => Object.hasOwn(claims, name))) return claims;
  if (config.serverMetadata().userinfo_endpoint === undefined) return claims;
  return { ...(await library.fetchUserInfo(config, tokens.access_token, claims.sub)), ...claims };
}

const NOT_BEGUN =
  'This login was not begun in this browser within the last ten minutes, or it was used before: begin it again here.';

function needed({ scopes_claim, tenant_claim, name_claim }: OidcRules): string[] {
  return [scopes_claim, name_claim, ...(tenant_claim === undefined ? [] : [tenant_claim])];
}

/** The reason of an error of the library or of the network. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  const { code = '', message: below = code } = Object(cause) as { code?: unknown; message?: unknown };
  const words = [message, ...[below].filter((each) => typeof each === 'string' && each !== '')];
  return words.join(': ').slice(0, LONGEST_REASON);
}

type Claims = Readonly<Record<string, unknown>>;

interface PersonRules {
  readonly rules: Pick<OidcRules, 'issuer' | 'scopes_claim' | 'tenant_claim' | 'name_claim'>;
  readonly host: string;
  readonly knowsTenant: KnowsTenant;
}

/** `missing`: a sentence for the person who has logged in. */
function personOf(
  claims: Claims,
  { rules, host, knowsTenant }: PersonRules,
): { readonly principal: Principal } | { readonly missing: string } {
  const of = (name: string): unknown => (Object.hasOwn(claims, name) ? claims[name] : undefined);
  const { scopes_claim: scopesClaim, tenant_claim: tenantClaim, name_claim: nameClaim } = rules;
  const ask = `Ask the administrator of accounts there.`;
  const without = (claim: string) => ({ missing: `Your account at ${host} has no claim "${claim}". ${ask}` });
  const subject = of('sub');
  if (!isShown(subject)) return without('sub');
  if (of(scopesClaim) === undefined) return without(scopesClaim);
  const scopes = scopesOf(of(scopesClaim));
  if (scopes.size === 0)
    return {
      missing: `The claim "${scopesClaim}" of your account at ${host} has none of ${SCOPES.join(', ')}. ${ask}`,
    };
  const tenant = tenantClaim === undefined ? DEFAULT_TENANT : of(tenantClaim);
  if (tenantClaim !== undefined && tenant === undefined) return without(tenantClaim);
  if (typeof tenant !== 'string' || !knowsTenant(tenant))
    return {
      missing: `The claim "${tenantClaim}" of your account at ${host} names no tenant of this service. ${ask}`,
    };
  const named = of(nameClaim);
  const name = isShown(named) ? named : subject;
  const { issuer } = rules;
  return { principal: { id: `${PERSON_MARK}${subject}`, name, issuer, tenant, scopes, ...UNLIMITED } };
}

/** As an id it is kept and shown whole. */
function isShown(value: unknown): value is string {
  return typeof value === 'string' && SUBJECT.test(value);
}
