/** Errors in the form that each family's SDKs read: as a whole answer, and as the last event of a stream.
 *  It must never show more of an error than the API's own problems do. */
import type { ErrorEnvelope } from '../../contract/error-envelope.ts';
import { ownMember } from '../../contract/json/json-object.ts';
import { withoutKeys, withoutProviderKeys } from '../../contract/json/secret-text.ts';
import { familyOf, type ModelWire, type WireFamily } from '../../contract/model/model-wire.ts';
import type { Problem } from '../../contract/problem.ts';

/** An error of this service, before it has the form of a wire. */
export interface WireError {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  /** Whole seconds; null: no wait helps. */
  readonly retryAfterSeconds: number | null;
  /** Whether an SDK that repeats the call may expect another answer: the service has made its own retries already. */
  readonly isWorthRetry: boolean;
}

/** The status of a directive's error that its provider did not answer itself. */
const STATUSES: Readonly<Record<string, number>> = {
  rate_limited: 429,
  budget_spent: 429,
  validation_error: 400,
  auth: 502,
  unknown_model: 404,
  not_found: 404,
  timeout: 504,
  deadline_exceeded: 504,
  expired: 504,
  cancelled: 499,
  network: 502,
  provider_error: 502,
  invalid_result: 502,
  request_full: 413,
  decryption_key_missing: 403,
};

export function errorOfEnvelope({ type, message, details }: ErrorEnvelope): WireError {
  const wait = details['retry_after_ms'];
  return {
    status: ownMember(STATUSES, type) ?? 500,
    code: type,
    // Some providers repeat the key that they refuse.
    message: withoutProviderKeys(message),
    retryAfterSeconds: typeof wait === 'number' ? Math.max(1, Math.ceil(wait / 1_000)) : null,
    isWorthRetry: false,
  };
}

export function errorOfProblem(
  { status, code, detail, title }: Problem,
  retryAfterSeconds: number | null,
): WireError {
  return {
    status,
    code,
    message: detail ?? title,
    retryAfterSeconds,
    isWorthRetry: retryAfterSeconds !== null,
  };
}

const OPENAI_TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
};
const ANTHROPIC_TYPES: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  503: 'overloaded_error',
  504: 'timeout_error',
};
const GOOGLE_STATUSES: Readonly<Record<number, string>> = {
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

/** The body of the error, for an answer that has not begun. */
export function errorBody(family: WireFamily, { status, code, message }: WireError): object {
  const isCallers = status < 500;
  const text = withoutKeys(message);
  switch (family) {
    case 'openai': {
      const type = OPENAI_TYPES[status] ?? (isCallers ? 'invalid_request_error' : 'server_error');
      return { error: { message: text, type, param: null, code } };
    }
    case 'anthropic': {
      const type = ANTHROPIC_TYPES[status] ?? (isCallers ? 'invalid_request_error' : 'api_error');
      return { type: 'error', error: { type, message: text } };
    }
    case 'google': {
      const name = GOOGLE_STATUSES[status] ?? (isCallers ? 'INVALID_ARGUMENT' : 'INTERNAL');
      return { error: { code: status, message: text, status: name } };
    }
  }
}

/** The last event of a stream that breaks off. Its SDK throws. */
export function errorEvent(wire: ModelWire, error: WireError): string {
  const family = familyOf(wire);
  const body = errorBody(family, error);
  if (wire === 'openai_responses') {
    const { error: inner } = body as { error: { code: string; message: string } };
    const { code, message } = inner;
    return `event: error\ndata: ${JSON.stringify({ type: 'error', code, message, param: null, sequence_number: 0, error: inner })}\n\n`;
  }
  return `${family === 'anthropic' ? 'event: error\n' : ''}data: ${JSON.stringify(body)}\n\n`;
}
