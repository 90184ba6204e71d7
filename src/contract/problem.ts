// A refusal as RFC 9457 describes it, its stable codes, and the two errors of a client call.
// Must never carry the text of an internal error or a stack.
import * as z from 'zod';
import { isObject } from './json/json-object.ts';

/** Schema of the fault of one field. */
export const fieldErrorSchema = z.object({
  path: z
    .string()
    .describe('Path of the field, such as `directives[0].tool_name`; empty for the whole body.'),
  message: z.string().describe('Fault of the field, which follows its name in a sentence.'),
});

/** `path` names the member, as in `directives[3].timeout_ms`; it is empty for the whole value. */
export type FieldError = z.infer<typeof fieldErrorSchema>;

const PROBLEMS = {
  invalid_body: [400, 'The body is not valid'],
  invalid_json: [400, 'The body is not JSON'],
  invalid_query: [400, 'A query parameter is not valid'],
  invalid_header: [400, 'A header is not valid'],
  bad_request: [400, 'The request cannot be understood'],
  unauthorized: [401, 'Credentials are required'],
  forbidden: [403, 'This is not allowed'],
  encryption_required: [403, 'Nothing is accepted in clear'],
  not_found: [404, 'It does not exist'],
  method_not_allowed: [405, 'The resource does not take this method'],
  not_acceptable: [406, 'The resource has no such representation'],
  id_conflict: [409, 'The id belongs to another directive'],
  idempotency_conflict: [409, 'The idempotency key belongs to another submission'],
  singleton_open: [409, 'Another one under the key is open'],
  version_conflict: [409, 'It was changed meanwhile'],
  request_closed: [409, 'The request is closed'],
  not_resumable: [409, 'The run cannot be resumed'],
  outcome_known: [409, 'The outcome of the call is known'],
  outcome_unknown: [409, 'Calls of unknown outcome need a decision'],
  not_waiting: [409, 'It does not wait for its turn'],
  already_decided: [409, 'It is decided already'],
  last_admin_key: [409, 'No other key may make and revoke keys'],
  search_off: [409, 'The list of requests is turned off'],
  reindex_under_way: [409, 'The list is being built anew already'],
  keys_full: [409, 'There are as many keys as there may be'],
  servers_full: [409, 'There are as many servers as there may be'],
  agents_full: [409, 'There are as many agents as there may be'],
  policies_full: [409, 'There are as many policies as there may be'],
  schedules_full: [409, 'There are as many schedules as there may be'],
  body_too_large: [413, 'The body is too large'],
  request_full: [413, 'The request has reached its limit of bytes'],
  unsupported_media_type: [415, 'The body must be application/json'],
  rate_limited: [429, 'The key has used up what it may submit'],
  lane_full: [429, 'The lane is full'],
  tenant_full: [429, 'The tenant has reached its limit of bytes'],
  service_full: [429, 'The service has reached its limit of bytes'],
  too_many_open: [429, 'The caller has too many open at once'],
  input_queue_full: [429, 'The run has too many inputs waiting'],
  internal_error: [500, 'The service has failed internally'],
  unavailable: [503, 'The service is unavailable'],
} as const satisfies Record<string, readonly [status: number, title: string]>;

/** Code of a problem. */
export type ProblemCode = keyof typeof PROBLEMS;

/** Codes of problems. */
export const PROBLEM_CODES = Object.keys(PROBLEMS) as readonly ProblemCode[];

/** Schema of a problem. */
export const problemSchema = z.looseObject({
  type: z.string().describe('URI of the kind of problem.'),
  title: z.string().describe('Title of the kind of problem.'),
  status: z.int().min(100).max(599).describe('HTTP status code, 100 to 599.'),
  detail: z.string().optional().describe('Explanation of this occurrence.'),
  instance: z.string().optional().describe('Path of the request that failed.'),
  code: z.string().describe('Code of the problem, stable across versions.'),
  errors: z.array(fieldErrorSchema).optional().describe('Faults by field.'),
});

/** Body of a refused call, as RFC 9457 defines it. */
export type Problem = z.infer<typeof problemSchema>;

/** Whether a value is a problem, checked as its schema does: a client loads no schema. */
export function isProblem(value: unknown): value is Problem {
  if (!isObject(value)) return false;
  const { type, title, status, code, detail, instance, errors } = value;
  const isText = (member: unknown): boolean => typeof member === 'string';
  return (
    [type, title, code].every(isText) &&
    Number.isInteger(status) &&
    [detail, instance].every((member) => member === undefined || isText(member)) &&
    (errors === undefined || (Array.isArray(errors) && errors.every(isFieldError)))
  );
}

function isFieldError(value: unknown): boolean {
  return isObject(value) && typeof value['path'] === 'string' && typeof value['message'] === 'string';
}

/** Optional members of a problem. */
export interface ProblemMembers {
  detail?: string;
  instance?: string;
  errors?: FieldError[];
  [extension: string]: unknown;
}

/** The problem of a code; `members` adds detail, field errors and extension members. */
export function problem(code: ProblemCode, members: ProblemMembers = {}): Problem {
  const [status, title] = PROBLEMS[code];
  return { ...members, type: `urn:adjutant:problem:${code}`, title, status, code };
}

/** The service refused, for the reason in `problem`. */
export class DirectiveRefused extends Error {
  override readonly name = 'DirectiveRefused';
  readonly problem: Problem;

  constructor(refusal: Problem) {
    super(refusal.detail ?? refusal.title);
    this.problem = refusal;
  }
}

/** The service did not answer; whether it acted is unknown. */
export class ServiceUnavailable extends Error {
  override readonly name = 'ServiceUnavailable';
  /** How long the service asks clients to wait before the next call; null when it did not say. */
  readonly retryAfterMs: number | null;

  constructor(message: string, options: { retryAfterMs?: number | null; cause?: unknown } = {}) {
    super(message, 'cause' in options ? { cause: options.cause } : undefined);
    this.retryAfterMs = options.retryAfterMs ?? null;
  }
}
