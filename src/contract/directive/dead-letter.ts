// Dead letters: directives that ended in an error and may be redriven by an operator.
// Must never list a directive that succeeded or was cancelled.
import * as z from 'zod';
import { DIRECTIVE_TYPES } from './directive.ts';
import { anyTenantSchema, listedTenant, TENANT_IN_LIST } from '../access/tenant-name.ts';
import { errorEnvelopeSchema } from '../error-envelope.ts';
import { identifierSchema, instantSchema } from '../identifiers.ts';

const directiveRefSchema = z.object({
  request_id: identifierSchema.describe('Id of the request.'),
  id: identifierSchema.describe('Id of the directive.'),
});

/** Schema of a dead letter. */
export const deadLetterSchema = z.object({
  tenant: listedTenant,
  request_id: identifierSchema.describe('Id of the request.'),
  id: identifierSchema.describe('Id of the directive.'),
  type: z.enum(DIRECTIVE_TYPES).describe('Type of the directive.'),
  lane: z.string().nullable().describe('Lane of the directive; null: none.'),
  name: z
    .string()
    .nullable()
    .describe(
      "Name of the tool or model; for a delivery the endpoint, or the host of a caller's address; null: none.",
    ),
  about: z
    .object({
      request_id: identifierSchema.describe('Id of the request that ended.'),
      id: identifierSchema.nullable().describe('Id of the directive that ended; null: a run ended.'),
    })
    .optional()
    .describe('End that a delivery reports. Absent: the directive is not a delivery.'),
  error: errorEnvelopeSchema.describe('Error of the last attempt.'),
  attempts: z.int().min(0).describe('Number of attempts.'),
  ended_at: instantSchema.describe('Instant (UTC) of the failure.'),
});

/** Schema of a page of dead letters. */
export const deadLetterPageSchema = z.object({
  dead_letters: z.array(deadLetterSchema).describe('Dead letters of this page.'),
  total: z.int().min(0).describe('Number of all dead letters of the tenant, whatever the filter.'),
  next: z.string().nullable().describe('Cursor of the next page; null: this page is the last one.'),
});

/** Schema of the dead letters of one lane and error type, counted by the instant at which they were listed. */
export const deadLetterGroupSchema = z.object({
  lane: z.string().nullable().describe('Lane of the group; null: none.'),
  error_type: z.string().describe('Type of the error of the group.'),
  count: z.int().min(1).describe('Number of dead letters in the group.'),
  first_at: instantSchema.describe('Instant (UTC) of the oldest failure.'),
  last_at: instantSchema.describe('Instant (UTC) of the newest failure.'),
  hours: z
    .array(
      z.object({
        from: instantSchema.describe('Instant (UTC) at which the hour begins.'),
        count: z.int().min(1).describe('Number of dead letters in the hour.'),
      }),
    )
    .describe('Dead letters by hour (UTC), newest first, at most one week. Hours without any are left out.'),
});

/** Instant and name of the last dead letter of a page. */
const DEAD_CURSOR = /^\d{1,15}\/[^/]{1,256}\/[^/]{1,128}$/;

/** Members of a query for dead letters that name the tenant. */
export const deadLetterTenant = { tenant: anyTenantSchema.optional().describe(TENANT_IN_LIST) };

/** Order of a list of dead letters. */
export const deadLetterOrder = z
  .enum(['newest', 'oldest'])
  .optional()
  .describe('Whether the newest or the oldest failures come first. Default: newest.');

/** Cursor of a page of dead letters. */
export const deadLetterCursor = z
  .string()
  .regex(DEAD_CURSOR, 'must be the `next` of a page')
  .optional()
  .describe('The `next` of the page before, which had the same `order`.');

/** Schema of the dead letters by lane and error type. */
export const deadLetterGroupsSchema = z.object({
  total: z.int().min(0).describe('Number of all dead letters.'),
  groups: z.array(deadLetterGroupSchema).describe('Groups by lane and error type, largest first.'),
  groups_left_out: z.int().min(0).describe('Number of groups that are not listed.'),
});

