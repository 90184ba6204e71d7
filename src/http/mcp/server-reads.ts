/** Reads of the servers behind this one: each is a short directive to the server's lane, cancelled with its client.
 *  Never long-lived: no client comes back for its answer. */
import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server';
import { v7 as uuidv7 } from 'uuid';
import {
  passingRequestId,
  readName,
  serverAnswerSchema,
  type ServerRead,
} from '../../contract/tool/server-read.ts';
import type { TerminalSignal } from '../../contract/signal/signal.ts';
import { awaitEnd, endOf } from './calls/call-end.ts';
import type { Place } from './calls/tool-answer.ts';
import { attended, type CallParts, RETRIES, traceOf, unlessAborted } from './calls/tool-call.ts';

type Members = Readonly<Record<string, unknown>>;

export interface ServerReadRequest {
  readonly server: string;
  readonly method: ServerRead;
  readonly params: Members;
  /** How long the client waits at most, milliseconds. */
  readonly patienceMs: number;
  /** The client has left. */
  readonly signal: AbortSignal;
  /** As of a call. */
  readonly traceparent?: unknown;
}

/** The server's result. Throws the server's own error, or a `ProtocolError` that says why there is no answer. */
export type ReadServer = (request: ServerReadRequest) => Promise<Members>;

/** The end of a directive is written a little after its deadline. */
const AFTER_DEADLINE_MS = 3_000;

export function createServerReads(parts: CallParts): ReadServer {
  return async (request) => {
    const place: Place = { requestId: passingRequestId(uuidv7()), id: 'read' };
    const { signal } = request;
    // Nobody comes back for it: a connection that is lost ends it too.
    const waiter = { signal, departure: () => 'cancelled' as const };
    const payload = await attended(parts, place, waiter, async () =>
      payloadOf(parts, place, await endOfRead(parts, place, request), request),
    );
    const answer = serverAnswerSchema.safeParse(payload);
    if (!answer.success) throw internal(`The answer of the MCP server "${request.server}" cannot be read`);
    if ('result' in answer.data) return answer.data.result;
    throw errorOf(answer.data.error);
  };
}

async function endOfRead(
  { client, stop }: CallParts,
  place: Place,
  { server, method, params, patienceMs, signal, traceparent }: ServerReadRequest,
): Promise<TerminalSignal | null> {
  const directive = {
    type: 'tool_exec',
    request_id: place.requestId,
    id: place.id,
    server,
    tool_name: readName(method),
    arguments: params,
    effect: 'read',
    deadline_ms: patienceMs,
    ...RETRIES,
  } as const;
  const waiting = { signal: stop, waitMs: patienceMs, ...traceOf(traceparent) };
  const submission = await unlessAborted(client.submit(directive, waiting), signal);
  return endOf(submission) ?? awaitEnd(client, place, { forMs: AFTER_DEADLINE_MS, signal });
}

async function payloadOf(
  { client }: CallParts,
  { requestId, id }: Place,
  end: TerminalSignal | null,
  { server, patienceMs }: ServerReadRequest,
): Promise<unknown> {
  if (end === null) throw internal(`The MCP server "${server}" has not answered within ${patienceMs} ms`);
  if (end.type === 'ai.request.error') throw new Error(end.data.message);
  const { result, metadata } = end.data;
  if (!result.ok) throw internal(result.error.message);
  const isCut = typeof metadata['result_truncated_bytes'] === 'number';
  return isCut ? client.payload(requestId, id) : result.payload;
}

/** Other codes mean something between this server and its own client. */
const PASSED_CODES: ReadonlySet<number> = new Set([
  ProtocolErrorCode.InvalidParams,
  ProtocolErrorCode.ResourceNotFound,
  ProtocolErrorCode.MethodNotFound,
]);

function errorOf({ code, message, data }: { code: number; message: string; data: unknown }): ProtocolError {
  return PASSED_CODES.has(code) ? new ProtocolError(code, message, data ?? undefined) : internal(message);
}

function internal(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InternalError, message);
}
