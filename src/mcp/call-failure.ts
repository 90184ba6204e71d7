/** Turns errors of the SDK, of fetch and of the server's JSON-RPC into the failure of a call.
 *  It must never call a request unsent that a server may have seen. */
import {
  ProtocolError,
  ProtocolErrorCode,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
} from '@modelcontextprotocol/client';
import { type ErrorEnvelope, errorEnvelope, normalizeError } from '../contract/error-envelope.ts';
import { isObject } from '../contract/json/json-object.ts';
import type { CallEnding } from './call-deadline.ts';
import {
  describe,
  hasStatusOfLostSession,
  isDenied,
  isUnreached,
  lackingScope,
  systemCode,
  tellsOfLostSession,
} from './connect-fault.ts';
import { ANSWER_LOST, ANSWER_REFUSED } from './transport/message-delivery.ts';
import { deniedHint, type LoginFault, loginFaultIn } from './oauth/login-fault.ts';
import { errorMessageIn } from './transport/read-message.ts';
import type { OAuthOptions } from './server-options.ts';
import type { Session } from './session.ts';

export interface FailedCall {
  readonly error: ErrorEnvelope;
  readonly sent: boolean;
  /** The server did not accept the request: it may be sent again over a new connection. */
  readonly refused: boolean;
}

export interface FailureContext {
  readonly server: string;
  readonly holdsSessionId: boolean;
  /** How the service gets tokens for the server. Default: it gets none. */
  readonly grant?: OAuthOptions['grant'] | undefined;
  /** How the connection has ended, as a program that was killed; '' = it has not. Default: unknown. */
  readonly ending?: string;
}

export interface EndingContext {
  readonly server: string;
  readonly timeoutMs: number;
  readonly maxTotalMs: number;
}

/** This side ended the call. */
export function endedCall(ending: CallEnding, context: EndingContext): ErrorEnvelope {
  switch (ending) {
    case 'cancelled':
      return errorEnvelope('cancelled', 'Tool execution was cancelled', { server: context.server });
    case 'timed_out':
      return errorEnvelope('timeout', 'Tool execution timed out', { timeout_ms: context.timeoutMs });
    case 'total_timed_out':
      return errorEnvelope('timeout', 'Tool execution timed out', { max_total_ms: context.maxTotalMs });
    case 'stopped':
      return errorEnvelope('network', 'The connection to the MCP server was closed', {
        server: context.server,
      });
  }
}

/** The server or the network failed. */
export function failedCall(error: unknown, context: FailureContext): FailedCall {
  const login = loginFaultIn(error);
  if (login !== null) return withoutToken(login, context);
  if (error instanceof SdkHttpError) return refusedByHttp(error, context);
  if (isDenied(error)) return deniedAccess(error, context);
  if (error instanceof ProtocolError) return answeredWithError(error, context);
  if (error instanceof SdkError) return brokenProtocol(error, context);
  if (isUnreached(error) || isNotConnected(error)) return lostConnection(error, context, false);
  return lostConnection(error, context, true);
}

/** The same for a call on a session: one that the server says in its own way not to know is asked once more about it. */
export async function failedOnSession(
  error: unknown,
  session: Pick<Session, 'holdsSessionId' | 'isForgotten' | 'ending'>,
  context: Omit<FailureContext, 'holdsSessionId' | 'ending'>,
): Promise<FailedCall> {
  const holdsSessionId = session.holdsSessionId();
  const failure = failedCall(error, { ...context, holdsSessionId, ending: session.ending() });
  if (failure.refused || !holdsSessionId || !tellsOfLostSession(error)) return failure;
  // A tool may have sessions of its own: only a server that refuses another request, too, has not run it.
  if (!(await session.isForgotten())) return failure;
  const message = 'The MCP server has ended the session';
  const gone = errorEnvelope('network', message, { server: context.server, reason: describe(error) });
  return { error: gone, sent: false, refused: true };
}

/** There is no token for the request, so it was not sent, or was refused by HTTP 401. */
function withoutToken({ type, message }: LoginFault, { server }: FailureContext): FailedCall {
  const text = `The MCP server "${server}" cannot be called: ${message}`;
  return { error: errorEnvelope(type, text, { server }), sent: false, refused: false };
}

/** The request was answered by HTTP 401 or 403, so the tool has not run. */
function deniedAccess(error: unknown, { server, grant }: FailureContext): FailedCall {
  const lacking = lackingScope(error);
  const message =
    lacking === null
      ? 'The MCP server denied access'
      : `The MCP server denied access: the token lacks ${lacking.text}${deniedHint(server, grant, lacking.scope)}`;
  return { error: errorEnvelope('auth', message, { server, status: 403 }), sent: false, refused: false };
}

