// Who has logged in, from the claims of the issuer: subject, name, tenant, scopes.
// Must never guess a right or a tenant: what is missing is named.
import { SCOPES } from '../../contract/access/access.ts';
import { DEFAULT_TENANT } from '../../contract/access/tenant.ts';
import { type KnowsTenant, scopesOf, SUBJECT } from './jwt.ts';
import type { OidcRules } from './oidc-issuer.ts';
import { PERSON_MARK, type Principal, UNLIMITED } from './principal.ts';

type Claims = Readonly<Record<string, unknown>>;

export interface PersonRules {
  readonly rules: Pick<OidcRules, 'scopes_claim' | 'tenant_claim' | 'name_claim'>;
  readonly host: string;
  readonly knowsTenant: KnowsTenant;
}

/** `missing`: a sentence for the person who has logged in. */
export function personOf(
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
  return { principal: { id: `${PERSON_MARK}${subject}`, name, tenant, scopes, ...UNLIMITED } };
}

/** As an id it is kept and shown whole. */
function isShown(value: unknown): value is string {
  return typeof value === 'string' && SUBJECT.test(value);
}
