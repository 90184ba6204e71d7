// Turns a failed model call into an error of the contract, and what it means for other models and callers.
// Must never show a key, a header of the request, or the URL that was called.
import {
  APICallError,
  JSONParseError,
  LoadAPIKeyError,
  NoSuchModelError,
  TypeValidationError,
  UnsupportedFunctionalityError,
} from '@ai-sdk/provider';
import { errorEnvelope, type ErrorEnvelope } from '../../contract/error-envelope.ts';
import { boundedText } from '../../contract/json/json-safe.ts';
import type { ModelRef } from '../../contract/model/model-name.ts';
import { withoutProviderKeys } from '../../contract/json/secret-text.ts';
import { explanationIn, readStatus } from './provider-status.ts';
import { type ResponseHeaders, retryAfterMs } from './rate-headers.ts';
import { type RefusedAnswer, refusedAnswer } from './refused-answer.ts';

export interface ModelFailure {
  error: ErrorEnvelope;
  /** Another model may be able to answer. */
  unavailable: boolean;
  /** Nothing was sent: the provider could not be reached. */
  unreached: boolean;
  /** The provider may have worked on the request, so tokens may have been spent. */
  mayHaveCost: boolean;
  /** Scope of a rate limit. */
  limits?: 'provider' | 'model';
}

/** Errors after which another model is worth trying. */
const UNAVAILABLE: ReadonlySet<string> = new Set([
  'network',
  'provider_error',
  'timeout',
  'rate_limited',
  'auth',
  'unknown_model',
]);
const MESSAGE_CHARACTERS = 2_000;
/** How Anthropic's client reports an unreadable first event. */
const UNREADABLE_FIRST_EVENT = /Expected a normalized \w+ stream error/;

type Details = Record<string, unknown>;

/** A failure that this service finds itself, in the same form. */
export function failure(
  type: string,
  message: string,
  details: Details,
  more: Partial<Omit<ModelFailure, 'error'>> = {},
): ModelFailure {
  const error = errorEnvelope(type, boundedText(withoutProviderKeys(message), MESSAGE_CHARACTERS), details);
  return { error, unavailable: UNAVAILABLE.has(type), unreached: false, mayHaveCost: true, ...more };
}

/** Any error that a provider's client throws or puts into a stream. `now`: milliseconds since the epoch. */
export function modelFailure(thrown: unknown, ref: ModelRef, now: number): ModelFailure {
  const details = { model: ref.name };
  const refused = refusedAnswer(thrown);
  if (refused !== null) return notRead(refused, details);
  if (APICallError.isInstance(thrown)) return fromCall(thrown, ref, now);
  if (LoadAPIKeyError.isInstance(thrown))
    return failure('auth', `no key is set for the provider "${ref.provider}"`, details, {
      mayHaveCost: false,
    });
  if (NoSuchModelError.isInstance(thrown))
    return failure('unknown_model', thrown.message, details, { mayHaveCost: false });
  if (UnsupportedFunctionalityError.isInstance(thrown))
    return failure('validation_error', thrown.message, details, { mayHaveCost: false });
  if (JSONParseError.isInstance(thrown) || TypeValidationError.isInstance(thrown))
    return unreadable(thrown, ref, now, details);
  const code = networkCode(thrown);
  if (code !== null) return lostConnection(code, details);
  const status = readStatus(thrown);
  if (status !== null) return fromStatus({ ...status, headers: {} }, ref, now);
  if (thrown instanceof Error && UNREADABLE_FIRST_EVENT.test(thrown.message)) return broken(details);
  // The provider's client failed on what it received.
  if (thrown instanceof TypeError || thrown instanceof RangeError || thrown instanceof SyntaxError)
    return failure('invalid_result', `the provider’s answer cannot be read: ${thrown.message}`, details);
  // Nothing shows that another attempt would help; another model may.
  const unexplained = { ...details, reason: 'unexplained' };
  return failure('llm_error', textOf(thrown), unexplained, { unavailable: true });
}

