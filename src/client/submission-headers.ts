/** The headers that say which submission it is, and to which trace it belongs.
 *  It must never send a key as another one than it was given. */
import { refusedAt } from '../contract/field-sentence.ts';
import { IDEMPOTENCY_KEY, IDEMPOTENCY_KEY_FORM } from '../contract/keyed-ids.ts';

/** Throws `DirectiveRefused`. */
export function submissionHeaders({
  idempotencyKey: key,
  traceparent,
}: {
  readonly idempotencyKey?: string | undefined;
  readonly traceparent?: string | undefined;
}): Record<string, string> {
  if (key !== undefined && !IDEMPOTENCY_KEY.test(key))
    throw refusedAt('invalid_header', [{ path: 'idempotency-key', message: IDEMPOTENCY_KEY_FORM }]);
  return {
    ...(key === undefined ? {} : { 'idempotency-key': key }),
    ...(traceparent === undefined ? {} : { traceparent }),
  };
}
