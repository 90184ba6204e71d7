// Reading what other tenants have, and changing what they add at runtime: for administrators of the default tenant, and noted in the
// audit. Never lets another change be made on behalf of another tenant: only routes with `ofTenant` ask here.
import { ALL_TENANTS, tenantSchema } from '../../contract/access/tenant-name.ts';
import { DEFAULT_TENANT } from '../../contract/access/tenant.ts';
import type { DirectiveClient } from '../../contract/directive/directive-client.ts';
import { DirectiveRefused, problem } from '../../contract/problem.ts';
import type { Audit } from './audit.ts';
import { callerText, hasScope, type Principal } from './principal.ts';

/** The refusal of a caller whose tenant is not the operators'; undefined: it is. */
export function notOperator(principal: Principal): DirectiveRefused | undefined {
  const { tenant } = principal;
  if (tenant === DEFAULT_TENANT) return undefined;
  const what = 'this concerns the work of all tenants and needs a key of the tenant';
  return forbidden(`The ${callerText(principal)} is of the tenant "${tenant}": ${what} "${DEFAULT_TENANT}".`);
}

function forbidden(detail: string, members: object = {}): DirectiveRefused {
  return new DirectiveRefused(problem('forbidden', { detail, ...members }));
}

/** The refusal of a caller that may not read what other tenants have; undefined: it may. */
function notReader(principal: Principal): DirectiveRefused | undefined {
  if (hasScope(principal, 'admin')) return notOperator(principal);
  return forbidden(`The ${callerText(principal)} has not the scope admin, which another tenant needs.`, {
    scope: 'admin',
  });
}

/** A page that refreshes itself is one reading for so long, milliseconds. */
const NOTED_MS = 600_000;
/** Readings that are remembered as noted. */
const MOST_NOTED = 1_000;

export interface OtherTenants {
  /** The caller as one of `tenant`. Throws `DirectiveRefused` (`forbidden`). null: no key is needed here. */
  reading(caller: Principal | null, tenant: string): Promise<Principal | null>;
  /** The same for a change. */
  changing(caller: Principal, tenant: string): Promise<Principal>;
}

export function createOtherTenants(audit: Pick<Audit, 'note'>, now: () => number = Date.now): OtherTenants {
  const noted = new Map<string, number>();

  async function note(caller: Principal, tenant: string): Promise<void> {
    const name = `${caller.id} ${tenant}`;
    if ((noted.get(name) ?? -Infinity) > now() - NOTED_MS) return;
    noted.delete(name);
    if (noted.size >= MOST_NOTED) noted.delete(noted.keys().next().value ?? '');
    noted.set(name, now());
    await audit.note(caller, 'read_tenant', { target: tenant });
  }

  return {
    async reading(caller, tenant) {
      if (caller === null || tenant === caller.tenant) return caller;
      const refusal = notReader(caller);
      if (refusal !== undefined) throw refusal;
      await note(caller, tenant);
      return { ...caller, tenant };
    },
    async changing(caller, tenant) {
      if (tenant === caller.tenant) return caller;
      const refusal = notReader(caller);
      if (refusal !== undefined) throw refusal;
      await audit.note(caller, 'change_tenant', { target: tenant });
      return { ...caller, tenant, home: caller.tenant };
    },
  };
}

type Reading = 'requests' | 'stats' | 'approvals' | 'deadLetters' | 'deadLetterGroups' | 'schedules';

/** Lists and statistics of a tenant that their query names. */
export function guardReadings(
  client: Pick<DirectiveClient, Reading>,
  others: Pick<OtherTenants, 'reading'>,
  caller: () => Principal | null,
): Pick<DirectiveClient, Reading> {
  const read = async (tenant: string | undefined): Promise<void> => {
    if (tenant !== undefined) await others.reading(caller(), tenant);
  };
  return {
    requests: async (query) => {
      await read(query?.tenant);
      return client.requests(query);
    },
    approvals: async (query) => {
      await read(query?.tenant);
      return client.approvals(query);
    },
    deadLetters: async (query) => {
      await read(query?.tenant);
      return client.deadLetters(query);
    },
    deadLetterGroups: async (query) => {
      await read(query?.tenant);
      return client.deadLetterGroups(query);
    },
    schedules: {
      ...client.schedules,
      list: async (query) => {
        await read(query?.tenant);
        return client.schedules.list(query);
      },
    },
    stats: async (query) => {
      await read(query?.tenant ?? (query?.by === 'tenant' ? ALL_TENANTS : undefined));
      return client.stats(query);
    },
  };
}

/** Takes the tenant out of a query, which then is that of its own tenants; undefined: it names none, or all of them. */
export function takenTenant(query: unknown): string | undefined {
  const { tenant } = Object(query) as { tenant?: unknown };
  if (!tenantSchema.safeParse(tenant).success) return undefined;
  delete (query as { tenant?: unknown }).tenant;
  return tenant as string;
}
