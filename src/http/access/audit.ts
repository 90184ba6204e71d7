// Notes the changes of callers with keys: decisions and operations before they happen, submissions after them. Never
// fails a change that has happened, nor notes a caller where no key is required, but for a change of keys.
import { DEFAULT_TENANT } from '../../contract/access/tenant.ts';
import type { AuditedAction, AuditLogName } from '../../contract/access/audit.ts';
import { DirectiveRefused } from '../../contract/problem.ts';
import type { AuditFields, AuditLog } from '../../store/access/audit-log.ts';
import { whileAvailable } from '../../platform/redis/unavailable.ts';
import type { Principal } from './principal.ts';

/**
 * Actions that keys of small scopes may do thousands of times: they must not push out decisions and the creation of
 * keys.
 */
const OF_SUBMITTERS: ReadonlySet<AuditedAction> = new Set([
  'submit',
  'start_run',
  'input',
  'cancel',
  'prioritize',
  'score',
  'sign_in',
  'sign_out',
  'create_schedule',
  'replace_schedule',
  'pause_schedule',
  'resume_schedule',
  'trigger_schedule',
  'delete_schedule',
  'test_server',
]);

export interface Subject {
  readonly requestId?: string | undefined;
  readonly target?: string | undefined;
}

type Caller = Principal | null;

export interface Audit {
  /** Appends an action to the audit. Resolves when it is written. Never rejects. */
  note(caller: Caller, action: AuditedAction, subject: Subject): Promise<void>;
  /**
   * Notes it and does it then: a process that dies between leaves an entry of a change that was not made, never a change without an entry.
   * An entry of what is refused is removed. A change that cannot be noted is not made; a cancellation is.
   * `exact`: what is known only afterwards, an entry for each; none: nothing was changed.
   */
  around<T>(
    caller: Caller,
    action: AuditedAction,
    subject: Subject,
    work: () => Promise<T>,
    exact?: { of(result: T): readonly Subject[] },
  ): Promise<T>;
}

/** Ids of callers are short; this is for those that no schema has seen. */
const LONGEST = 256;
const AT_ONCE = 50;

function fieldsOf(
  { id, name, tenant, home = tenant }: Pick<Principal, 'id' | 'name' | 'tenant' | 'home'>,
  action: AuditedAction,
  subject: Subject,
): AuditFields {
  return {
    action,
    by: { id, name, tenant: home },
    request_id: subject.requestId?.slice(0, LONGEST) ?? null,
    target: subject.target?.slice(0, LONGEST) ?? null,
  };
}

/** Caller in the entry of the first key, which a caller without a key makes. */
const WITHOUT_KEY = { id: 'none', name: 'no key was required', tenant: DEFAULT_TENANT };

/** The entry for a script that writes it with its change of a key. */
export function auditText(caller: Caller, action: AuditedAction, subject: Subject): string {
  return JSON.stringify(fieldsOf(caller ?? WITHOUT_KEY, action, subject));
}

function logOf(action: AuditedAction): AuditLogName {
  return OF_SUBMITTERS.has(action) ? 'submissions' : 'changes';
}

export function createAudit(log: Pick<AuditLog, 'add' | 'remove'>, onError: (error: Error) => void): Audit {
  /** In the log of the tenant that is changed. */
  async function add(caller: Principal, action: AuditedAction, subject: Subject): Promise<string> {
    return log.add(caller.tenant, logOf(action), fieldsOf(caller, action, subject));
  }

  async function note(caller: Caller, action: AuditedAction, subject: Subject): Promise<void> {
    if (caller !== null) await add(caller, action, subject).catch(onError);
  }

  /** undefined: it could not be noted, and need not be. */
  async function begin(caller: Principal, action: AuditedAction, subject: Subject) {
    const write = async () => add(caller, action, subject);
    return logOf(action) === 'changes' ? whileAvailable(write) : write().catch(onError);
  }

  async function noteAll(caller: Principal, action: AuditedAction, subjects: readonly Subject[]) {
    for (let first = 0; first < subjects.length; first += AT_ONCE)
      await Promise.all(
        subjects.slice(first, first + AT_ONCE).map(async (each) => add(caller, action, each)),
      );
  }

  return {
    note,
    async around(caller, action, subject, work, exact) {
      if (caller === null) return work();
      const id = await begin(caller, action, subject);
      const withdraw = async (): Promise<void> => {
        if (typeof id === 'string') await log.remove(caller.tenant, logOf(action), id).catch(onError);
      };
      try {
        const result = await work();
        // The exact one first: one too many is better than none.
        if (exact !== undefined) await noteAll(caller, action, exact.of(result)).then(withdraw, onError);
        return result;
      } catch (error) {
        if (error instanceof DirectiveRefused) await withdraw();
        throw error;
      }
    },
  };
}