/** A repeat would end the same way; another provider may answer. */
function notRead({ reason, message }: RefusedAnswer, details: Details): ModelFailure {
  const type = reason === 'redirect' ? 'executor' : 'invalid_result';
  return failure(
    type,
    message,
    { ...details, reason },
    { unavailable: true, mayHaveCost: type !== 'executor' },
  );
}

/** The failure of a refusal whose response was read without a provider's client. */
export function refusedCall(refusal: Refusal, ref: ModelRef, now: number): ModelFailure {
  return fromStatus({ ...refusal, message: explanationIn(refusal.body) || refusal.message }, ref, now);
}

/** A status in a response, or in an error inside a stream. `body`: the provider's own text. */
export interface Refusal {
  status: number;
  message: string;
  body: string;
  headers: ResponseHeaders;
}

function fromCall(error: APICallError, ref: ModelRef, now: number): ModelFailure {
  const { statusCode: status, responseHeaders: headers = {} } = error;
  const body = bodyIn(error);
  const code = networkCode(error);
  if (status === undefined) return lostConnection(code ?? 'unknown', { model: ref.name });
  if (status >= 400)
    return fromStatus({ status, message: explanationIn(body) || error.message, body, headers }, ref, now);
  if (code !== null || isCutOff(error)) return lostConnection(code ?? 'cut', { model: ref.name });
  return unreadable(error, ref, now, { model: ref.name, status, ...contentType(headers) });
}

/** Some clients put the value of a body where its text belongs. */
function bodyIn({ responseBody }: { responseBody?: unknown }): string {
  return typeof responseBody === 'string' ? responseBody : (JSON.stringify(responseBody) ?? '');
}

function fromStatus(refusal: Refusal, ref: ModelRef, now: number): ModelFailure {
  const { status, headers, body } = refusal;
  const wait = retryAfterMs(headers, body, now);
  const details = { model: ref.name, status, ...(wait === null ? {} : { retry_after_ms: wait }) };
  const { type, reason } = judgement(refusal, ref);
  const message = refusal.message || `the provider answered HTTP ${status}`;
  const known = failure(type, message, reason === null ? details : { ...details, reason }, {
    mayHaveCost: false,
    // Another model has other limits, and may have a longer context.
    ...(reason === 'request_too_large' || reason === 'context_length' ? { unavailable: true } : {}),
  });
  return type === 'rate_limited'
    ? { ...known, limits: namesModel(refusal, ref) ? 'model' : 'provider' }
    : known;
}

/** A prompt that is longer than the model's context, in the words of the providers and servers. */
const CONTEXT_LENGTH: readonly RegExp[] = [
  // OpenAI, vLLM, llama.cpp, LM Studio, Ollama, Mistral, MiniMax, LiteLLM, and Anthropic with `max_tokens`.
  /context[_ ]?(length|window|limit|size)|maximum context/i,
  // Anthropic, Ollama, Fireworks; Bedrock; z.ai.
  /(prompt|input) (is )?too (long|large)|prompt exceeds max length/i,
  // Google, GitHub Copilot, Cohere. Bedrock's "Too many tokens, please wait" is a rate limit.
  /(input|prompt) token count|too many (input )?tokens(?!, please wait)/i,
  // xAI, vLLM, SGLang, Poolside, DashScope.
  /maximum (allowed )?(prompt|input|model) length|max_model_len|max_seq_len|range of input length/i,
  // Together and servers of Hugging Face; Kimi; Groq.
  /`inputs`( tokens)? (\+ `max_new_tokens` )?must (be|have)|model token limit|reduce the length of the messages/i,
];

