// Reads an error that a provider reports inside a stream or a body as the HTTP status that it represents. Never reads
// an answer as an error.
import { isObject } from '../../contract/json/json-object.ts';
import { boundedText } from '../../contract/json/json-safe.ts';

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

/** The status and message of a reported error; null: the value reports none. */
export function readStatus(value: unknown): ReportedError | null {
  const reported = reportedError(value);
  return reported === null
    ? null
    : { status: reported.status, message: reported.members.message, body: bodyOf(reported.members) };
}

/**
 * The members of a reported error, with its message as a text: `{error: {message, type, code}}`, its inside, `{error: "text"}`,
 * `{detail: "text"}` and `{detail: [{loc, msg}]}` of FastAPI, `{message}`, `{errors: [{message}]}`, a list of one of these.
 */
export function reportedError(
  value: unknown,
): { status: number; members: Record<string, unknown> & { message: string } } | null {
  const outer = value instanceof Error ? null : asMembers(Array.isArray(value) ? value[0] : value);
  if (outer === null) return null;
  const [first] = Array.isArray(outer['errors']) ? (outer['errors'] as unknown[]) : [];
  const inner = asMembers(outer['error']) ?? asMembers(outer['detail']) ?? asMembers(first) ?? outer;
  const message = messageIn(inner) ?? messageIn(outer) ?? (typeof first === 'string' ? first : null);
  return message === null ? null : { status: statusOf(inner), members: { ...inner, message } };
}

function messageIn({ message, error, detail, msg }: Record<string, unknown>): string | null {
  const text = [message, error, detail, msg].find((said) => typeof said === 'string' && said.trim() !== '');
  if (text !== undefined) return text as string;
  if (!Array.isArray(detail)) return null;
  const faults = (detail as unknown[]).slice(0, MAX_FAULTS).map(asMembers);
  const said = faults.map((fault) => {
    const place = Array.isArray(fault?.['loc'])
      ? `${(fault['loc'] as unknown[]).map(String).join('.')}: `
      : '';
    return typeof fault?.['msg'] === 'string' ? place + fault['msg'] : '';
  });
  return said.filter(Boolean).join('; ') || null;
}

/** Faults of a refused request that are named in a message. */
const MAX_FAULTS = 10;

const TITLE = /<(title|h1)[^>]{0,200}>([^<]{1,300})</i;

/** The explanation in the body of a refusal: the message of its JSON, else the JSON, the title of a page, or its text; '': none. */
export function explanationIn(body: string): string {
  const text = body.trim();
  if (text.startsWith('<')) return boundedText(TITLE.exec(text)?.[2]?.trim() ?? '', EXPLANATION_CHARACTERS);
  let value: unknown = text;
  try {
    value = JSON.parse(text);
  } catch {
    // A plain text explains itself.
  }
  const said = typeof value === 'string' ? value : (reportedError(value)?.members.message ?? text);
  return boundedText(said, EXPLANATION_CHARACTERS);
}

const EXPLANATION_CHARACTERS = 2_000;

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
