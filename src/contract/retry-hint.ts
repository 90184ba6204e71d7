// Reads from an error whether trying again could help.
// Must never count attempts or know a policy: it reads one error.

/** Errors that tend to pass. `supervisor`: the work could not even be started. */
const RETRYABLE_TYPES: ReadonlySet<string> = new Set([
  'timeout',
  'transient',
  'transient_error',
  'rate_limited',
  'provider_error',
  'network',
  'supervisor',
]);

const NO_WORDS: ReadonlySet<string> = new Set(['', '0', 'false', 'no', 'off']);
const HINT_KEYS = ['retry', 'retryable?', 'retryable'];

/** Whether an error of this type may succeed in another attempt. */
export function isRetryableType(type: unknown): boolean {
  return typeof type === 'string' && RETRYABLE_TYPES.has(type);
}

/** Explicit boolean `retryable` of an error; undefined: none. */
export function explicitRetryable(error: Readonly<Record<string, unknown>>): boolean | undefined {
  for (const key of ['retryable?', 'retryable']) {
    if (typeof error[key] === 'boolean') return error[key];
  }
  return undefined;
}

/** In order: a hint in the details, the nested reason or the message read as a type, the type itself. */
export function retryableByHint(type: string, message: unknown, details: unknown): boolean {
  const hint = hintOf(details) ?? hintOf(memberOf(details, 'reason'));
  if (hint !== undefined) return hint;
  return isRetryableType(reasonType(details)) || isRetryableType(message) || isRetryableType(type);
}

function reasonType(details: unknown): unknown {
  const reason = memberOf(details, 'reason');
  return typeof reason === 'string' ? reason : memberOf(reason, 'type');
}

function hintOf(details: unknown): boolean | undefined {
  for (const key of HINT_KEYS) {
    const hint = memberOf(details, key);
    if (hint !== undefined && hint !== null) return isYes(hint);
  }
  return undefined;
}

function isYes(hint: unknown): boolean {
  if (hint === false || hint === 0) return false;
  return typeof hint !== 'string' || !NO_WORDS.has(hint.trim().toLowerCase());
}

function memberOf(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, key)
    ? (value as Record<string, unknown>)[key]
    : undefined;
}
