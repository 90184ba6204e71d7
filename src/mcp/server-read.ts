/** One read of a server besides its tools: resources, prompts, completions. A list is read to its end, within limits.
 *  It must never call a tool, nor throw. */
import { ProtocolError } from '@modelcontextprotocol/client';
import { type ErrorEnvelope, errorEnvelope } from '../contract/error-envelope.ts';
import { isDeeperThan } from '../contract/json/json-guard.ts';
import { DEEPEST_RESULT } from '../contract/result.ts';
import type { ServerAnswer, ServerRead } from '../contract/tool/server-read.ts';
import type { CallTools } from './call.ts';
import { type CallDeadline, type CallLimits, startCallDeadline } from './call-deadline.ts';
import { failedOnSession } from './call-failure.ts';
import { ANSWER_LOST, ANSWER_REFUSED } from './transport/message-delivery.ts';
import { declaredOffers } from './tools/server-offers.ts';
import type { Session } from './session.ts';

type Members = Readonly<Record<string, unknown>>;

/** `signal`, `timeoutMs`, `maxTotalMs`: as of a call of a tool; the connection is not waited for where it is known to be down. */
export interface ReadRequest extends CallLimits {
  readonly server: string;
  readonly method: ServerRead;
  readonly params: Members;
  readonly traceparent: string;
}

export type ReadOutcome =
  | { readonly kind: 'answer'; readonly answer: ServerAnswer }
  /** `sent`: the server may have seen the request. */
  | { readonly kind: 'failed'; readonly error: ErrorEnvelope; readonly sent: boolean };

/** Member of the answer that holds a list. */
const LISTS: Partial<Record<ServerRead, string>> = {
  'resources/list': 'resources',
  'resources/templates/list': 'resourceTemplates',
  'prompts/list': 'prompts',
};

/** Limits of one list, over all its pages: the rest is left out, and the answer says so. */
const MOST_PAGES = 100;
const MOST_ITEMS = 1_000;
const MOST_BYTES = 512 * 1_024;

const METHOD_NOT_FOUND = -32_601;
const INTERNAL_ERROR = -32_603;
const MOST_MESSAGE_CHARACTERS = 1_000;
const MOST_DATA_CHARACTERS = 2_000;

export async function readServer(tools: CallTools, request: ReadRequest): Promise<ReadOutcome> {
  const { slots, active } = tools;
  const deadline = startCallDeadline(request);
  active.add(deadline);
  try {
    if (!(await slots.take(deadline.signal))) return behind(tools, request, deadline);
    try {
      return await readUntilTaken(tools, request, deadline);
    } finally {
      slots.release();
    }
  } finally {
    active.delete(deadline);
    deadline.dispose();
  }
}

type Exchange = ReadOutcome | { readonly kind: 'refused'; readonly failed: ReadOutcome };

/** A session that the server has forgotten is replaced, once. */
async function readUntilTaken(
  tools: CallTools,
  request: ReadRequest,
  deadline: CallDeadline,
): Promise<ReadOutcome> {
  const { connection } = tools;
  for (let isRepeat = false; ; isRepeat = true) {
    const session =
      connection.session() ?? (await connection.waitForSession(deadline.signal, { waitsForServer: false }));
    if (session === null || deadline.ending() !== null) return unsent(tools, request, deadline);
    const outcome = await exchange(tools, session, request, deadline);
    if (outcome.kind !== 'refused') return outcome;
    connection.giveUp(session, 'the server has ended the session');
    if (isRepeat) return outcome.failed;
  }
}

async function exchange(
  { grant }: CallTools,
  session: Session,
  request: ReadRequest,
  deadline: CallDeadline,
): Promise<Exchange> {
  const { server } = request;
  try {
    const result = await resultOf(session, request, deadline.signal);
    if (isDeeperThan(result, DEEPEST_RESULT)) return tooDeep(server);
    return { kind: 'answer', answer: { result } };
  } catch (error) {
    const ending = deadline.ending();
    if (ending !== null) return { kind: 'failed', error: ended(request, deadline), sent: true };
    const failure = await failedOnSession(error, session, { server, grant });
    if (!failure.refused && isAnswer(error)) return { kind: 'answer', answer: { error: errorOf(error) } };
    const failed: ReadOutcome = { kind: 'failed', error: failure.error, sent: failure.sent };
    return failure.refused ? { kind: 'refused', failed } : failed;
  }
}

async function resultOf(
  session: Session,
  request: ReadRequest,
  signal: AbortSignal,
): Promise<Record<string, unknown>> {
  const { method, params, traceparent } = request;
  if (!isOffered(session, method)) throw new ProtocolError(METHOD_NOT_FOUND, 'Method not found');
  const _meta = { traceparent };
  const ask = async (more: Members) => session.read(method, { ...more, _meta }, signal);
  const list = LISTS[method];
  return list === undefined ? withoutEnvelope(await ask(params)) : wholeList(ask, list);
}

