/** Why a call has no result: the JSON-RPC error, or the tool error, that the client gets.
 *  It must never carry the text of an internal error. */
import {
  type CallToolResult,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { errorEnvelope } from '../../contract/error-envelope.ts';
import { DirectiveRefused, type Problem, ServiceUnavailable } from '../../contract/problem.ts';
import { isKeyed, KEY_META } from './calls/call-identity.ts';
import { failure, idsOf, type Place } from './calls/tool-answer.ts';

const MAX_ECHO_CHARACTERS = 200;

/** The same words for a tool that is hidden and one that does not exist. */
export class UnknownTool extends ProtocolError {
  constructor(name: string) {
    super(ProtocolErrorCode.InvalidParams, `Unknown tool: ${name.slice(0, MAX_ECHO_CHARACTERS)}`);
  }
}

export function invalidParams(message: string, data?: unknown): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message, data);
}

/** The answer to a refused submission. Throws errors that the SDK turns into a JSON-RPC error. */
export function refusedCall(error: unknown, place: Place): CallToolResult {
  if (error instanceof DirectiveRefused) return refused(error.problem);
  if (!(error instanceof ServiceUnavailable)) throw error;
  const advice = isKeyed(place) ? `repeat it with the same _meta["${KEY_META}"]` : `${lookup(place)} tells`;
  throw unavailable(error, `Whether the call was accepted is unknown; ${advice}.`, place);
}

/** The receiver of failures. */
interface Listener {
  /** Aborts when the client has left: no answer reaches it. */
  readonly signal: AbortSignal;
  readonly onError: (error: Error) => void;
}

/** Runs what follows the acceptance: the call goes on when it fails, so the client learns where its answer will be. */
export async function whenAccepted<T>(
  place: Place,
  { signal, onError }: Listener,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (signal.aborted || error instanceof ProtocolError) throw error;
    if (error instanceof DirectiveRefused) throw invalidParams(error.message, { code: error.problem.code });
    const hint = `The call was accepted and goes on: ${lookup(place)} has its answer.`;
    if (error instanceof ServiceUnavailable) throw unavailable(error, hint, place);
    onError(error as Error);
    throw new ProtocolError(ProtocolErrorCode.InternalError, `Internal error. ${hint}`, idsOf(place));
  }
}

type Handle<Request, Result> = (request: Request, context: ServerContext) => Promise<Result>;

/** Handles a whole request: an error that was not meant for the client is reported, and its text stays here. */
export function guarded<Request, Result>(
  { onError }: Pick<Listener, 'onError'>,
  handle: Handle<Request, Result>,
): Handle<Request, Result> {
  return async (request, context) => {
    try {
      return await whileAvailable(async () => handle(request, context));
    } catch (error) {
      if (context.mcpReq.signal.aborted || error instanceof ProtocolError) throw error;
      onError(error as Error);
      throw new ProtocolError(ProtocolErrorCode.InternalError, 'Internal error');
    }
  };
}

/** Throws as `refusedCall` does when the service does not answer. */
export async function whileAvailable<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ServiceUnavailable) throw unavailable(error, 'Try again.');
    if (error instanceof DirectiveRefused) throw invalidParams(error.message, { code: error.problem.code });
    throw error;
  }
}

function unavailable(
  { message, retryAfterMs }: ServiceUnavailable,
  hint: string,
  place?: Place,
): ProtocolError {
  // As at the command line: without any answer there is no service.
  const start = retryAfterMs === null ? 'Start it with `adjutant up`, or set ADJUTANT_URL. ' : '';
  const text = `Adjutant is unavailable: ${message.replace(/\.?$/, '.')} ${start}${hint}`;
  const ids = place === undefined ? {} : idsOf(place);
  return new ProtocolError(ProtocolErrorCode.InternalError, text, { retry_after_ms: retryAfterMs, ...ids });
}

function lookup({ requestId, id }: Place): string {
  return `\`adjutant get ${`${requestId} ${id}`.trim()}\``;
}

/** A full lane is an error that a model can act on; the others are faults of the request. */
function refused({ code, status, title, detail, errors, retry_after_ms }: Problem): CallToolResult {
  const message = detail ?? title;
  if (status === 429) return failure(errorEnvelope('rate_limited', message, { code, retry_after_ms }));
  if (code === 'id_conflict' || code === 'idempotency_conflict')
    throw invalidParams(`_meta["${KEY_META}"] was used for this tool with other arguments`);
  throw invalidParams(message, { code, ...(errors === undefined ? {} : { errors }) });
}
