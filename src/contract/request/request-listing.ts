// Requests in a list, the filters of the list, and its counts. Never holds arguments or results: the request has them.
import * as z from 'zod';
import { anyTenantSchema, listedTenant, TENANT_IN_LIST } from '../access/tenant-name.ts';
import { agentNameSchema } from '../run/agent-definition.ts';
import { identifierSchema, instantSchema } from '../identifiers.ts';
import { scoreNameSchema } from '../case/score.ts';
import { LONGEST_TAG } from '../directive/tags.ts';

const count = z.int().min(0);

/**
 * Statuses of a request. `open`: in progress. `waiting`: a person has to approve or answer. `cancelled`: it was
 * cancelled. `failed`: its run, or without a run one of its directives, ended in an error; a redriven directive counts
 * as its redrive ended. `succeeded`: every other end.
 */
export const REQUEST_STATUSES = ['open', 'waiting', 'succeeded', 'failed', 'cancelled'] as const;

/** Kinds of questions to a person: `approval` of a call, more `budget`, an answer to the `question` of a tool. */
export const ASKED_FOR = ['approval', 'budget', 'question'] as const;

/** Schema of a request in a list. */
export const listedRequestSchema = z.object({
  request_id: identifierSchema.describe('Id of the request.'),
  status: z.enum(REQUEST_STATUSES).describe('Status of the request.'),
  created_at: instantSchema.describe('Instant (UTC) of the creation.'),
  closed_at: instantSchema.nullable().describe('Instant (UTC) of the end; null: open.'),
  directives: count.describe('Number of accepted directives.'),
  open: count.describe('Number of directives and runs that have not ended.'),
  types: z.array(z.string()).describe('Types of its directives.'),
  agent: z.string().nullable().describe('Agent of its run; null: it has none.'),
  tools: z.array(z.string()).describe('Tools that were called.'),
  models: z.array(z.string()).describe('Models that were used.'),
  error_types: z
    .array(z.string())
    .describe('Types of the errors of directives and of the run, including those that were recovered.'),
  tags: z.array(z.string()).describe('Tags from `metadata.tags`.'),
  redriven_as: identifierSchema
    .optional()
    .describe('Id of the newest directive that a redrive created. Absent: nothing was redriven.'),
  text: z
    .string()
    .describe(
      'Beginning of the query, at most 200 characters; for a delivery its receiver and subject, for a keyed submission the key; otherwise empty.',
    ),
  conversation_id: z.string().nullable().describe('Conversation of its run; null: none.'),
  parent_request_id: z
    .string()
    .nullable()
    .describe('Id of the request whose run started this one; null: started by a caller.'),
  waiting_for: z.array(z.enum(ASKED_FOR)).describe('Kinds of open questions to a person.'),
  begins_at: instantSchema
    .optional()
    .describe('Earliest start (UTC) of its run or open directives. Absent or past: it may begin.'),
  scores: z
    .array(
      z.object({
        name: z.string().describe('Name of the score.'),
        value: z.number().describe('Its newest value.'),
        passed: z
          .boolean()
          .optional()
          .describe('Whether the request passed. Absent: the value alone counts.'),
      }),
    )
    .optional()
    .describe('Newest score of each name, at most 16. Absent: none.'),
  archived: z
    .literal(true)
    .optional()
    .describe(
      'Present where the request has expired, and `GET /v1/requests/{r}/archive` still has it. Absent: not expired.',
    ),
  tenant: listedTenant,
  tokens: z
    .object({
      input: count.describe('Number of input tokens.'),
      output: count.describe('Number of output tokens.'),
    })
    .nullable()
    .describe('Token usage of its run; null: it has none.'),
  cost: z
    .number()
    .nullable()
    .describe('Cost of its run in USD; null: it has none, or the price of a used model is unknown.'),
});

/** Schema of a page of requests. */
export const requestListingSchema = z.object({
  requests: z.array(listedRequestSchema).describe('Requests of this page, newest first.'),
  next: z.string().nullable().describe('Cursor of the next page; null: this page is the last one.'),
  searched_until: instantSchema
    .nullable()
    .describe(
      'Instant (UTC) at which a search stopped because it took too long; `next` continues with older requests. null: it did not stop early.',
    ),
  counts: z
    .object({
      total: count.describe('Number of all requests.'),
      status: z
        .object({
          open: count.describe('Number of open requests in progress.'),
          waiting: count.describe('Number of requests that wait for a person.'),
          succeeded: count.describe('Number of requests that succeeded.'),
          failed: count.describe('Number of requests that failed.'),
          cancelled: count.describe('Number of requests that were cancelled.'),
        })
        .describe('Number of requests by status.'),
      error_types: z
        .array(
          z.object({
            type: z.string().describe('Type of the error.'),
            requests: count.describe('Number of requests with this error.'),
          }),
        )
        .describe('The 50 most frequent types of errors.'),
      stored_bytes: z
        .object({
          used: count.describe('Number of bytes used.'),
          limit: count.describe('Maximum number of bytes.'),
        })
        .optional()
        .describe('Storage of all requests, where the tenant has a limit; at most about a second old.'),
    })
    .describe("Number of the tenant's requests, whatever the filter."),
  lag_ms: count.describe('Age of the oldest change that the list does not show yet, in milliseconds.'),
  incomplete: z
    .boolean()
    .optional()
    .describe(
      'Whether the list is being built, for example after an upgrade, so that older requests may be missing. Absent: unknown.',
    ),
});

