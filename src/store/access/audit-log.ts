// The changes of callers with keys, in two bounded streams of Redis: submissions, and all other changes. Never grows
// without a bound, nor keeps more than caller, action and time.
import { DEFAULT_TENANT } from '../../contract/access/tenant.ts';
import {
  type AuditEntry,
  auditEntrySchema,
  type AuditLogName,
  type AuditPage,
} from '../../contract/access/audit.ts';
import type { RedisConnection } from '../../platform/redis/connection.ts';
import type { KeySpace } from '../keys.ts';

/** About 300 bytes each. Redis trims whole nodes, so there may be some more. */
const MOST_ENTRIES = { changes: 10_000, submissions: 20_000 } as const;
/** There may be many tenants: each other one gets this share of it. */
const SHARE = 5;
export const KEEP_ENTRIES_MS = 90 * 86_400_000;

export function mostEntries(tenant: string, log: AuditLogName): number {
  return MOST_ENTRIES[log] / (tenant === DEFAULT_TENANT ? 1 : SHARE);
}

export type AuditLog = ReturnType<typeof createAuditLog>;

export type AuditFields = Omit<AuditEntry, 'at'>;

export interface AuditPlace {
  readonly tenant: string;
  readonly log: AuditLogName;
  readonly before: string | null;
  readonly limit: number;
}

export function createAuditLog(connection: RedisConnection, { audit }: Pick<KeySpace, 'audit'>) {
  return {
    /**
     * Appends an entry to the log of a tenant, by the clock of Redis. A lost connection may write it twice. Resolves to the id of the entry.
     */
    async add(tenant: string, log: AuditLogName, fields: AuditFields): Promise<string> {
      const name = audit(tenant)[log];
      const text = JSON.stringify(fields);
      const [id] = await Promise.all([
        connection.xadd(name, 'MAXLEN', '~', mostEntries(tenant, log), '*', 'entry', text),
        connection.pexpire(name, KEEP_ENTRIES_MS),
      ]);
      return id ?? '';
    },
    /** Removes the entry of a change that was refused. */
    async remove(tenant: string, log: AuditLogName, id: string): Promise<void> {
      await connection.xdel(audit(tenant)[log], id);
    },
    /** A page of one tenant, newest first. `before`: the `next` of the page before. */
    async page({ tenant, log, before, limit }: AuditPlace): Promise<AuditPage> {
      const from = before === null ? '+' : `(${before}`;
      const found = await connection.xrevrange(audit(tenant)[log], from, '-', 'COUNT', limit);
      const last = found.length < limit ? null : (found.at(-1)?.[0] ?? null);
      return { entries: found.flatMap(([id, [, text = '']]) => entryOf(id, text)), next: last };
    },
  };
}

function entryOf(id: string, text: string): AuditEntry[] {
  const at = new Date(Number(id.split('-')[0])).toISOString();
  const parsed = auditEntrySchema.safeParse({ at, ...(JSON.parse(text) as object) });
  return parsed.success ? [parsed.data] : [];
}
