// What the model reads of a tool's result: one JSON string.
// Must never hold a secret, a control directive or more than the bounds allow.
import { type JsonValue, jsonSafe } from './json-safe.ts';
import { redact } from './redaction.ts';
import { normalizeResult } from './result.ts';

/** `{"ok": true, "result": ...}` or `{"ok": false, "error": {...}}` of anything `normalizeResult` reads. */
export function toolContent(result: unknown): string {
  const normal = normalizeResult(result);
  if (normal.ok) return JSON.stringify({ ok: true, result: visible(normal.payload) });
  const { type, message, details, retryable } = normal.error;
  return JSON.stringify({ ok: false, error: { type, message, details: visible(details), retryable } });
}

function visible(value: unknown): JsonValue {
  return redact(jsonSafe(value));
}
