/** One call of an agent: a run is started, its steps are its progress, its end is the answer.
 *  It must never decide an approval: a run that waits for one waits for a person, here or at its host. */
import { setTimeout as wait } from 'node:timers/promises';
import type { CallToolResult } from '@modelcontextprotocol/server';
import type { DirectiveClient } from '../../../contract/directive/directive-client.ts';
import { errorEnvelope, normalizeError } from '../../../contract/error-envelope.ts';
import { ServiceUnavailable } from '../../../contract/problem.ts';
import { errorResult, okResult } from '../../../contract/result.ts';
import type { RunView } from '../../../contract/run/run.ts';
import type { Signal } from '../../../contract/signal/signal.ts';
import type { ProgressRelay } from './progress-relay.ts';
import {
  asksPerson,
  heardSignals,
  type Hearing,
  questionFeed,
  untilText,
} from '../questions/question-feed.ts';
import { refusedCall, whenAccepted } from '../refusal.ts';
import { answerOf, type Place } from './tool-answer.ts';
import { attended, type CallParts, traceOf, unlessAborted, type Waiter } from './tool-call.ts';

export interface AgentCall {
  readonly place: Place;
  readonly agent: string;
  readonly query: string;
  /** As of a tool call. */
  readonly traceparent: unknown;
}

const AGAIN_MS = 1_000;

/** null: the run goes on, and the client has to come back. */
export async function submitRun(
  parts: CallParts,
  call: AgentCall,
  waiter: Waiter,
): Promise<CallToolResult | null> {
  return attended(parts, call.place, waiter, async () => {
    const refusal = await unlessAborted(started(parts, call), waiter.signal);
    return refusal ?? acceptedRun(parts, call.place, waiter);
  });
}

export async function rejoinRun(
  parts: CallParts,
  place: Place,
  waiter: Waiter,
): Promise<CallToolResult | null> {
  return attended(parts, place, waiter, async () => acceptedRun(parts, place, waiter));
}

async function acceptedRun({ client, onError }: CallParts, place: Place, waiter: Waiter) {
  return whenAccepted(place, { signal: waiter.signal, onError }, async () => endOfRun(client, place, waiter));
}

/** A directive, or with an empty id the whole request of a run. */
export async function cancelPlace(
  client: DirectiveClient,
  { requestId, id }: Place,
  reason: string,
): Promise<void> {
  await client.cancel(requestId, id === '' ? undefined : id, { reason });
}

export function runAnswer({ status, result, error }: RunView, place: Place): CallToolResult {
  return status === 'completed' ? answerOf(okResult(result), {}, place) : failedRun(error, place);
}

function failedRun(error: unknown, place: Place): CallToolResult {
  return answerOf(errorResult(normalizeError(error)), {}, place);
}

async function started(
  { client }: CallParts,
  { place, agent, query, traceparent }: AgentCall,
): Promise<CallToolResult | null> {
  try {
    await client.runs.start({ request_id: place.requestId, agent, query }, traceOf(traceparent));
    return null;
  } catch (error) {
    return refusedCall(error, place);
  }
}

async function endOfRun(
  client: DirectiveClient,
  place: Place,
  { signal, patienceMs, relay, listener }: Waiter,
): Promise<CallToolResult | null> {
  const late = new AbortController();
  const timer = Number.isFinite(patienceMs) ? setTimeout(() => late.abort(), patienceMs) : undefined;
  const over = AbortSignal.any([late.signal, ...(listener?.enough ? [listener.enough] : [])]);
  const either = AbortSignal.any([signal, over]);
  try {
    for (;;) {
      const answer = await followed(client, place, either, { relay, listener });
      signal.throwIfAborted();
      if (answer !== null || over.aborted) return answer;
      await wait(AGAIN_MS, undefined, { signal: either }).catch(() => {});
    }
  } finally {
    clearTimeout(timer);
  }
}

/** null: its log could not be followed to the end. */
async function followed(
  client: DirectiveClient,
  place: Place,
  signal: AbortSignal,
  { relay, listener }: Hearing,
): Promise<CallToolResult | null> {
  using feed = questionFeed(listener);
  let steps = 0;
  try {
    for await (const event of heardSignals(client, place, feed, signal)) {
      const answer = endedBy(event, place);
      if (answer !== null) return answer;
      if (relay !== null && reported(event, place, steps + 1, relay)) steps += 1;
    }
  } catch (error) {
    if (!signal.aborted && !(error instanceof ServiceUnavailable)) throw error;
    return null;
  }
  const unended = errorEnvelope('internal_error', 'The run was closed without an end');
  return signal.aborted ? null : answerOf(errorResult(unended), {}, place);
}

/** The message about an event for the person who watches; false: none. */
function reported(event: Signal, { requestId }: Place, step: number, relay: ProgressRelay): boolean {
  const { type, data } = event;
  if (type === 'ai.tool.started') relay.report({ progress: step, message: `calls ${data.tool_name}` });
  else if (type === 'ai.tool.input_requested') relay.say(asksPerson(requestId, data.deadline_at), step);
  else if (type === 'ai.tool.approval_requested')
    relay.say(waitsForApproval(requestId, data.call_id, data.tool_name, data.deadline_at), step);
  else {
    if (type === 'ai.tool.approval_decided' || type === 'ai.tool.input_answered') relay.resume();
    return false;
  }
  return true;
}

/** With the command that ends the wait: the host may not be able to ask. */
export function waitsForApproval(
  requestId: string,
  callId: string,
  what: string,
  deadlineAt?: string,
): string {
  return `waits for an approval of ${what}${untilText(deadlineAt)}: adjutant approve ${requestId} ${callId}`;
}

function endedBy({ type, data }: Signal, place: Place): CallToolResult | null {
  if (type === 'ai.request.completed') return answerOf(okResult(data.result), {}, place);
  return type === 'ai.request.failed' ? failedRun(data.error, place) : null;
}