/** An account that has used up what it has paid for, or has paid for nothing. No wait mends it. */
const NO_CREDIT: readonly RegExp[] = [
  // OpenAI, Azure, Perplexity, Kimi, Google.
  /insufficient_quota|exceeded_current_quota|exceeded your current quota|quota exceeded[^]{0,300}\blimit: 0\b/i,
  // DeepSeek, OpenRouter, Venice, Anthropic, SiliconFlow, z.ai.
  /insufficient[ _](\w+ ){0,4}(balance|credits?|funds)|balance[ _](is )?(too low|insufficient|depleted)/i,
  // xAI, OpenRouter, Together, Google.
  /(used all|run out of|ran out of|any) (\w+ ){0,2}(credits|funds)|requires more credits/i,
  /credits? (limit |are |have been )?(depleted|exhausted|exceeded)|key limit exceeded/i,
  // xAI, Anthropic, Google, Groq, Hugging Face.
  /(reached|exceeded) (its|your|the) (\w+ ){0,3}(spend(ing)? (limit|cap)|usage limits|included credits)/i,
  // OpenAI, Anthropic, Google Cloud, DashScope.
  /billing_(hard_limit|not_active|error|disabled)|billing (account )?(is disabled|to be enabled)|arrearage/i,
];
/** A quota that fills up again by itself. Google asks with the same sentence for payment and for patience. */
const REFILLS = /"retryDelay"|per ?(minute|day)|requests per/i;
/** More tokens in one request than the account's limit for a minute: OpenAI with 429, Groq with 413; Anthropic. */
const ABOVE_THE_RATE =
  /request too large for [^]{0,300}tokens per (min|day)|usage is required for long context/i;

/** A prompt that the provider's filter refuses: Azure; OpenAI and Anthropic for some contents. */
const FILTERED =
  /content_filter|content_policy_violation|content management policy|content filtering policy/i;

/** A refusal explains itself at its beginning; a longer text would cost the event loop time. */
const READ_CHARACTERS = 8_000;

interface Judgement {
  type: string;
  reason: string | null;
}

/** The error's type, and a reason that a caller can act on. */
function judgement(refusal: Refusal, ref: ModelRef): Judgement {
  const { status } = refusal;
  const text = `${refusal.message}\n${refusal.body}`.slice(0, READ_CHARACTERS);
  if (status === 402 || isWithoutCredit(text)) return { type: 'auth', reason: 'no_credit' };
  if (ABOVE_THE_RATE.test(text)) return { type: 'validation_error', reason: 'request_too_large' };
  if (status === 429) return { type: 'rate_limited', reason: null };
  if (status === 403) return forbidden(text);
  if (status === 401) return { type: 'auth', reason: null };
  if (status === 408) return { type: 'timeout', reason: 'provider_timeout' };
  // Groq's 498: no capacity is free in the flex tier.
  if (status === 498 || status === 529) return { type: 'provider_error', reason: 'overloaded' };
  // Ollama, older llama.cpp and proxies report it as their own failure.
  if (CONTEXT_LENGTH.some((words) => words.test(text)))
    return { type: 'validation_error', reason: 'context_length' };
  if (FILTERED.test(text)) return { type: 'validation_error', reason: 'refused' };
  if (status >= 500 || status === 425) return { type: 'provider_error', reason: null };
  if (status === 413) return { type: 'validation_error', reason: 'request_too_large' };
  if (status !== 404) return { type: 'validation_error', reason: null };
  return namesModel(refusal, ref) || /model/i.test(text)
    ? { type: 'unknown_model', reason: null }
    : { type: 'not_found', reason: null };
}

function isWithoutCredit(text: string): boolean {
  if (!NO_CREDIT.some((words) => words.test(text))) return false;
  return !REFILLS.test(text) || /\blimit: 0\b/.test(text);
}

/** Google also refuses with 403 when a limit is reached: `rateLimitExceeded`, `quotaExceeded`. */
function forbidden(text: string): Judgement {
  if (/rate_?limit_?exceeded/i.test(text)) return { type: 'rate_limited', reason: null };
  return { type: 'auth', reason: /quota/i.test(text) ? 'no_credit' : null };
}

/** Whether the text holds the model's name as a whole word. */
function namesModel({ message, body }: Refusal, { model }: ModelRef): boolean {
  const word = new RegExp(`(?<![\\w.-])${model.replaceAll(/[^\w]/g, '\\$&')}(?![\\w-])`);
  return word.test(message) || word.test(body);
}