const LONGEST_NAME = 256;
const name = z.string().min(1).max(LONGEST_NAME);

/** Which requests; all that are given have to fit. */
export const requestFilterSchema = z.strictObject({
  status: z.enum(REQUEST_STATUSES).optional().describe('Only requests of this status.'),
  agent: agentNameSchema.optional().describe('Only with a run of this agent.'),
  tool: name.optional().describe('Only with a call of this tool.'),
  error_type: name.optional().describe('Only with an error of this type.'),
  tag: z.string().min(1).max(LONGEST_TAG).optional().describe('Only with this tag.'),
  conversation: identifierSchema.optional().describe('Only of this conversation.'),
  score: scoreNameSchema.optional().describe('Only with a score of this name.'),
  score_min: z.number().optional().describe('Only with the score `score` of at least this value.'),
  score_max: z.number().optional().describe('Only with the score `score` of at most this value.'),
  since: instantSchema.optional().describe('Only created at or after this instant.'),
  until: instantSchema.optional().describe('Only created before this instant.'),
  q: z
    .string()
    .min(1)
    .max(200)
    .optional()
    .describe(
      'Only with each of these words in the question, a name or a tag, or at the beginning of the id.',
    ),
});

/** Orders of the list. */
export const REQUEST_ORDERS = ['created', 'duration', 'cost'] as const;

/** Schema of the order of the list. */
export const requestOrderSchema = z
  .enum(REQUEST_ORDERS)
  .optional()
  .describe(
    'Order: `created` newest first, `duration` longest first, `cost` highest first; open requests and those without a cost come last. Duration and cost are compared among the newest 20,000 matching requests at most: `searched_until` says how far. Default: `created`.',
  );

/** Between the milliseconds of the last request of a page and its id, with the tenant before it in a list of all tenants. */
export const CURSOR_PATTERN = /^\d{1,15}\.(?:[a-z0-9-]{1,32}~)?[A-Za-z0-9._:-]{1,128}$/;

/** A place in a list of requests; the id is as its tenant knows it. */
export interface ListPlace {
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly id: string;
}

/** Cursor of a position in the list of requests. */
export function cursorOf({ createdAt, id }: ListPlace): string {
  return `${createdAt}.${id}`;
}

/** Position that a cursor which matches `CURSOR_PATTERN` encodes. */
export function placeOfCursor(cursor: string): ListPlace {
  const dot = cursor.indexOf('.');
  return { createdAt: Number(cursor.slice(0, dot)), id: cursor.slice(dot + 1) };
}

/** Maximum number of requests of a page. */
export const LARGEST_LISTING = 200;
/** Default number of requests of a page. */
export const DEFAULT_LISTING = 50;

/** As the client takes it; the route reads the same from a URL. */
export const requestQuerySchema = requestFilterSchema.extend({
  cursor: z
    .string()
    .regex(CURSOR_PATTERN, 'must be the `next` of a page')
    .optional()
    .describe('The `next` of the previous page.'),
  limit: z
    .int()
    .min(1)
    .max(LARGEST_LISTING)
    .optional()
    .describe('Maximum number of requests of a page. Default: 50.'),
  sort: requestOrderSchema,
  tenant: anyTenantSchema.optional().describe(TENANT_IN_LIST),
});

/** Status of a request. */
export type RequestStatus = (typeof REQUEST_STATUSES)[number];
/** Kind of question to a person. */
export type AskedFor = (typeof ASKED_FOR)[number];
/** Request in a list. */
export type ListedRequest = z.infer<typeof listedRequestSchema>;
/** Score of a request in a list. */
export type ListedScore = NonNullable<ListedRequest['scores']>[number];
/** Page of requests, newest first. */
export type RequestListing = z.infer<typeof requestListingSchema>;
/** Filter for requests. */
export type RequestFilter = z.infer<typeof requestFilterSchema>;
/** Query for requests. */
export type RequestQuery = z.infer<typeof requestQuerySchema>;