/** Some servers answer nothing at all to a method that they do not declare. */
function isOffered({ client }: Session, method: ServerRead): boolean {
  const { resources, prompts, completions } = declaredOffers(client, '');
  if (method === 'completion/complete') return completions;
  return method.startsWith('prompts/') ? prompts : resources;
}

/** Removes the members that belong to this connection, not to its client's. */
function withoutEnvelope(result: Members): Record<string, unknown> {
  return Object.fromEntries(Object.entries(result).filter(([name]) => !ENVELOPE.has(name)));
}

const ENVELOPE: ReadonlySet<string> = new Set(['_meta', 'resultType', 'ttlMs', 'cacheScope']);

async function wholeList(
  ask: (params: Members) => Promise<Members>,
  name: string,
): Promise<Record<string, unknown>> {
  const items: unknown[] = [];
  const cursors = new Set<unknown>();
  let bytes = 0;
  for (let cursor: unknown; cursors.size < MOST_PAGES; cursors.add(cursor)) {
    const page = await ask(cursor === undefined ? {} : { cursor });
    for (const item of arrayIn(page[name])) {
      bytes += JSON.stringify(item)?.length ?? 0;
      if (items.length >= MOST_ITEMS || bytes > MOST_BYTES) return { [name]: items, incomplete: true };
      items.push(item);
    }
    cursor = page['nextCursor'];
    // Some servers repeat their last page.
    if (typeof cursor !== 'string' || cursor === '' || cursors.has(cursor)) return { [name]: items };
  }
  return { [name]: items, incomplete: true };
}

function arrayIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
}

/** Whether the server itself answered: an answer that was lost or refused on its way is none. */
function isAnswer(error: unknown): error is ProtocolError {
  return error instanceof ProtocolError && error.code !== ANSWER_LOST && error.code !== ANSWER_REFUSED;
}

function errorOf({ code, message, data }: ProtocolError): { code: number; message: string; data: unknown } {
  const isShort = (JSON.stringify(data)?.length ?? 0) <= MOST_DATA_CHARACTERS;
  return {
    code: Number.isSafeInteger(code) ? code : INTERNAL_ERROR,
    message: message.slice(0, MOST_MESSAGE_CHARACTERS),
    data: isShort ? (data ?? null) : null,
  };
}

function unsent({ connection }: CallTools, request: ReadRequest, deadline: CallDeadline): ReadOutcome {
  const isAway = connection.session() === null && deadline.ending() !== 'cancelled';
  return {
    kind: 'failed',
    error: isAway ? away(connection, request) : ended(request, deadline),
    sent: false,
  };
}

/** It has got no place: perhaps because a person is waited for. */
function behind(tools: CallTools, request: ReadRequest, deadline: CallDeadline): ReadOutcome {
  const isLate = deadline.ending() === 'timed_out' || deadline.ending() === 'total_timed_out';
  if (!isLate || tools.connection.session() === null) return unsent(tools, request, deadline);
  const { server, method, timeoutMs } = request;
  const why = tools.slots.isNarrow()
    ? 'it asks people while it works on a call, gets one request at a time, and a call is under way'
    : 'it has as many calls under way as it may have at once';
  const message = `The MCP server "${server}" was not sent the request: ${why}. Try again when that has ended`;
  const error = errorEnvelope('timeout', message, { server, method, timeout_ms: timeoutMs });
  return { kind: 'failed', error, sent: false };
}

function away(connection: CallTools['connection'], { server }: ReadRequest): ErrorEnvelope {
  const reason = connection.awayReason();
  const message = `The MCP server "${server}" is not available: ${reason}`;
  return errorEnvelope(connection.fault()?.type ?? 'network', message, { server, reason });
}

/** This side ended the read. */
function ended({ server, method, timeoutMs }: ReadRequest, deadline: CallDeadline): ErrorEnvelope {
  const details = { server, method };
  switch (deadline.ending()) {
    case 'cancelled':
      return errorEnvelope('cancelled', 'The read was cancelled', details);
    case 'timed_out':
    case 'total_timed_out':
      return errorEnvelope('timeout', `The MCP server "${server}" has not answered in time`, {
        ...details,
        timeout_ms: timeoutMs,
      });
    case 'stopped':
    case null:
      return errorEnvelope('network', 'The connection to the MCP server was closed', details);
  }
}

function tooDeep(server: string): ReadOutcome {
  const message = `The answer is nested deeper than ${DEEPEST_RESULT} levels`;
  return { kind: 'failed', error: errorEnvelope('invalid_result', message, { server }), sent: true };
}
