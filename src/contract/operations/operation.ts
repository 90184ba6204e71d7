// The description of one HTTP operation, and the schemas of what is sent in its path, query and headers.
import * as z from 'zod';
import { identifierSchema, serverNameSchema } from '../identifiers.ts';
import { IDEMPOTENCY_KEY, IDEMPOTENCY_KEY_FORM } from '../directive/keyed-ids.ts';
import { policyNameSchema } from '../policy/runtime-policy.ts';
import { agentNameSchema } from '../run/agent-definition.ts';
import { runNameSchema } from '../run/foreign-run.ts';
import { scheduleIdSchema } from '../schedule/schedule.ts';

/** A schema, or a schema with the name under which it is published. */
export type WireType = z.ZodType | readonly [name: string, schema: z.ZodType];

/** Group of operations in the OpenAPI document. */
export type Tag = 'directives' | 'runs' | 'schedules' | 'requests' | 'dead letters' | 'service' | 'access';

/** Statuses of a refusal that only some operations have; 400, 401, 403, 500 and 503 belong to all. */
export type OwnProblem = 404 | 409 | 413 | 415 | 429;

/** One media type of an answer. */
interface Content {
  readonly description: string;
  readonly content: Readonly<Record<string, { readonly schema: WireType }>>;
}

/** Description of an operation: what it accepts, answers and refuses. */
export interface Operation {
  readonly tag: Tag;
  readonly summary: string;
  readonly description?: string;
  /** Default: no query is accepted. */
  readonly query?: z.ZodObject;
  /** Default: none are read. */
  readonly headers?: z.ZodObject;
  /** JSON. Default: none. */
  readonly body?: WireType;
  /** The body may be absent, which counts as `{}`. Default: false. */
  readonly isBodyOptional?: boolean;
  /** JSON of each status in `statuses`. Default: `others` has all answers. */
  readonly answer?: WireType;
  /** Meaning of each successful status. Default: 200 alone. */
  readonly statuses?: Readonly<Record<number, string>>;
  /** Answers that are not JSON, or empty (null). Default: none. */
  readonly others?: Readonly<Record<number, Content | string>>;
  /** Default: none. */
  readonly problems?: readonly OwnProblem[];
  /** A probe describes no refusals. Default: false. */
  readonly isProbe?: boolean;
  /** The client method takes an abort signal, which the end of the HTTP request aborts. Default: false. */
  readonly isAbortable?: boolean;
  /** The path of the created resource, for the header `location`. Default: no header. */
  readonly location?: (answer: never) => string;
}

/** Path parameters by name. A call id may come from a model: any short text. */
export const PATH_PARAMS = {
  request_id: identifierSchema.describe('Id of the request.'),
  directive_id: identifierSchema.describe('Id of the directive in its request.'),
  call_id: z
    .string()
    .min(1)
    .max(256)
    .describe('Id of the tool call, or of the budget, that waits for the decision.'),
  input_id: z
    .string()
    .min(1)
    .max(256)
    .describe('Id of the question: that of its directive, a dot and a number.'),
  schedule_id: scheduleIdSchema.describe('Id of the schedule.'),
  run: runNameSchema,
  worker_id: identifierSchema.describe('Id of the process.'),
  server_name: serverNameSchema.describe('Name of the MCP server.'),
  agent_name: agentNameSchema.describe('Name of the agent.'),
  policy_name: policyNameSchema.describe('Name of the policy.'),
  key_id: identifierSchema.describe('Id of the key: its part after `adj_` that may be shown.'),
} as const;

/** A whole number in a query: digits only, so that an empty or signed value is refused. */
export function wholeNumber(min: number, max: number, description: string) {
  return z
    .string()
    .refine((text) => /^\d{1,16}$/.test(text) && Number(text) >= min && Number(text) <= max, {
      message: `must be a whole number from ${min} to ${max}`,
    })
    .transform(Number)
    .meta({ type: 'integer', minimum: min, maximum: max, description });
}

/** A number in a query: decimal digits, with a sign or a fraction where it has one. */
export function decimal(description: string) {
  return z
    .string()
    .regex(/^-?\d{1,15}(?:\.\d{1,15})?$/, 'must be a decimal number')
    .transform(Number)
    .meta({ type: 'number', description });
}

/** `true` or `false` in a query. */
export function flag(description: string) {
  return z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .describe(description);
}

/** The query of a page: `cursor` is its name for the place to go on from. */
export function pageSize(most: number, standard: number) {
  return wholeNumber(1, most, `Maximum number of entries of a page. Default: ${standard}.`).optional();
}

/** Probes and scrapers may send any query. */
export const anyQuery = z.looseObject({});

/** The longest `wait_ms`. */
export const LONGEST_WAIT_MS = 300_000;

/** Schema of the query of calls that wait for an end. */
export const waitQuery = z.strictObject({
  wait_ms: wholeNumber(
    0,
    LONGEST_WAIT_MS,
    'Wait this long for the end, in milliseconds. Default: do not wait.',
  ).optional(),
});

// As W3C requires, an invalid value counts as none: the trace then starts here.
const traceparent = z.string().optional().describe('The W3C trace it belongs to. Default: a new one.');

/** Other headers pass unchanged. */
export const traceHeaders = z.looseObject({ traceparent });

/** Schema of the headers of a submission. */
export const submissionHeaders = z.looseObject({
  'idempotency-key': z
    .string()
    .regex(IDEMPOTENCY_KEY, IDEMPOTENCY_KEY_FORM)
    .optional()
    .describe('Names the submission: the same key is the same submission. Default: none.'),
  traceparent,
});