function lostConnection(code: string, details: Details): ModelFailure {
  if (HTTP_TIMEOUTS.has(code))
    return failure('timeout', 'the provider did not answer in time', { ...details, code, limit: 'http' });
  const unreached = NEVER_SENT.has(code);
  const message = unreached ? 'the provider could not be reached' : 'the connection to the provider was lost';
  return failure('network', message, { ...details, code }, { unreached, mayHaveCost: !unreached });
}

const MISFIT = 'the provider’s answer does not follow its protocol';

/** A success status, with a body that cannot be read as an answer. */
function unreadable(error: Error, ref: ModelRef, now: number, details: Details): ModelFailure {
  const cause = TypeValidationError.isInstance(error) ? error : error.cause;
  if (TypeValidationError.isInstance(cause)) {
    // Some providers report errors in a form that their own clients do not know.
    const status = readStatus(cause.value);
    if (status !== null) return fromStatus({ ...status, headers: {} }, ref, now);
    return failure('invalid_result', MISFIT, details);
  }
  const body = APICallError.isInstance(error) ? bodyIn(error) : '';
  if (isHtml(body, details))
    return failure('provider_error', `the provider answered with a web page${quoted(explanationIn(body))}`, {
      ...details,
      reason: 'html',
    });
  if (isJson(body)) return failure('invalid_result', `${MISFIT}${quoted(body.trim())}`, details);
  const isEmpty = APICallError.isInstance(error) && body.trim() === '';
  return isEmpty
    ? failure('provider_error', 'the provider’s answer is empty', { ...details, reason: 'empty_answer' })
    : broken(details, body);
}

function broken(details: Details, body = ''): ModelFailure {
  return failure('provider_error', `the provider’s answer is broken JSON${quoted(body.trim())}`, {
    ...details,
    reason: 'broken_json',
  });
}

function isHtml(body: string, details: Details): boolean {
  return (
    /^\s*<(!doctype|html|head|body)/i.test(body) || String(details['content_type']).includes('text/html')
  );
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const QUOTED_CHARACTERS = 300;

/** The beginning of a provider's text, after a colon. */
function quoted(text: string): string {
  return text === '' ? '' : `: ${boundedText(text, QUOTED_CHARACTERS)}`;
}

/** Only the kind of content, for a reader of the error. */
export function contentType(headers: ResponseHeaders): { content_type?: string } {
  const type = headers['content-type'];
  return type === undefined ? {} : { content_type: boundedText(type, 100) };
}

/** The connection ended while the response was being read. */
function isCutOff(error: APICallError): boolean {
  return error.cause instanceof TypeError && /terminated|aborted|closed/i.test(error.cause.message);
}

function textOf(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message;
  return typeof thrown === 'string' ? thrown : 'the provider reported an error without an explanation';
}

/** Nothing left this machine, or no server accepted it. */
const NEVER_SENT: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENETDOWN',
  'UND_ERR_CONNECT_TIMEOUT',
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]);

/** Limits of the HTTP client itself. */
const HTTP_TIMEOUTS: ReadonlySet<string> = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']);

const NETWORK_CODE =
  /^(E[A-Z]{3,}|EAI_[A-Z]+|UND_ERR_[A-Z_]+|ERR_TLS_[A-Z_]+|CERT_[A-Z_]+|[A-Z_]*CERT[A-Z_]*)$/;
const MAX_CAUSES = 8;

/** The code of an error or of one of its causes; null: it is not about the connection. */
function networkCode(error: unknown): string | null {
  let current = error;
  for (let depth = 0; depth < MAX_CAUSES && current instanceof Error; depth += 1) {
    const { code } = current as { code?: unknown };
    if (typeof code === 'string' && NETWORK_CODE.test(code)) return code;
    const first: unknown = current instanceof AggregateError ? current.errors[0] : undefined;
    current = first ?? current.cause;
  }
  return null;
}
