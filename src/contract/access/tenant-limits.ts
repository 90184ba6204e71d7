// The limits of a tenant for open, stored and submitted work, as the operator sets them.
import { DEFAULT_TENANT, tenantOf } from './tenant.ts';

/** Absent: what holds for the whole installation, or no limit. */
export interface TenantLimits {
  /** Directives and runs that its callers have submitted and that have not ended. */
  readonly maxOpen?: number | undefined;
  /** The most bytes that one of its requests holds. */
  readonly requestBytes?: number | undefined;
  /** Bytes of all its requests together. */
  readonly storedBytes?: number | undefined;
  /** How long its closed requests stay readable, milliseconds. */
  readonly closedMs?: number | undefined;
  /** Directives and runs that are submitted in a minute, and in a day of UTC, with all its keys together. */
  readonly perMinute?: number | undefined;
  readonly perDay?: number | undefined;
}

/** Function that returns the limits of a tenant. */
export type LimitsOfTenant = (tenant: string) => TenantLimits;

const NONE: TenantLimits = {};

/** Function for an installation without limits of tenants. */
export const NO_TENANT_LIMITS: LimitsOfTenant = () => NONE;

/** Name that represents every unnamed tenant except the default one. */
export const OTHER_TENANTS = '*';

/** Function that finds the limits of a tenant among those of the configuration. */
export function limitsByName(named: ReadonlyMap<string, TenantLimits>): LimitsOfTenant {
  const others = named.get(OTHER_TENANTS) ?? NONE;
  return (tenant) => named.get(tenant) ?? (tenant === DEFAULT_TENANT ? NONE : others);
}

/** Maximum size of a request, in bytes: the limit of its tenant, at most the limit of the installation. */
export function requestBytesOf(limitsOf: LimitsOfTenant, requestId: string, most: number): number {
  return Math.min(limitsOf(tenantOf(requestId)).requestBytes ?? most, most);
}

/** Retention of a tenant's closed requests, in milliseconds. */
export function closedMsOf(limitsOf: LimitsOfTenant, requestId: string, closedMs: number): number {
  return limitsOf(tenantOf(requestId)).closedMs ?? closedMs;
}
