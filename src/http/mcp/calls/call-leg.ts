/** One request of a client for a call: submitted or rejoined, waited for, and what the client leaves with.
 *  It must never hold state of a call: a client may come back to another process. */
import {
  type CallToolResult,
  inputRequired,
  type InputRequiredResult,
  SdkError,
  SdkErrorCode,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { rejoinRun, submitRun } from './agent-call.ts';
import {
  type AskedOnLeg,
  broughtAnswers,
  type LegQuestions,
  legQuestions,
  NOTICES_META,
} from './asked-leg.ts';
import { type Patience, runningResult } from './await-call.ts';
import type { CallParams, Subject } from './call-subject.ts';
import { createDialogs, type Dialogs } from '../questions/dialogs.ts';
import { calledTool } from '../questions/elicitation.ts';
import type { HeldCall, Seals } from './held-call.ts';
import type { AnswerParts } from '../questions/host-answers.ts';
import { modernHost, sessionHost, traceparentOf } from '../host.ts';
import type { Offer } from '../offered-tools.ts';
import { createProgressRelay } from './progress-relay.ts';
import { invalidParams } from '../refusal.ts';
import { createdTask, knowsTasks, TASK_AFTER_MS, type TaskParts } from './tasks.ts';
import type { Place } from './tool-answer.ts';
import { type AcceptedCall, type CallParts, rejoinCall, submitCall, type Waiter } from './tool-call.ts';

export interface LegParts extends CallParts, AnswerParts, TaskParts {
  readonly seals: Seals;
  readonly heartbeatMs: number;
  readonly holdMs: number;
  /** null: every host waits until the end. */
  readonly patience: Patience | null;
}

export type Left = CallToolResult | InputRequiredResult;

/** It is repeated with every sign of progress. */
const MAX_TOKEN_CHARACTERS = 255;
const PING_MS = 5_000;
/** Longer than any question is open: its end is in the log. */
const LONGEST_QUESTION_MS = 2 ** 31 - 1;

export interface Asking {
  readonly subject: Subject;
  readonly params: CallParams;
  readonly context: ServerContext;
}

/** The leg of a stateless client: it comes back for longer work, or gets a task. */
export async function modernLeg(parts: LegParts, asking: Asking): Promise<Left> {
  const { subject, context } = asking;
  const { place, name, held } = subject;
  const host = modernHost(context);
  // What is accepted can be sealed: nothing is submitted whose client could not come back.
  await parts.seals.ready();
  const given = { responses: context.mcpReq.inputResponses ?? {}, by: host.by };
  const brought = await broughtAnswers(parts, place, subject.asked, given);
  const leg = legQuestions(host, calledTool(place, name), brought);
  const handleMs = parts.patience?.of(held.server) ?? null;
  const patienceMs = knowsTasks(context) ? TASK_AFTER_MS : Math.min(parts.holdMs, handleMs ?? Infinity);
  using relay = relayFor(context, parts.heartbeatMs);
  const result = await waited(parts, asking, { relay, patienceMs, listener: leg.listener });
  if (result !== null) return noticed(result, brought.notices);
  const { passed, unfit } = brought;
  const call = { ...held, ...place, asked: { keys: {}, passed, unfit } };
  const isHandled = handleMs !== null && leg.asked() === null && !knowsTasks(context);
  const left = isHandled ? runningResult(parts, call, patienceMs) : leftWith(parts, context, call, leg);
  return noticed(await left, brought.notices);
}

async function leftWith(
  { seals, ...parts }: LegParts,
  context: ServerContext,
  call: HeldCall & { asked: AskedOnLeg },
  leg: LegQuestions,
): Promise<Left> {
  const asked = leg.asked();
  if (asked !== null) {
    const { keys, inputRequests } = asked;
    const requestState = await seals.seal({ ...call, asked: { ...call.asked, keys } });
    return inputRequired({ inputRequests, requestState });
  }
  const { asked: _, ...open } = call;
  if (knowsTasks(context)) return (await createdTask({ seals, ...parts }, open)) as InputRequiredResult;
  return inputRequired({ requestState: await seals.seal(call) });
}

function noticed(left: Left, notices: readonly string[]): Left {
  return notices.length === 0 ? left : { ...left, _meta: { ...left._meta, [NOTICES_META]: notices } };
}

/** The leg of a client with a session: it is held until the end or its patience, and answers questions meanwhile. */
export async function sessionLeg(parts: LegParts, server: Server, asking: Asking): Promise<Left> {
  const notices: string[] = [];
  using relay = relayFor(asking.context, parts.heartbeatMs);
  using dialogs = dialogsFor(parts, server, asking, (text) => {
    notices.push(text);
    relay?.say(text);
  });
  const { subject } = asking;
  const patienceMs = parts.patience?.of(subject.held.server) ?? Infinity;
  // The same as above: a call that outlives this patience is sealed.
  if (Number.isFinite(patienceMs)) await parts.seals.ready();
  const wait = { relay, patienceMs, listener: dialogs.listener };
  let result = await waited(parts, asking, wait);
  // A question that the host shows must not vanish from it: the person is about to answer.
  while (result === null && dialogs.isAsking())
    result = await waited(parts, { ...asking, subject: { ...subject, offer: null } }, wait);
  const call = { ...subject.held, ...subject.place };
  return noticed(result ?? (await runningResult(parts, call, patienceMs)), notices);
}

function dialogsFor(
  parts: LegParts,
  server: Server,
  { subject, context }: Asking,
  notice: (text: string) => void,
): Dialogs {
  const { client, questions, stop, onError } = parts;
  const { signal, send } = context.mcpReq;
  const { place, name } = subject;
  return createDialogs({
    client,
    questions,
    place,
    host: sessionHost(server),
    tool: calledTool(place, name),
    notice,
    onError,
    end: AbortSignal.any([stop, signal]),
    send: async (params, over) => {
      // Clients of the SDK 1.x ignore the cancel of a request whose id is 0: the first one of a session.
      await send({ method: 'ping' }, { signal: over, timeout: PING_MS }).catch(() => {});
      return send({ method: 'elicitation/create', params }, { signal: over, timeout: LONGEST_QUESTION_MS });
    },
  });
}

type Wait = Pick<Waiter, 'relay' | 'patienceMs' | 'listener'>;

/** null: the call goes on, and the client leaves. */
async function waited(
  parts: LegParts,
  { subject, params, context }: Asking,
  wait: Wait,
): Promise<CallToolResult | null> {
  const { place, offer } = subject;
  const departure = subject.isAwaited === true ? () => 'done' as const : departureOf;
  const waiter: Waiter = { ...wait, signal: context.mcpReq.signal, departure };
  return offer === null
    ? rejoin(parts, subject, waiter)
    : submit(
        parts,
        offer,
        { place, params, traceparent: traceparentOf(context) ?? subject.traceparent },
        waiter,
      );
}

interface NewCall {
  readonly place: Place;
  readonly params: CallParams;
  readonly traceparent: unknown;
}

async function submit(
  parts: CallParts,
  offer: Offer,
  { place, params: { arguments: args = {} }, traceparent }: NewCall,
  waiter: Waiter,
): Promise<CallToolResult | null> {
  if (offer.server !== null)
    return submitCall(parts, { place, tool: offer, arguments: args, traceparent }, waiter);
  const { query, ...others } = args;
  if (typeof query !== 'string' || query === '' || Object.keys(others).length > 0)
    throw invalidParams('The only argument is query, a text that is not empty');
  return submitRun(parts, { place, agent: offer.tool, query, traceparent }, waiter);
}

async function rejoin(parts: CallParts, call: AcceptedCall, waiter: Waiter) {
  return call.place.id === '' ? rejoinRun(parts, call.place, waiter) : rejoinCall(parts, call, waiter);
}

function relayFor({ mcpReq }: ServerContext, heartbeatMs: number) {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return null;
  if (String(progressToken).length > MAX_TOKEN_CHARACTERS)
    throw invalidParams(`A progressToken has at most ${MAX_TOKEN_CHARACTERS} characters`);
  return createProgressRelay(
    async (progress) =>
      mcpReq.notify({ method: 'notifications/progress', params: { progressToken, ...progress } }),
    heartbeatMs,
  );
}

/** The SDK aborts with this when a connection ends, and with the client's reason when it cancels. */
function departureOf(reason: unknown): 'lost' | 'cancelled' {
  return reason instanceof SdkError && reason.code === SdkErrorCode.ConnectionClosed ? 'lost' : 'cancelled';
}