function refusedByHttp(error: SdkHttpError, { server, holdsSessionId, grant }: FailureContext): FailedCall {
  const { status } = error;
  const details = { server, status };
  const fail = (type: string, message: string, sent: boolean, more: object = {}): FailedCall => ({
    error: errorEnvelope(type, message, { ...details, ...more }),
    sent,
    refused: false,
  });
  if (status === 404 || (holdsSessionId && hasStatusOfLostSession(error))) {
    const gone = errorEnvelope('network', 'The MCP server has ended the session', details);
    return { error: gone, sent: false, refused: true };
  }
  if (isDenied(error)) return fail('auth', `The MCP server denied access${deniedHint(server, grant)}`, false);
  if (status === 429)
    return fail('rate_limited', 'The MCP server asks to slow down', false, retryAfter(error));
  if (status >= 500)
    return fail('provider_error', `The MCP server answered HTTP ${status}`, true, retryAfter(error));
  if (status >= 300 && status < 400)
    return fail('executor', `The MCP server answered ${describe(error)}`, false);
  return fail('executor', reasonIn(error) ?? `The MCP server answered HTTP ${status}`, false);
}

/** The message of the JSON-RPC error that a refusal may hold. */
function reasonIn({ data: { text } }: SdkHttpError): string | null {
  return typeof text === 'string' ? (errorMessageIn(text)?.slice(0, 1_000) ?? null) : null;
}

function retryAfter(error: SdkHttpError): { retry_after_ms?: number } {
  const ms = error.data['retryAfterMs'];
  return typeof ms === 'number' ? { retry_after_ms: ms } : {};
}

/** Servers of the SDK say so, with the code for wrong arguments, when their own tool returned something else than a result. */
const OWN_RESULT = 'Invalid tools/call result';
const NO_STRUCTURED_CONTENT = 'did not return structured content';

function answeredWithError(error: ProtocolError, { server }: FailureContext): FailedCall {
  const { code, message, data } = error;
  // The data of a refused answer is this client's: the place of each fault, and the content beside it.
  const own = code === ANSWER_REFUSED && isObject(data) ? data : null;
  const details = { ...own, server, code, ...(data === undefined || own !== null ? {} : { data }) };
  const answer = (type: string): FailedCall => ({
    error: errorEnvelope(type, message, details),
    sent: true,
    refused: false,
  });
  if (code === ANSWER_LOST) return answer('network');
  if (code === ANSWER_REFUSED || message.includes(NO_STRUCTURED_CONTENT)) return answer('invalid_result');
  if (code === ProtocolErrorCode.InvalidParams && message.startsWith(OWN_RESULT))
    return answer('invalid_result');
  if (code === ProtocolErrorCode.InvalidParams)
    return answer(/unknown tool|not found/i.test(message) ? 'unknown_tool' : 'validation_error');
  // The tool's own error: a retry hint in its data counts.
  const hints = typeof data === 'object' && data !== null ? data : {};
  const read = normalizeError({ ...hints, type: 'tool_error', message, details }, 'tool_error', message);
  return { error: read, sent: true, refused: false };
}

const AGAINST_PROTOCOL: ReadonlySet<SdkErrorCode> = new Set([
  SdkErrorCode.InvalidResult,
  SdkErrorCode.UnsupportedResultType,
  SdkErrorCode.InputRequiredRoundsExceeded,
  SdkErrorCode.ClientHttpUnexpectedContent,
]);

function brokenProtocol(error: SdkError, context: FailureContext): FailedCall {
  const { code } = error;
  if (code === SdkErrorCode.NotConnected) return lostConnection(error, context, false);
  if (code === SdkErrorCode.SendFailed) return { ...lostConnection(error, context, false), refused: false };
  const answer = (type: string, message: string): FailedCall => ({
    error: errorEnvelope(type, message, { server: context.server, code }),
    sent: true,
    refused: false,
  });
  if (AGAINST_PROTOCOL.has(code)) {
    return answer('invalid_result', 'The MCP server sent a result that does not follow the protocol');
  }
  if (code === SdkErrorCode.CapabilityNotSupported) {
    return answer('executor', 'The tool asks for something this client does not support');
  }
  return lostConnection(error, context, true);
}

function lostConnection(error: unknown, { server, ending = '' }: FailureContext, sent: boolean): FailedCall {
  const code = systemCode(error);
  const message = sent ? 'The connection to the MCP server was lost' : 'The MCP server could not be reached';
  const reason = ending === '' ? describe(error) : ending;
  const details = { server, reason, ...(code === null ? {} : { code }) };
  return { error: errorEnvelope('network', message, details), sent, refused: !sent };
}

/** The SDK throws a plain Error when its transport has closed before the request. */
function isNotConnected(error: unknown): boolean {
  return error instanceof Error && error.message === 'Not connected';
}
