// Dead letters: directives that ended in an error and may be redriven by an operator.
// Must never list a directive that succeeded or was cancelled.
import * as z from 'zod';
import { DIRECTIVE_TYPES } from './directive.ts';
import { errorEnvelopeSchema } from './error-envelope.ts';
import { identifierSchema, instantSchema } from './identifiers.ts';

const directiveRefSchema = z.object({ request_id: identifierSchema, id: identifierSchema });

export const deadLetterSchema = z.object({
  request_id: identifierSchema,
  id: identifierSchema,
  type: z.enum(DIRECTIVE_TYPES),
  lane: z.string().nullable(),
  /** Name of the tool or model; of a delivery the endpoint, or the host of a caller's address. */
  name: z.string().nullable(),
  /** Of a delivery: whose end it is; `id` null: that of a run. Absent: it is none. */
  about: z.object({ request_id: identifierSchema, id: identifierSchema.nullable() }).optional(),
  error: errorEnvelopeSchema,
  attempts: z.int().min(0),
  ended_at: instantSchema,
});

/** `next`: where the following page begins; null at the end. */
export const deadLetterPageSchema = z.object({
  dead_letters: z.array(deadLetterSchema),
  next: z.string().nullable(),
});

/** Of one lane and type of error. Counted by when they were listed, which is when they ended or soon after. */
export const deadLetterGroupSchema = z.object({
  lane: z.string().nullable(),
  error_type: z.string(),
  count: z.int().min(1),
  first_at: instantSchema,
  last_at: instantSchema,
  /** The hours of UTC in which there are some, newest first; at most a week of them. */
  hours: z.array(z.object({ from: instantSchema, count: z.int().min(1) })),
});

/** The largest groups first; `groups_left_out` counts the others. */
export const deadLetterGroupsSchema = z.object({
  total: z.int().min(0),
  groups: z.array(deadLetterGroupSchema),
  groups_left_out: z.int().min(0),
});

const MOST_REDRIVEN = 1_000;
export const DEFAULT_REDRIVEN = 100;

/** What to redrive: named ones, or those that match the filter, or all; oldest first, up to `limit`. */
export const redriveBodySchema = z
  .strictObject({
    directives: z
      .array(z.strictObject({ request_id: identifierSchema, id: identifierSchema }))
      .min(1)
      .max(MOST_REDRIVEN)
      .optional(),
    lane: z.string().max(128).optional(),
    error_type: z.string().max(128).optional(),
    /** Only those that were listed from then on, and before then. */
    since: instantSchema.optional(),
    until: instantSchema.optional(),
    /** Every dead letter, whatever its error. Never the default: it may repeat work that no operator has looked at. */
    all: z.literal(true).optional(),
    limit: z.int().min(1).max(MOST_REDRIVEN).default(DEFAULT_REDRIVEN),
    /** Says what would be redriven, and does nothing. */
    dry_run: z.boolean().optional(),
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

/** Each redriven dead letter with its new directive; `left` counts those that still match, the `refused` ones included. */
export const redriveSchema = z.object({
  redriven: z.array(z.object({ from: directiveRefSchema, to: directiveRefSchema })),
  not_found: z.array(directiveRefSchema),
  /** Dead letters that could not be redriven, and why; they stay listed. */
  refused: z.array(
    z.object({
      from: directiveRefSchema,
      /** A problem code, such as `id_conflict`. */
      code: z.string(),
      detail: z.string(),
    }),
  ),
  left: z.int().min(0),
  /** Of a dry run alone: what would be redriven. A dead letter that has been redriven already is not among them. */
  found: z.array(directiveRefSchema).optional(),
});

export type DeadLetter = z.infer<typeof deadLetterSchema>;
export type DeadLetterPage = z.infer<typeof deadLetterPageSchema>;
export type DeadLetterGroup = z.infer<typeof deadLetterGroupSchema>;
export type DeadLetterGroups = z.infer<typeof deadLetterGroupsSchema>;
export type RedriveBody = z.input<typeof redriveBodySchema>;
export type Redrive = z.infer<typeof redriveSchema>;

export interface DeadLetterFilter {
  lane?: string | undefined;
  error_type?: string | undefined;
  /** Listed from then on, and before then: RFC 3339, UTC. */
  since?: string | undefined;
  until?: string | undefined;
}
