/** Turns any error of a handler, the router or the framework into the problem that answers the request.
 *  It must never let the text of an internal error leave the process. */
import {
  DirectiveRefused,
  type Problem,
  problem,
  type ProblemCode,
  ServiceUnavailable,
} from '../contract/problem.ts';
import { ownMember } from '../contract/json/json-object.ts';

export interface Refusal {
  readonly problem: Problem;
  /** Whole seconds, for the Retry-After header; null when waiting does not help. */
  readonly retryAfterSeconds: number | null;
}

/** Codes of the framework's own errors; any other 4xx is a `bad_request`. */
const FRAMEWORK_CODES: Readonly<Record<string, ProblemCode>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'invalid_body',
  FST_ERR_NOT_FOUND: 'not_found',
};

const RETRY_AFTER_SECONDS = 1;
/** The framework repeats its input at any length. */
const MAX_DETAIL_CHARACTERS = 300;

/** `null` for an internal error: the caller logs it and answers with `internal_error`. */
export function refusalOf(error: unknown): Refusal | null {
  if (error instanceof DirectiveRefused)
    return { problem: error.problem, retryAfterSeconds: retryAfter(error.problem) };
  if (error instanceof ServiceUnavailable) return unavailable(error.message, error.retryAfterMs);
  return frameworkRefusal((error ?? {}) as { code?: string; statusCode?: number; message?: string });
}

export function unavailable(detail: string, retryAfterMs: number | null = null): Refusal {
  const seconds = Math.max(RETRY_AFTER_SECONDS, Math.ceil((retryAfterMs ?? 0) / 1000));
  return { problem: problem('unavailable', { detail }), retryAfterSeconds: seconds };
}

/** A refusal that names one place of the request: a member of the body, a parameter, a header. */
function frameworkRefusal(error: { code?: string; statusCode?: number; message?: string }): Refusal | null {
  // Errors of other libraries have status codes, too: of answers that they received.
  if (error.code?.startsWith('FST_') !== true) return null;
  const status = error.statusCode ?? 500;
  if (status === 503) return unavailable('The service is stopping.');
  if (status < 400 || status >= 500) return null;
  const code = ownMember(FRAMEWORK_CODES, error.code ?? '') ?? 'bad_request';
  return {
    problem: problem(code, { detail: (error.message ?? '').slice(0, MAX_DETAIL_CHARACTERS) }),
    retryAfterSeconds: null,
  };
}

function retryAfter(refusal: Problem): number | null {
  if (refusal.status !== 429 && refusal.status !== 503) return null;
  const { retry_after_ms: ms } = refusal;
  return typeof ms === 'number' ? Math.max(RETRY_AFTER_SECONDS, Math.ceil(ms / 1_000)) : RETRY_AFTER_SECONDS;
}
