/** One `tools/call`: a directive is submitted, its progress relayed, its end answered.
 *  It must never submit a call twice, nor cancel one because a connection was lost for a moment. */
import { setTimeout as wait } from 'node:timers/promises';
import type { CallToolResult } from '@modelcontextprotocol/server';
import type { DirectiveClient } from '../../../contract/directive/directive-client.ts';
import type { SubmittedDirective } from '../../../contract/directive/directive.ts';
import { errorEnvelope } from '../../../contract/error-envelope.ts';
import { DirectiveRefused } from '../../../contract/problem.ts';
import type { Result } from '../../../contract/result.ts';
import { TRACEPARENT_PATTERN } from '../../../contract/signal/signal-envelope.ts';
import type { TerminalSignal } from '../../../contract/signal/signal.ts';
import type { Submission } from '../../../contract/directive/submission.ts';
import type { ListedTool } from '../../../contract/tool/tool-listing.ts';
import { awaitEnd, endOf } from './call-end.ts';
import { isOfRun } from './call-identity.ts';
import type { Departure, Departures } from './departures.ts';
import type { ProgressRelay } from './progress-relay.ts';
import { followCall, type QuestionListener } from '../questions/question-feed.ts';
import { refusedCall, whenAccepted } from '../refusal.ts';
import { answerOf, failure, type Place } from './tool-answer.ts';

export interface CallParts {
  readonly client: DirectiveClient;
  readonly departures: Departures;
  /** The service ends. */
  readonly stop: AbortSignal;
  /** Called with errors that clients must not read. */
  readonly onError: (error: Error) => void;
}

/** The fields of a tool that the answer depends on. */
export type AnsweringTool = Pick<ListedTool, 'output_schema'>;

export interface ToolCall {
  readonly place: Place;
  readonly tool: ListedTool;
  readonly arguments: Record<string, unknown>;
  /** Trace context of the client; anything other than a W3C trace context counts as none. */
  readonly traceparent: unknown;
}

/** The client that waits. */
export interface Waiter {
  /** Aborts when it cancels the call or its connection is lost. */
  readonly signal: AbortSignal;
  /** Meaning of an abort with this reason for the call. */
  readonly departure: (reason: unknown) => Departure;
  /** How long it waits at most; Infinity: until the end. */
  readonly patienceMs: number;
  /** null: it does not want any. */
  readonly relay: ProgressRelay | null;
  /** null: it cannot be asked anything. */
  readonly listener: QuestionListener | null;
}

/** Limit of the wait within a submission; further waits follow. */
const LONGEST_FIRST_WAIT_MS = 45_000;
/** A client that can be asked follows the log of what takes longer. */
const UNHEARD_MS = 200;

/** A tool that may be repeated is, after a passing failure; the directive never repeats another one. */
export const RETRIES = {
  max_retries: 2,
  retry_backoff_ms: 500,
  backoff: 'exponential',
  jitter: 0.2,
} as const;

/** The lane's timeout limits an attempt: this must not end a slow one before. As long as a client's seal is good. */
const DEADLINE_MS = 24 * 60 * 60_000;

/** null: the call goes on, and the client has to come back. */
export async function submitCall(
  parts: CallParts,
  call: ToolCall,
  waiter: Waiter,
): Promise<CallToolResult | null> {
  return attended(parts, call.place, waiter, async () => {
    const endsAt = performance.now() + waiter.patienceMs;
    const submission = await unlessAborted(submitted(parts, call, waiter), waiter.signal);
    if ('content' in submission) return submission;
    const end = endOf(submission);
    const ending = { place: call.place, tool: async () => call.tool };
    const rest = { ...waiter, patienceMs: Math.max(0, endsAt - performance.now()) };
    return whenAccepted(call.place, { signal: waiter.signal, onError: parts.onError }, async () =>
      end === null ? watched(parts, ending, rest) : answered(parts.client, end, call.place, call.tool),
    );
  });
}

/** A call that was accepted, and what its answer depends on: asked for at its end, the catalog may be away before. */
export interface AcceptedCall {
  readonly place: Place;
  readonly tool: () => Promise<AnsweringTool>;
}

