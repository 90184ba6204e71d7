// Reads an error that a provider reports inside a stream or a body as the HTTP status it stands for.
// Must never read an answer as an error.
import { isObject } from '../contract/json-object.ts';
import { boundedText } from '../contract/json-safe.ts';

export interface ReportedError {
  status: number;
  message: string;
  /** The error as JSON, bounded: its text explains more than its status. */
  body: string;
}

/** Words in an error's code or type, and the status of the HTTP error with that name. The first match counts. */
const STATUS_WORDS: readonly (readonly [RegExp, number])[] = [
  [/insufficient_quota|rate_?limit|resource_exhausted|too_many_requests/, 429],
  [/authentication|unauthenticated|invalid_api_key/, 401],
  [/permission/, 403],
  [/billing/, 402],
  [/not_found/, 404],
  [/invalid|bad_request|context_length|exceed_context|too_large|failed_precondition|out_of_range/, 400],
  [/overloaded|capacity_exceeded/, 529],
  [/unavailable/, 503],
  [/timeout|deadline_exceeded/, 408],
];

const BODY_CHARACTERS = 4_000;

/** `{error: {message, type, code}}`, its inside, or `{error: "text"}`; null: no error. */
export function readStatus(value: unknown): ReportedError | null {
  const outer = value instanceof Error ? null : asMembers(value);
  if (outer === null) return null;
  const { error } = outer;
  if (typeof error === 'string') return { status: 500, message: error, body: bodyOf(outer) };
  const inner = asMembers(error) ?? outer;
  const { message } = inner;
  if (typeof message !== 'string') return null;
  return { status: statusOf(inner), message, body: bodyOf(inner) };
}

function statusOf(error: Record<string, unknown>): number {
  for (const key of ['statusCode', 'code', 'status']) {
    const status = Number(error[key]);
    if (Number.isInteger(status) && status >= 400 && status < 600) return status;
  }
  const words = ['type', 'code', 'status']
    .map((key) => error[key])
    .filter((word) => typeof word === 'string')
    .join(' ')
    .toLowerCase();
  return STATUS_WORDS.find(([word]) => word.test(words))?.[1] ?? 500;
}

function bodyOf(error: Record<string, unknown>): string {
  try {
    return boundedText(JSON.stringify(error), BODY_CHARACTERS);
  } catch {
    return '';
  }
}

function asMembers(value: unknown): Record<string, unknown> | null {
  return isObject(value) ? value : null;
}
