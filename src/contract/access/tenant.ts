// The owner of a request: inside the service the id of a request begins with its tenant, so that two tenants may use
// the same id. An id from outside never names another tenant: no id of a caller has the mark in it.

/** Tenant of an installation without tenants; its requests have the ids that their callers gave. */
export const DEFAULT_TENANT = 'default';

/** Between tenant and id. No identifier has it. */
export const TENANT_MARK = '~';

/** Character that no id has; an id with it belongs to no tenant. */
const NO_ID = '/';

/** The id of a tenant's request (or conversation) inside the service. What has the mark already names nothing that there is. */
export function scopedId(tenant: string, id: string): string {
  const own = id.includes(TENANT_MARK) ? id.replaceAll(TENANT_MARK, NO_ID) : id;
  return tenant === DEFAULT_TENANT ? own : `${tenant}${TENANT_MARK}${own}`;
}

/** The id of a request (or conversation) of the tenant that the scoped id belongs to. */
export function scopedAs(scoped: string, id: string): string {
  return scopedId(tenantOf(scoped), id);
}

/** Tenant of a request, from its full id. */
export function tenantOf(scoped: string): string {
  const mark = scoped.indexOf(TENANT_MARK);
  return mark === -1 ? DEFAULT_TENANT : scoped.slice(0, mark);
}

/** As its tenant knows it. */
export function ownId(scoped: string): string {
  return scoped.slice(scoped.indexOf(TENANT_MARK) + 1);
}

/** Member that names the tenant in log lines and spans; empty for the default tenant. */
export function tenantField<K extends string>(scoped: string, name: K): Partial<Record<K, string>> {
  const tenant = tenantOf(scoped);
  return (tenant === DEFAULT_TENANT ? {} : { [name]: tenant }) as Partial<Record<K, string>>;
}

/** The ids of a line of the log. */
export function requestField(scoped: string): { readonly request_id: string; readonly tenant?: string } {
  return { request_id: ownId(scoped), ...tenantField(scoped, 'tenant') };
}

/** Directive with the request id that its tenant and executors know. */
export function withOwnId<T extends { readonly request_id: string }>(directive: T): T {
  const request_id = ownId(directive.request_id);
  return request_id === directive.request_id ? directive : { ...directive, request_id };
}
