// The audit on the wire: who has changed what with which key.
// Must never hold a key, nor what was submitted, decided or answered.
import * as z from 'zod';
import { instantSchema } from '../identifiers.ts';

/** Actions that the audit log records. */
export const AUDITED_ACTIONS = [
  'submit',
  'start_run',
  'input',
  'resume_run',
  'answer',
  'decide',
  'cancel',
  'prioritize',
  'score',
  'redrive',
  'read_tenant',
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
  'put_server',
  'remove_server',
  'test_server',
  'put_agent',
  'remove_agent',
  'put_policy',
  'remove_policy',
  'change_tenant',
  'reconcile',
] as const;

/** Action that the audit log records. */
export type AuditedAction = (typeof AUDITED_ACTIONS)[number];

/** Submissions, inputs, cancellations, schedules and sessions of browsers are kept apart: there are many of them, and they must not push out the rest. */
export const AUDIT_LOGS = ['changes', 'submissions'] as const;

/** Name of an audit log. */
export type AuditLogName = (typeof AUDIT_LOGS)[number];

/** Schema of an entry of the audit log. */
export const auditEntrySchema = z.object({
  at: instantSchema.describe('Instant (UTC) of the action.'),
  action: z.string().describe('Name of the action. A later version may add others.'),
  by: z
    .object({
      id: z.string().describe('Id of the key; `none`: the caller needed no key, as for the first one.'),
      name: z.string().describe('Name of the key at that time.'),
      tenant: z.string().describe('Tenant of the key.'),
    })
    .describe('Key that acted.'),
  request_id: z.string().nullable().describe('Id of the request that the action concerns; null: none.'),
  target: z
    .string()
    .nullable()
    .describe(
      'Id of the directive, call, question, process, schedule or key, or name of the server, agent, policy or tenant; for `redrive` and batches the number of directives; null: none.',
    ),
});

/** Schema of a page of the audit log, newest entries first. */
export const auditPageSchema = z.object({
  entries: z.array(auditEntrySchema).describe('Entries of this page, newest first.'),
  next: z.string().nullable().describe('Cursor of the next page; null: this page is the last one.'),
});

/** Query for entries of the audit log. */
export interface AuditQuery {
  /** Default: `changes`. */
  log?: AuditLogName | undefined;
  /** The `next` of the page before. */
  before?: string | undefined;
  /** Default: 100. */
  limit?: number | undefined;
}

/** Entry of the audit log. */
export type AuditEntry = z.infer<typeof auditEntrySchema>;
/** Page of the audit log, newest entries first. */
export type AuditPage = z.infer<typeof auditPageSchema>;
