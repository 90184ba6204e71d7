/** The tenant whose data are shown: the session's own, or another one, or all, that an operator chose in the URL.
 *  Never lets a change be made while data of another tenant are shown: a change always concerns the session's own. */

/** All tenants, as the API names them. */
export const ALL_TENANTS = '*';

export interface ShownTenant {
  /** Tenant of the session; '' where no key is needed. */
  readonly own: string;
  /** Chosen tenant or `ALL_TENANTS`; '' for the own one. */
  readonly chosen: string;
  /** Tenant of the one request that is shown, while all are chosen; '' for the own one. */
  readonly ofRequest: string;
}

let shown: ShownTenant = { own: '', chosen: '', ofRequest: '' };

export function showTenant(next: ShownTenant): void {
  shown = next;
}

/** Lists that all tenants have together; of one request the URL names the tenant. */
const OF_ALL = /^\/v1\/(?:requests|stats|approvals|dead-letters(?:\/groups)?|schedules)(?:\?|$)/;
/** Data of a tenant. Agents, tools, lanes and processes belong to the installation. */
const OF_TENANT = /^\/v1\/(?:requests|stats|approvals|dead-letters|schedules|search|budgets)(?:[/?]|$)/;

/** '' for the own tenant. */
function tenantOf(path: string): string {
  const { own, chosen, ofRequest } = shown;
  const tenant = chosen !== ALL_TENANTS || OF_ALL.test(path) ? chosen : ofRequest;
  return tenant === own ? '' : tenant;
}

/** The path with the tenant whose data it reads. A path that names one already is left alone. */
export function inTenant(path: string): string {
  const tenant = tenantOf(path);
  if (tenant === '' || !OF_TENANT.test(path) || /[?&]tenant=/.test(path)) return path;
  return `${path}${path.includes('?') ? '&' : '?'}tenant=${encodeURIComponent(tenant)}`;
}

/** Entry of a list; only lists of all tenants name its tenant. */
interface Listed {
  readonly request_id: string;
  readonly tenant?: string | undefined;
}

/** Key of an entry, unique in lists of all tenants as well. */
export function keyOf({ tenant, request_id: id }: Listed): string {
  return tenant === undefined ? id : `${tenant}~${id}`;
}

/** Address of the page of a request. */
export function placeOf({ tenant, request_id: requestId }: Listed) {
  const params = { requestId } as never;
  return { to: '/requests/$requestId', params, search: { of: tenant } as never } as const;
}

/** The path with the tenant that an entry names. */
export function pathOf(path: string, { tenant }: Pick<Listed, 'tenant'>): string {
  return tenant === undefined ? path : `${path}?tenant=${encodeURIComponent(tenant)}`;
}

/** Reason why nothing can be changed now; null: changes concern what is shown. */
export function whyUnchangeable({ own, chosen, ofRequest }: ShownTenant = shown): string | null {
  const tenant = chosen === ALL_TENANTS && ofRequest !== '' ? ofRequest : chosen;
  if (tenant === '' || tenant === own) return null;
  return tenant === ALL_TENANTS
    ? `All tenants are shown. Choose ${own} to change something.`
    : `The tenant ${tenant} is shown. A key of ${own} cannot change its data.`;
}
