/** Validates the input beside the body: path ids, query values, headers.
 *  It must never guess: a value that does not fit is refused. */
import type { FastifySchemaCompiler } from 'fastify';
import * as z from 'zod';
import { fieldErrors } from '../contract/field-error.ts';
import { refusedAt } from '../contract/field-sentence.ts';
import { identifierSchema } from '../contract/identifiers.ts';
import { IDEMPOTENCY_KEY, IDEMPOTENCY_KEY_FORM } from '../contract/keyed-ids.ts';
import { DEFAULT_TRACED, MOST_TRACED } from '../contract/request-trace.ts';
import type { ProblemCode } from '../contract/problem.ts';
import { ownMember } from '../contract/own-member.ts';
import { TRACEPARENT_PATTERN } from '../contract/signal-envelope.ts';

const MAX_WAIT_MS = 300_000;
const MAX_PAGE = 1_000;
export const DEFAULT_PAGE = 100;

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

const sequence = wholeNumber(0, Number.MAX_SAFE_INTEGER, 'Only signals after this sequence. Default: 0.');

export const requestParams = z.strictObject({ request_id: identifierSchema });

export const directiveParams = z.strictObject({
  request_id: identifierSchema,
  directive_id: identifierSchema,
});

/** A call id may come from a model: any short text. */
export const callParams = z.strictObject({
  request_id: identifierSchema,
  call_id: z.string().min(1).max(256),
});

export const noQuery = z.strictObject({});

export const waitQuery = z.strictObject({
  wait_ms: wholeNumber(
    0,
    MAX_WAIT_MS,
    'Wait this long for the end, in milliseconds. Default: do not wait.',
  ).optional(),
});

export const signalsQuery = z.strictObject({
  after: sequence.optional(),
  limit: wholeNumber(
    1,
    MAX_PAGE,
    `How many signals a page holds at most. Default: ${DEFAULT_PAGE}.`,
  ).optional(),
});

export const traceQuery = z.strictObject({
  limit: wholeNumber(
    1,
    MOST_TRACED,
    `How many directives the answer holds at most. Default: ${DEFAULT_TRACED}.`,
  ).optional(),
});

export const toolsQuery = z.strictObject({
  remembered: z
    .enum(['true', 'false'])
    .optional()
    .describe('Also tools of servers that no worker serves now, listed within a day. Default: false.'),
});

/** The id of a directive, a dot and a number. */
export const inputParams = z.strictObject({
  request_id: identifierSchema,
  input_id: z.string().min(1).max(256),
});

// As W3C requires, an invalid value counts as none: the trace then starts here.
const traceparent = z.string().optional().describe('The W3C trace it belongs to. Default: a new one.');

/** Other headers pass unchanged. */
export const traceHeaders = z.looseObject({ traceparent });

export const submissionHeaders = z.looseObject({
  'idempotency-key': z
    .string()
    .regex(IDEMPOTENCY_KEY, IDEMPOTENCY_KEY_FORM)
    .optional()
    .describe('Names the submission: the same key is the same submission. Default: none.'),
  traceparent,
});

export type SubmissionHeaders = z.output<typeof submissionHeaders>;

export const readerHeaders = z.looseObject({
  'last-event-id': sequence
    .optional()
    .describe('The last event a returning reader has; wins over `after`. Default: none.'),
});

const PART_CODES: Readonly<Record<string, ProblemCode>> = {
  querystring: 'invalid_query',
  headers: 'invalid_header',
};

/** Validates parameters, queries and headers. Bodies pass: `parseSubmission` reads them once, with better paths. */
export const validateInput: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart = '' }) => {
  if (httpPart === 'body') return (value: unknown) => ({ value });
  const validate = (value: unknown) => {
    const parsed = schema.safeParse(value);
    if (parsed.success) return { value: parsed.data };
    return { error: refusedAt(ownMember(PART_CODES, httpPart) ?? 'bad_request', fieldErrors(parsed.error)) };
  };
  if (httpPart === 'querystring') return remembered(validate);
  if (httpPart !== 'headers' || !(schema instanceof z.ZodObject)) return validate;
  const names = Object.keys(schema.shape);
  // Most requests have none of them, and all are optional: nothing to read, and no copy of all the others.
  return (value: unknown) => (names.some((name) => isNamed(value, name)) ? validate(value) : {});
};

type Validate = (value: unknown) => { value?: unknown; error?: Error };

/** Most queries of a route are the one before again; only those with one value, or none, are compared. */
function remembered(validate: Validate): Validate {
  let last: { name: string | undefined; text: unknown; value: object } | null = null;
  return (query: unknown) => {
    const [name, other] = Object.keys(query as object);
    if (other !== undefined) return validate(query);
    const text = name === undefined ? '' : (query as Record<string, unknown>)[name];
    if (last !== null && last.name === name && last.text === text) return { value: { ...last.value } };
    const validated = validate(query);
    if (typeof text === 'string' && validated.error === undefined)
      last = { name, text, value: validated.value as object };
    return validated;
  };
}

function isNamed(headers: unknown, name: string): boolean {
  return (headers as Record<string, unknown>)[name] !== undefined;
}

/** A context that is none is as if there were none. */
export function traceOf(traceparent: string | undefined): { traceparent?: string } {
  return traceparent !== undefined && TRACEPARENT_PATTERN.test(traceparent) ? { traceparent } : {};
}
