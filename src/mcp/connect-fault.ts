/** Why a server could not be reached, read from the error of the SDK, fetch or the process.
 *  It must never quote a long answer of a server. */
import {
  InsufficientScopeError,
  ProtocolError,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SseError,
} from '@modelcontextprotocol/client';
import { ANSWER_REFUSED } from './transport/message-delivery.ts';
import { type LoginFault, loginFaultIn, plainText } from './oauth/login-fault.ts';

export interface ConnectFault {
  readonly type: 'network' | 'auth';
  readonly message: string;
  /** Another attempt may help; otherwise the configuration must change first. */
  readonly passing: boolean;
  /** The next attempt begins within this time. Default: the more have failed, the later. Milliseconds. */
  readonly retryWithinMs?: number;
}

const UNREACHED_CODES: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);
/** Delay after which a new login is used. */
const LOGIN_SEEN_MS = 3_000;
/** Prefixes of the SDK and fetch before the reason. */
const NO_NEWS = /^(?:Version negotiation (?:probe )?failed: )?(?:fetch failed: )?(?=.)/;
const MAX_SCOPE_CHARACTERS = 300;
const SPAWN_CODES: ReadonlySet<string> = new Set(['ENOENT', 'EACCES', 'ENOTDIR', 'EPERM', 'ENOEXEC']);

/** `ending`: how the server's process ended; '' if it did not. `helps`: what helps against a refused token. */
export function connectFault(
  error: unknown,
  ending: string,
  helps: (scope: string) => string = () => '',
): ConnectFault {
  const login = loginFaultIn(error);
  if (login !== null) return withoutToken(login);
  if (isDenied(error))
    return {
      type: 'auth',
      message: `the server denied access (${describe(error)})${helps(lackingScope(error)?.scope ?? '')}`,
      passing: false,
    };
  if (isSpawnFailure(error))
    return { type: 'network', message: `cannot be started: ${describe(error)}`, passing: false };
  return { type: 'network', message: ending === '' ? describe(error) : ending, passing: true };
}

function withoutToken({ type, message, isLocal }: LoginFault): ConnectFault {
  const soon = isLocal ? { retryWithinMs: LOGIN_SEEN_MS } : {};
  return { type, message, passing: type === 'network', ...soon };
}

export function isDenied(error: unknown): boolean {
  if (loginFaultIn(error) !== null) return true;
  if (error instanceof InsufficientScopeError) return true;
  return error instanceof SdkHttpError && (error.status === 401 || error.status === 403);
}

/** The scope that the server wants of the token: as a text, and as it names it ('' = it does not); null: another error. */
export function lackingScope(error: unknown): { readonly text: string; readonly scope: string } | null {
  if (!(error instanceof InsufficientScopeError)) return null;
  const scope = plainText(error.requiredScope ?? '', MAX_SCOPE_CHARACTERS);
  return { scope, text: scope === '' ? 'a scope' : `the scope "${scope}"` };
}

export function isTimeout(error: unknown): boolean {
  return error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout;
}

const LOST_SESSION =
  /\bsession\b[^]{0,80}\b(?:not found|not exist|unknown|invalid|expired|closed|terminated)|\b(?:unknown|invalid|expired|no such|no valid|missing)\b[^]{0,40}\bsession\b/i;

/** The answer says in some form that the server does not know the session. */
export function tellsOfLostSession(error: unknown): boolean {
  if (error instanceof ProtocolError) return LOST_SESSION.test(error.message.slice(0, 500));
  if (!(error instanceof SdkHttpError)) return false;
  const { text } = error.data;
  return typeof text === 'string' && LOST_SESSION.test(text.slice(0, 500));
}

/** The status of a request in a session that the server does not know, where it holds one. 404 is the protocol's. */
export function hasStatusOfLostSession(error: unknown): boolean {
  return error instanceof SdkHttpError && [400, 404, 410].includes(error.status);
}

/** The server answered, but past one of our limits. */
export function isRefusedAnswer(error: unknown): boolean {
  return error instanceof ProtocolError && error.code === ANSWER_REFUSED;
}

/** No byte of the request reached a server. */
export function isUnreached(error: unknown): boolean {
  const code = systemCode(error);
  return code !== null && UNREACHED_CODES.has(code);
}

function isSpawnFailure(error: unknown): boolean {
  if (!(error instanceof Error) || !('syscall' in error) || !String(error.syscall).startsWith('spawn'))
    return false;
  return SPAWN_CODES.has(systemCode(error) ?? '');
}

/** fetch hides the reason one `cause` deeper, the SDK's negotiation another level. */
export function systemCode(error: unknown): string | null {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth += 1) {
    if ('code' in cause && typeof cause.code === 'string' && /^(E[A-Z]+|UND_ERR_)/.test(cause.code)) {
      if (!(cause instanceof SdkError)) return cause.code;
    }
    const [first] = cause instanceof AggregateError ? cause.errors : [];
    if (first instanceof Error && 'code' in first && typeof first.code === 'string') return first.code;
  }
  return null;
}

/** The innermost cause is the useful one: fetch only reports that it failed. */
export function describe(error: unknown): string {
  if (error instanceof SdkHttpError) return `HTTP ${error.status}${redirectIn(error)}`;
  if (error instanceof SseError && error.code !== undefined) return `HTTP ${error.code}`;
  const scope = lackingScope(error);
  if (scope !== null) return `HTTP 403: the token lacks ${scope.text}`;
  let text = error instanceof Error ? error.message : String(error);
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth += 1) {
    if (cause.message !== '' && !text.includes(cause.message)) text = `${text}: ${cause.message}`;
  }
  text = withoutHeaderValue(text).replace(NO_NEWS, '');
  const code = systemCode(error);
  return (code === null || text.includes(code) ? text : `${text} (${code})`).slice(0, 300);
}

/** Longer parts of an address may be a key. */
const LONGEST_TARGET = 200;

/** Where an answer points that is not followed, as the SDK writes it. */
function redirectIn({ status, message }: SdkHttpError): string {
  const target = /\bRedirect to (\S+) not followed|; try (\S+) as the endpoint/.exec(message);
  const [, there, secure] = target ?? [];
  if (status < 300 || status >= 400 || target === null) return '';
  return `: it points to ${(there ?? secure ?? '').slice(0, LONGEST_TARGET)}, which is not followed: a redirect to another address needs that address as the URL`;
}

/** fetch quotes a header that it cannot send, which may be a token. */
function withoutHeaderValue(text: string): string {
  return text.replace(/"[^]*" is an invalid header value/, 'a header value is invalid');
}
