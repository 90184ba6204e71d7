// Requests as a list shows them, the filters of the list, and its counts.
// Must never hold arguments or results: whoever wants those reads the request.
import * as z from 'zod';
import { agentNameSchema } from './agent-definition.ts';
import { identifierSchema, instantSchema } from './identifiers.ts';
import { LONGEST_TAG } from './tags.ts';

const count = z.int().min(0);

/**
 * `open`: under way. `waiting`: a person has to approve or answer. `cancelled`: somebody has ended it. `failed`: its run, or without a
 * run one of its directives, has ended in an error; what was redriven counts as its redrive ended. `succeeded`: the rest.
 */
export const REQUEST_STATUSES = ['open', 'waiting', 'succeeded', 'failed', 'cancelled'] as const;

/** What somebody is asked for: `approval` of a call, more `budget`, an answer to the `question` of a tool. */
export const ASKED_FOR = ['approval', 'budget', 'question'] as const;

export const listedRequestSchema = z.object({
  request_id: identifierSchema,
  status: z.enum(REQUEST_STATUSES),
  created_at: instantSchema,
  closed_at: instantSchema.nullable(),
  /** Directives that were accepted, and things that have not ended. */
  directives: count,
  open: count,
  types: z.array(z.string()),
  agent: z.string().nullable(),
  tools: z.array(z.string()),
  models: z.array(z.string()),
  /** Of directives and of the run, also where the request went on. */
  error_types: z.array(z.string()),
  tags: z.array(z.string()),
  /** The newest directive that a redrive has made; absent: nothing was redriven. */
  redriven_as: identifierSchema.optional(),
  /**
   * The beginning of the question, of at most 200 characters; of a delivery to whom it goes and of whose end, of what was submitted
   * under a key the key; '' where there is none.
   */
  text: z.string(),
  conversation_id: z.string().nullable(),
  /** The request whose run started this one. */
  parent_request_id: z.string().nullable(),
  waiting_for: z.array(z.enum(ASKED_FOR)),
  /** Its run, or what is open of it, begins then at the earliest; absent, or past: it may begin. */
  begins_at: instantSchema.optional(),
  /** Of its run; null: it has none. */
  tokens: z.object({ input: count, output: count }).nullable(),
  /** USD; null: it has no run, or the price of a used model is unknown. */
  cost: z.number().nullable(),
});

export const requestListingSchema = z.object({
  requests: z.array(listedRequestSchema),
  /** The `cursor` of the page that follows; null: this is the last one. */
  next: z.string().nullable(),
  /** The search took too long and stopped here: older requests are searched with `next`. null: it did not stop early. */
  searched_until: instantSchema.nullable(),
  /** All requests of the tenant, whatever the filter. */
  counts: z.object({
    total: count,
    status: z.object({ open: count, waiting: count, succeeded: count, failed: count, cancelled: count }),
    /** The 50 most frequent types of errors, and how many requests had each. */
    error_types: z.array(z.object({ type: z.string(), requests: count })),
    /** What all of them hold, where the tenant has such a limit: at most about a second old. */
    stored_bytes: z.object({ used: count, limit: count }).optional(),
  }),
  /** How long the oldest change waits that the list does not show yet, milliseconds. */
  lag_ms: count,
  /** The list is being built, as after an upgrade: older requests may be missing. Absent: the service does not know. */
  incomplete: z.boolean().optional(),
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

/** Between the milliseconds of the last request of a page and its id. */
export const CURSOR_PATTERN = /^\d{1,15}\.[A-Za-z0-9._:-]{1,128}$/;

/** A place in a list of requests; the id is as its tenant knows it. */
export interface ListPlace {
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly id: string;
}

export function cursorOf({ createdAt, id }: ListPlace): string {
  return `${createdAt}.${id}`;
}

/** Of a text that fits `CURSOR_PATTERN`. */
export function placeOfCursor(cursor: string): ListPlace {
  const dot = cursor.indexOf('.');
  return { createdAt: Number(cursor.slice(0, dot)), id: cursor.slice(dot + 1) };
}

export const LARGEST_LISTING = 200;
export const DEFAULT_LISTING = 50;

/** As the client takes it; the route reads the same from a URL. */
export const requestQuerySchema = requestFilterSchema.extend({
  /** The `next` of the page before. */
  cursor: z.string().regex(CURSOR_PATTERN, 'must be the `next` of a page').optional(),
  /** The most requests of a page. Default: 50. */
  limit: z.int().min(1).max(LARGEST_LISTING).optional(),
});

export type RequestStatus = (typeof REQUEST_STATUSES)[number];
export type AskedFor = (typeof ASKED_FOR)[number];
export type ListedRequest = z.infer<typeof listedRequestSchema>;
export type RequestListing = z.infer<typeof requestListingSchema>;
export type RequestFilter = z.infer<typeof requestFilterSchema>;
export type RequestQuery = z.infer<typeof requestQuerySchema>;