/** As `submitCall`, for a client that comes back. */
export async function rejoinCall(
  parts: CallParts,
  call: AcceptedCall,
  waiter: Waiter,
): Promise<CallToolResult | null> {
  return attended(parts, call.place, waiter, async () =>
    whenAccepted(call.place, { signal: waiter.signal, onError: parts.onError }, async () =>
      watched(parts, call, waiter),
    ),
  );
}

/** Who wants progress follows the call as soon as it is accepted. */
async function submitted(
  { client, stop }: CallParts,
  call: ToolCall,
  { relay, listener, patienceMs }: Waiter,
): Promise<Submission | CallToolResult> {
  const longest = listener === null ? LONGEST_FIRST_WAIT_MS : UNHEARD_MS;
  const waiting = relay === null ? { waitMs: Math.min(patienceMs, longest) } : {};
  try {
    return await client.submit(directiveOf(call), { signal: stop, ...waiting, ...traceOf(call.traceparent) });
  } catch (error) {
    return refusedCall(error, call.place);
  }
}

export async function attended<Answer>(
  { departures }: CallParts,
  place: Place,
  { signal, departure }: Pick<Waiter, 'signal' | 'departure'>,
  work: () => Promise<Answer>,
): Promise<Answer> {
  const leave = departures.join(place);
  let how: Departure = 'done';
  try {
    return await work();
  } catch (error) {
    if (signal.aborted) how = departure(signal.reason);
    if (how === 'lost' && isOfRun(place)) how = 'done';
    throw error;
  } finally {
    leave(how);
  }
}

/** How long the answer waits for progress that the log holds before it. Milliseconds. */
const LAST_PROGRESS_MS = 2_000;

async function watched(
  { client }: CallParts,
  { place, tool }: AcceptedCall,
  { signal, relay, listener, patienceMs: forMs }: Waiter,
): Promise<CallToolResult | null> {
  const over = new AbortController();
  const isFollowed = relay !== null || listener !== null;
  const followed = isFollowed ? followCall(client, place, { relay, listener }, over.signal) : null;
  try {
    const end = await awaitEnd(client, place, { forMs, signal, enough: listener?.enough ?? null });
    if (end === null) return null;
    // The log is read apart from the end, and no progress may follow the answer.
    const tooLong = wait(LAST_PROGRESS_MS, undefined, { signal: over.signal }).catch(() => {});
    if (relay !== null) await Promise.race([followed, tooLong]);
    return await answered(client, end, place, await tool());
  } finally {
    over.abort();
  }
}

function directiveOf({ place, tool, arguments: args }: ToolCall): SubmittedDirective {
  return {
    type: 'tool_exec',
    request_id: place.requestId,
    id: place.id,
    tool_name: tool.tool,
    server: tool.server,
    arguments: args,
    deadline_ms: DEADLINE_MS,
    ...(tool.effect === 'once' ? {} : RETRIES),
  };
}

/** The whole answer, also where the signal holds the beginning of it. */
export async function answered(
  client: DirectiveClient,
  end: TerminalSignal,
  place: Place,
  tool: AnsweringTool,
): Promise<CallToolResult> {
  if (end.type === 'ai.request.error') throw new Error(end.data.message);
  const { result, metadata } = end.data;
  const isCut = typeof metadata['result_truncated_bytes'] === 'number';
  if (!result.ok || !isCut) return answerOf(result as Result, tool, place);
  try {
    const payload = await client.payload(place.requestId, place.id);
    return answerOf({ ...result, payload }, tool, place);
  } catch (error) {
    if (!(error instanceof DirectiveRefused)) throw error;
    return failure(errorEnvelope('invalid_result', 'The whole answer is not kept any more'));
  }
}

/** Anything else than a W3C trace context counts as none. */
export function traceOf(value: unknown): { traceparent?: string } {
  return typeof value === 'string' && TRACEPARENT_PATTERN.test(value) ? { traceparent: value } : {};
}

/** The work goes on: only the wait for it ends. */
export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  work.catch(() => {});
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
