// Hides secrets by the names of their keys. Never reads values: only names decide, so that every redaction can be
// explained.
import { jsonSafe, type JsonValue, TRUNCATED } from './json-safe.ts';
import { setOwnMember } from './json-object.ts';

/** Text that replaces a secret. */
export const REDACTED = '[REDACTED]';

const SENSITIVE_KEYS: ReadonlySet<string> = new Set([
  'api_key',
  'apikey',
  'password',
  'secret',
  'token',
  'auth_token',
  'authtoken',
  'private_key',
  'privatekey',
  'access_key',
  'accesskey',
  'bearer',
  'api_secret',
  'apisecret',
  'client_secret',
  'clientsecret',
  'authorization',
  'proxy_authorization',
  'cookie',
  'set_cookie',
]);

const SENSITIVE_ENDINGS = ['_key', ...[...SENSITIVE_KEYS].map((key) => `_${key}`)];
const MAX_DEPTH = 512;

/** The same for `access_token`, `access-token`, `accessToken` and `ACCESS_TOKEN`. */
export function isSensitiveKey(key: string): boolean {
  return isSensitiveName(wordsOf(key)) || isSensitiveName(wordsOf(key.toLowerCase()));
}

function isSensitiveName(name: string): boolean {
  return (
    SENSITIVE_KEYS.has(name) ||
    name.includes('secret_') ||
    SENSITIVE_ENDINGS.some((ending) => name.endsWith(ending))
  );
}

/** The words of a name in any style, joined in snake case; `APIKey` has two. */
function wordsOf(key: string): string {
  return key
    .replaceAll(/(?<=[A-Z])(?=[A-Z][a-z])/g, '_')
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1_$2')
    .replaceAll(/[-. ]/g, '_')
    .toLowerCase();
}

/** A copy of a JSON value with `[REDACTED]` in place of what sensitive keys hold. */
export function redact(value: JsonValue): JsonValue {
  return redactWithin(value, MAX_DEPTH);
}

function redactWithin(value: JsonValue, depthLeft: number): JsonValue {
  if (typeof value !== 'object' || value === null) return value;
  if (depthLeft === 0) return TRUNCATED;
  if (Array.isArray(value)) return value.map((item) => redactWithin(item, depthLeft - 1));
  const copy: { [key: string]: JsonValue } = {};
  for (const [key, member] of Object.entries(value)) {
    setOwnMember(copy, key, isSensitiveKey(key) ? REDACTED : redactWithin(member, depthLeft - 1));
  }
  return copy;
}

/** As `redact`, and within texts that are JSON themselves, which is how tools answer. */
export function redactTexts(value: JsonValue): JsonValue {
  if (typeof value === 'string') return redactText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(redactTexts);
  return redact(Object.fromEntries(Object.entries(value).map(([key, member]) => [key, redactTexts(member)])));
}

/** A text that is JSON, redacted; any other text as it is. */
export function redactText(text: string): string {
  if (!/^\s*[{[]/.test(text)) return text;
  try {
    return JSON.stringify(redactTexts(jsonSafe(JSON.parse(text))));
  } catch {
    return text;
  }
}
