// The operations of a tenant on what it adds of one kind at runtime: list, get, put, remove. Each change is compared with the
// version that was read, and noted in the audit before it.
import type { AuditedAction } from '../../contract/access/audit.ts';
import { DirectiveRefused, problem, type ProblemCode } from '../../contract/problem.ts';
import { whileAvailable } from '../../platform/redis/unavailable.ts';
import { contentDigest } from '../../store/request/content-digest.ts';
import type { Definition, DefinitionStore, StoredDefinition } from './definition-store.ts';

export interface DefinitionParts<View> {
  /** Word for one of them, such as `server`. */
  readonly noun: string;
  readonly store: DefinitionStore;
  readonly full: ProblemCode;
  readonly audited: { readonly put: AuditedAction; readonly remove: AuditedAction };
  /** Whether a definition that a process without the key cannot read is stored sealed where there is a key. */
  readonly isSealed: boolean;
  /** Throws the refusal. */
  requireAllowed(tenant: string, name: string, definition: Definition): Promise<void>;
  viewsOf(tenant: string, found: readonly Named[]): Promise<View[]>;
  /** Called after a change, before it is answered; again where the same definition is put again. */
  changed?(tenant: string, name: string, change: 'put' | 'removed'): Promise<void>;
  /** Does a change, noted in the audit before it; a refused one is not noted. */
  noted<T>(action: AuditedAction, name: string, work: () => Promise<T>): Promise<T>;
  /** Name of the key of the caller; null: no key is required. */
  caller(): string | null;
}

export interface Named {
  readonly name: string;
  readonly stored: StoredDefinition;
}

export function createDefinitionOperations<View>(parts: DefinitionParts<View>, tenant: string) {
  const { store, noun, audited } = parts;

  async function found(name: string): Promise<StoredDefinition> {
    const stored = await store.read(tenant, name);
    if (stored === null) throw refused('not_found', `The tenant has added no ${noun} "${name}".`);
    return stored;
  }

  async function view(name: string, stored: StoredDefinition): Promise<View> {
    const [shown] = await parts.viewsOf(tenant, [{ name, stored }]);
    if (shown === undefined) throw new Error(`a ${noun} without a view`);
    return shown;
  }

  async function put(name: string, definition: Definition, version: string | undefined): Promise<View> {
    const before = await store.read(tenant, name);
    if (before?.definition && contentDigest(before.definition) === contentDigest(definition)) {
      // The process that stored it may have died before this.
      await parts.changed?.(tenant, name, 'put');
      return view(name, before);
    }
    await parts.requireAllowed(tenant, name, definition);
    const isSealed = parts.isSealed && store.canSeal;
    const given = { definition, isSealed, by: parts.caller(), over: version ?? null };
    await parts.noted(audited.put, name, async () => {
      const stored = await store.put(tenant, name, given);
      if (stored.kind === 'conflict') throw conflict(noun, name, await store.read(tenant, name));
      if (stored.kind === 'full') throw refused(parts.full, `Remove a ${noun} before another is added.`);
      if (stored.kind === 'paced') throw paced(noun, stored.afterMs);
    });
    await parts.changed?.(tenant, name, 'put');
    return view(name, await found(name));
  }

  async function remove(name: string, version: string | undefined): Promise<View> {
    const stored = await found(name);
    if (version !== undefined && version !== stored.version) throw conflict(noun, name, stored);
    const last = await view(name, stored);
    await parts.noted(audited.remove, name, async () => {
      const verdict = await store.remove(tenant, name, stored.version);
      if (verdict === 'conflict') throw conflict(noun, name, stored);
    });
    await parts.changed?.(tenant, name, 'removed');
    return last;
  }

  return {
    /** In the order of their names. */
    list: async (): Promise<View[]> =>
      whileAvailable(async () => {
        const named = [...(await store.all(tenant))].map(([name, stored]) => ({ name, stored }));
        return parts.viewsOf(
          tenant,
          named.toSorted((left, right) => (left.name < right.name ? -1 : 1)),
        );
      }),
    get: async (name: string): Promise<View> => whileAvailable(async () => view(name, await found(name))),
    /** The same definition again changes nothing. */
    put: async (name: string, definition: Definition, version: string | undefined): Promise<View> =>
      whileAvailable(() => put(name, definition, version)),
    remove: async (name: string, version: string | undefined): Promise<View> =>
      whileAvailable(() => remove(name, version)),
    found: async (name: string): Promise<StoredDefinition> => whileAvailable(() => found(name)),
  };
}

export function refused(code: ProblemCode, detail: string): DirectiveRefused {
  return new DirectiveRefused(problem(code, { detail }));
}

function conflict(noun: string, name: string, before: StoredDefinition | null): DirectiveRefused {
  const detail =
    before === null
      ? `There is no ${noun} "${name}" of that version: leave version out to add it.`
      : `The ${noun} "${name}" has the version ${before.version}: read it, and name that version to change it.`;
  return refused('version_conflict', detail);
}

function paced(noun: string, afterMs: number): DirectiveRefused {
  const detail = `The tenant has changed its ${noun} definitions too often: again in ${Math.ceil(afterMs / 1_000)} s.`;
  return new DirectiveRefused(problem('rate_limited', { detail, retry_after_ms: afterMs }));
}

/** Members of every view. */
export function changeOf({ version, at, by }: StoredDefinition) {
  return { version, changed_at: new Date(at).toISOString(), changed_by: by };
}

export const SEALED_ELSEWHERE =
  'It is sealed with a key that this process does not have (ADJUTANT_TOKEN_KEY).';
