// The audit on the wire: who has changed what with which key.
// Must never hold a key, nor what was submitted, decided or answered.
import * as z from 'zod';
import { instantSchema } from './identifiers.ts';

export const AUDITED_ACTIONS = [
  'submit',
  'start_run',
  'input',
  'answer',
  'decide',
  'cancel',
  'prioritize',
  'redrive',
  'drain_worker',
  'resume_worker',
  'reindex',
  'create_key',
  'revoke_key',
  'sign_in',
  'sign_out',
  'create_schedule',
  'replace_schedule',
  'pause_schedule',
  'resume_schedule',
  'trigger_schedule',
  'delete_schedule',
] as const;

export type AuditedAction = (typeof AUDITED_ACTIONS)[number];

/** Submissions, inputs, cancellations, schedules and sessions of browsers are kept apart: there are many of them, and they must not push out the rest. */
export const AUDIT_LOGS = ['changes', 'submissions'] as const;

export type AuditLogName = (typeof AUDIT_LOGS)[number];

export const auditEntrySchema = z.object({
  at: instantSchema,
  /** One of those of this version, or of a later one. */
  action: z.string(),
  /** The key; `name` as it was then. */
  by: z.object({ id: z.string(), name: z.string(), tenant: z.string() }),
  request_id: z.string().nullable(),
  /** Id of the directive, call, question, process, schedule or key. Of `redrive` and batches the number of directives. */
  target: z.string().nullable(),
});

/** Newest first. `next`: where the following page begins; null at the end. */
export const auditPageSchema = z.object({ entries: z.array(auditEntrySchema), next: z.string().nullable() });

export interface AuditQuery {
  /** Default: `changes`. */
  log?: AuditLogName | undefined;
  /** The `next` of the page before. */
  before?: string | undefined;
  /** Default: 100. */
  limit?: number | undefined;
}

export type AuditEntry = z.infer<typeof auditEntrySchema>;
export type AuditPage = z.infer<typeof auditPageSchema>;
