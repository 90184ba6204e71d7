// The policies that a tenant adds: their operations, and the rules by which workers decide about its calls.
// Must never decide by rules that were read more than FRESH_MS ago, nor leave out one that cannot be evaluated.
import { setImmediate as immediately } from 'node:timers/promises';
import { tenantPolicy } from '../../config/policy.ts';
import { faultText, refusedAt } from '../../contract/json/field-error.ts';
import { readBody, readInput } from '../../contract/json/read-input.ts';
import type { PolicySettings } from '../../contract/policy/policy.ts';
import {
  putPolicyBodySchema,
  type RuntimePolicy,
  type RuntimePolicyClient,
} from '../../contract/policy/runtime-policy.ts';
import { removeDefinitionQuerySchema } from '../../contract/runtime-definition.ts';
import { DENY_ALL, joinRules } from '../policy/joined-rules.ts';
import { compileRules, type Rules } from '../policy/rules.ts';
import { changeOf, createDefinitionOperations, type DefinitionParts } from './definition-operations.ts';
import type { Definition, DefinitionStore } from './definition-store.ts';

const MOST_BYTES = 16_384;

type ReadPolicy = ReturnType<typeof tenantPolicy>;

function read(definition: Definition | null): ReadPolicy {
  if (definition === null || Buffer.byteLength(JSON.stringify(definition)) > MOST_BYTES)
    return { ok: false, errors: [{ path: '', message: `must be at most ${MOST_BYTES} bytes` }] };
  return tenantPolicy(definition);
}

type PolicyServiceParts = Pick<DefinitionParts<RuntimePolicy>, 'store' | 'noted' | 'caller'>;

/** The operations of each tenant. */
export function createPolicyService(parts: PolicyServiceParts): (tenant: string) => RuntimePolicyClient {
  return (tenant) => {
    const operations = createDefinitionOperations<RuntimePolicy>(kindOf(parts), tenant);
    return {
      list: async () => ({ policies: await operations.list() }),
      get: operations.get,
      async put(name, body) {
        const { policy, version } = readBody(putPolicyBodySchema, body);
        return operations.put(name, policy, version);
      },
      async remove(name, query) {
        const { version } = readInput(removeDefinitionQuerySchema, query ?? {}, 'invalid_query');
        return operations.remove(name, version);
      },
    };
  };
}

function kindOf({ store, noted, caller }: PolicyServiceParts): DefinitionParts<RuntimePolicy> {
  return {
    noun: 'policy',
    store,
    full: 'policies_full',
    audited: { put: 'put_policy', remove: 'remove_policy' },
    // Every worker must read them, also one without the key.
    isSealed: false,
    async requireAllowed(_tenant, _name, definition) {
      const policy = read(definition);
      if (policy.ok) return;
      throw refusedAt(
        'invalid_body',
        policy.errors.map(({ path, message }) => ({
          path: path === '' ? 'policy' : `policy.${path}`,
          message,
        })),
      );
    },
    async viewsOf(_tenant, found) {
      const views: RuntimePolicy[] = [];
      for (const { name, stored } of found) {
        const policy = read(stored.definition);
        const fault = policy.ok ? null : faultText(policy.errors);
        views.push({ name, ...changeOf(stored), policy: { ...stored.definition }, fault });
        // Expressions take some milliseconds to compile.
        await immediately();
      }
      return views;
    },
    noted,
    caller,
  };
}

/** How long a worker decides by what it has read, milliseconds. */
const FRESH_MS = 1_000;
/** Tenants whose rules are kept compiled. */
const MOST_KEPT = 1_000;

interface Kept {
  readonly revision: string | null;
  readonly rules: Rules;
  readonly policies: ReadonlyMap<string, { readonly version: string; readonly rules: Rules }>;
  /** Before it was read, by the monotonic clock, milliseconds. */
  readonly readAt: number;
}

/**
 * The rules about the calls of a tenant: those of the operator, joined with its own. Rejects when Redis does not answer and
 * what is known is older than `FRESH_MS`.
 */
export function createRulesOfTenants(
  store: Pick<DefinitionStore, 'revision' | 'all'>,
  operators: PolicySettings,
  now: () => number = () => performance.now(),
): (tenant: string) => Promise<Rules> {
  const own = compileRules(operators);
  const kept = new Map<string, Kept>();
  const renewals = new Map<string, Promise<Kept>>();

  async function renewed(tenant: string, before: Kept | undefined): Promise<Kept> {
    const readAt = now();
    // The revision first: a change between the two reads is found by the next check.
    const revision = await store.revision(tenant);
    const next =
      before !== undefined && before.revision === revision
        ? { ...before, readAt }
        : { revision, readAt, ...(await compiled(tenant, revision, before)) };
    kept.delete(tenant);
    kept.set(tenant, next);
    if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value ?? '');
    return next;
  }

  /** One for all calls of the tenant: after a change each of them would else read and compile its policies. */
  async function renewal(tenant: string): Promise<Kept> {
    const pending = renewals.get(tenant);
    if (pending !== undefined) return pending;
    const begun = renewed(tenant, kept.get(tenant)).finally(() => renewals.delete(tenant));
    renewals.set(tenant, begun);
    return begun;
  }

  async function compiled(
    tenant: string,
    revision: string | null,
    before: Kept | undefined,
  ): Promise<Pick<Kept, 'rules' | 'policies'>> {
    const policies = new Map<string, { version: string; rules: Rules }>();
    if (revision === null) return { rules: own, policies };
    for (const [name, { version, definition }] of await store.all(tenant)) {
      const known = before?.policies.get(name);
      if (known?.version === version) policies.set(name, known);
      else {
        const policy = read(definition);
        policies.set(name, { version, rules: policy.ok ? compileRules(policy.settings) : DENY_ALL });
        // Expressions take some milliseconds to compile.
        await immediately();
      }
    }
    const parts = [...policies].map(([name, { rules }]) => ({ name, tenant, rules }));
    return { rules: joinRules(own, parts), policies };
  }

  return async (tenant) => {
    const calledAt = now();
    let known = kept.get(tenant);
    // One that was joined may have read too long ago; the next has read after this call.
    while (known === undefined || (known.readAt < calledAt && now() - known.readAt >= FRESH_MS))
      known = await renewal(tenant);
    return known.rules;
  };
}