const MOST_REDRIVEN = 1_000;
/** Default of the maximum number of dead letters of one redrive. */
export const DEFAULT_REDRIVEN = 100;

/**
 * Schema of the body of a redrive: named dead letters, those that match a filter, or all, oldest first, up to `limit`.
 */
export const redriveBodySchema = z
  .strictObject({
    directives: z
      .array(
        z.strictObject({
          request_id: identifierSchema.describe('Id of the request.'),
          id: identifierSchema.describe('Id of the directive.'),
        }),
      )
      .min(1)
      .max(MOST_REDRIVEN)
      .optional()
      .describe('Dead letters to redrive, at most 1,000. Excludes a filter.'),
    lane: z.string().max(128).optional().describe('Selects dead letters of this lane.'),
    error_type: z.string().max(128).optional().describe('Selects dead letters with this type of error.'),
    since: instantSchema.optional().describe('Selects dead letters listed at or after this instant (UTC).'),
    until: instantSchema.optional().describe('Selects dead letters listed before this instant (UTC).'),
    all: z
      .literal(true)
      .optional()
      .describe(
        'Selects every dead letter, whatever its error. This may repeat work that no operator has checked.',
      ),
    limit: z
      .int()
      .min(1)
      .max(MOST_REDRIVEN)
      .default(DEFAULT_REDRIVEN)
      .describe('Maximum number of dead letters of one call, oldest first, 1 to 1,000. Default: 100.'),
    dry_run: z
      .boolean()
      .optional()
      .describe('Whether the call only reports the selection, without any change. Default: false.'),
  })
  .refine((body) => body.all || body.directives || hasFilter(body), {
    path: ['directives'],
    message: 'name directives, give a filter, or set `all`: true',
  })
  .refine((body) => !body.directives || !hasFilter(body), {
    path: ['directives'],
    message: 'name directives, or give a filter, not both',
  });

function hasFilter({ lane, error_type, since, until }: DeadLetterFilter): boolean {
  return [lane, error_type, since, until].some((part) => part !== undefined);
}

/** Schema of the answer to a redrive. */
export const redriveSchema = z.object({
  redriven: z
    .array(
      z.object({
        from: directiveRefSchema.describe('Dead letter.'),
        to: directiveRefSchema.describe('Directive that repeats it.'),
      }),
    )
    .describe('Dead letters that were redriven, each with its new directive.'),
  not_found: z.array(directiveRefSchema).describe('Named directives that are not dead letters.'),
  refused: z
    .array(
      z.object({
        from: directiveRefSchema.describe('Directive that was not redriven.'),
        code: z.string().describe('Problem code, such as `id_conflict`.'),
        detail: z.string().describe('Explanation of the refusal.'),
      }),
    )
    .describe(
      'Dead letters that could not be redriven, which stay listed, and named directives of archived requests.',
    ),
  left: z.int().min(0).describe('Number of matching dead letters that remain.'),
  found: z
    .array(directiveRefSchema)
    .optional()
    .describe(
      'Dead letters that a dry run would redrive, without those already redriven. Present in a dry run only.',
    ),
});

/** Directive that ended in an error. */
export type DeadLetter = z.infer<typeof deadLetterSchema>;
/** Page of dead letters, newest first unless asked otherwise. */
export type DeadLetterPage = z.infer<typeof deadLetterPageSchema>;
/** Dead letters of one lane and error type. */
export type DeadLetterGroup = z.infer<typeof deadLetterGroupSchema>;
/** Dead letters by lane and error type. */
export type DeadLetterGroups = z.infer<typeof deadLetterGroupsSchema>;
/** Body of a redrive. */
export type RedriveBody = z.input<typeof redriveBodySchema>;
/** Answer to a redrive. */
export type Redrive = z.infer<typeof redriveSchema>;

/** Filter for dead letters. Default of each member: no restriction. */
export interface DeadLetterFilter {
  lane?: string | undefined;
  error_type?: string | undefined;
  /** Listed from then on, and before then: RFC 3339, UTC. */
  since?: string | undefined;
  until?: string | undefined;
}
