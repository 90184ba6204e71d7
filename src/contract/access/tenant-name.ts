// How a tenant is named.
// Must never allow a name with the mark between tenant and id.
import * as z from 'zod';

/** Description of the form of a tenant's name. */
export const TENANT_FORM = '1 to 32 characters of a-z 0-9 -, not - at the beginning';

/** The names of `TENANT_FORM`. */
export const TENANT_NAME = /^[a-z0-9][a-z0-9-]{0,31}$/;

/** Schema of the name of a tenant. */
export const tenantSchema = z.string().regex(TENANT_NAME, TENANT_FORM);

/** All tenants, where an operator may name one. */
export const ALL_TENANTS = '*';

/** Schema of a tenant that an operator names, or of all of them. */
export const anyTenantSchema = z.union([z.literal(ALL_TENANTS), tenantSchema]);

/** Description of the tenant in the query of a list. */
export const TENANT_IN_LIST =
  'Tenant whose entries are listed, `*`: of all. Needs the scope `admin` of the tenant `default`, and is audited. Default: that of the caller.';

/** Tenant of an entry in a list of all tenants. */
export const listedTenant = z
  .string()
  .optional()
  .describe('Tenant of the entry. Present in lists of all tenants.');
