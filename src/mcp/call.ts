/** One tool call from request to outcome: check, send, send again if the server did not accept it, check the result.
 *  It must never send a request twice that a server may have accepted, and never throw. */
import { type Holds, whileItHolds } from '../platform/bounds/while-it-holds.ts';
import { type ErrorEnvelope, errorEnvelope } from '../contract/error-envelope.ts';
import { fieldSentence } from '../contract/json/field-error.ts';
import { isObject } from '../contract/json/json-object.ts';
import type { SchemaFault } from '../platform/json-schema/schema-checks.ts';
import { type CallDeadline, startCallDeadline } from './call-deadline.ts';
import { type AskingCall, declinedPage, goOn, pagesRequired, resumed } from './questions/call-input.ts';
import { endedCall, failedOnSession } from './call-failure.ts';
import { checkedResult } from './call-result.ts';
import { closeNames } from '../platform/bounds/close-names.ts';
import type { Semaphore } from '../platform/bounds/semaphore.ts';
import type { Connection } from './connection.ts';
import type { OAuthOptions } from './server-options.ts';
import type { CallListeners, CallParams, Session } from './session.ts';
import { askedTask, createdTask, resumedTask } from './tasks/task-call.ts';
import type { RawToolResult, ToolCallOutcome, ToolCallRequest, ToolProgress } from './tools/tool-call.ts';
import type { ListedTool, ToolList } from './tools/tool-list.ts';

type Failed = Extract<ToolCallOutcome, { kind: 'failed' }>;

interface Call extends AskingCall {
  readonly connection: Connection;
  readonly grant: OAuthOptions['grant'] | undefined;
  readonly slots: Semaphore;
  /** Fires when the call has ended: it needs no answer to a question any more. */
  readonly over: AbortSignal;
  announced: boolean;
  /** It is a task, whose questions name it: another call may ask beside it. */
  isAside: boolean;
}

export interface CallTools {
  readonly connection: Connection;
  /** How many calls may be on the server's wire at once. */
  readonly slots: Semaphore;
  /** The calls that the pool ends when it stops. */
  readonly active: Set<CallDeadline>;
  /** How the service gets tokens for the server. Default: it gets none. */
  readonly grant?: OAuthOptions['grant'] | undefined;
}

const IDEMPOTENCY_KEY = 'adjutant/idempotencyKey';
const CONTEXT = 'adjutant/context';
/** Made once: without a reason each abort makes an exception with its stack, which was 3 % of what a worker spends on a call. */
const OVER = new Error('the call has ended');

export async function callTool(tools: CallTools, request: ToolCallRequest): Promise<ToolCallOutcome> {
  const { connection, slots, active, grant } = tools;
  const deadline = startCallDeadline(request);
  active.add(deadline);
  const params = paramsOf(request);
  const over = new AbortController();
  const known = { request, connection, grant, deadline, params, slots, over: over.signal };
  const call: Call = { ...known, begun: false, announced: false, isAside: false };
  const { task = null } = request;
  try {
    const refusal = task === null ? await refusalBeforeConnecting(call) : null;
    if (refusal !== null) return refusal;
    if (!(await takeSlot(call))) return task === null ? notSent(call) : notAsked(call);
    try {
      const { onQuestion, onSampling } = questionListeners(call);
      if (task !== null) {
        setAside(call);
        return await resumedTask({ ...call, onQuestion, onSampling }, task);
      }
      const outcome = await sendUntilTaken(call);
      return call.begun && outcome.kind === 'failed' ? { ...outcome, sent: true } : outcome;
    } finally {
      slots.release(call.isAside);
    }
  } finally {
    active.delete(deadline);
    over.abort(OVER);
    deadline.dispose();
  }
}

/** Behind a call that waits for a person, perhaps for days: its own idle time does not begin before it is its turn. */
async function takeSlot({ slots, deadline, request }: Call): Promise<boolean> {
  if (slots.tryTake()) return true;
  if (!slots.isNarrow()) return slots.take(deadline.signal);
  request.onProgress?.({
    progress: 0,
    message: 'waits behind another call: the server asks people, and gets one call at a time',
  });
  deadline.pause();
  return slots.take(deadline.signal).finally(() => deadline.resume());
}

function setAside(call: Call): void {
  call.slots.setAside();
  call.isAside = true;
}

function paramsOf(request: ToolCallRequest): CallParams {
  const { traceparent, idempotencyKey, context, resume } = request;
  return {
    name: request.tool,
    arguments: request.arguments,
    _meta: {
      traceparent,
      [IDEMPOTENCY_KEY]: idempotencyKey,
      ...(context ? { [CONTEXT]: context } : {}),
    },
    ...(resume === undefined ? {} : resumed(resume)),
  };
}

/** A wrong call is refused at once, also while its server is away. */
async function refusalBeforeConnecting(call: Call): Promise<Failed | null> {
  if (call.deadline.ending() !== null) return notSent(call);
  const list = call.connection.tools();
  if (list === null) return null;
  const refusal = await refusalOf(call, list);
  if (refusal === null) return null;
  // The tool may be one that was just announced, or the server another one than it was.
  const late = AbortSignal.timeout(LIST_AGAIN_MS);
  await readOrAborted(call.connection.toolsDoubted(), AbortSignal.any([call.deadline.signal, late]));
  if (call.deadline.ending() !== null) return notSent(call);
  const newer = call.connection.tools();
  return newer === null || newer === list ? refusal : refusalOf(call, newer);
}

/** How long a call that would be refused waits for another reading of the tools. Milliseconds. */
const LIST_AGAIN_MS = 5_000;

async function readOrAborted(read: Promise<void>, signal: AbortSignal): Promise<void> {
  const aborted = Promise.withResolvers<void>();
  const onAbort = (): void => aborted.resolve();
  signal.addEventListener('abort', onAbort, { once: true });
  await Promise.race([read, aborted.promise]);
  signal.removeEventListener('abort', onAbort);
}

/** A server that has not started by then is progress of the call. Milliseconds. */
const SLOW_START_MS = 2_000;

/** As `waitForSession`. The caller of a server that is being downloaded reads why nothing happens. */
async function startedSession({ connection, deadline, request }: Call): Promise<Session | null> {
  const slow = setTimeout(() => {
    const reason = connection.startingReason();
    if (reason !== null) request.onProgress?.({ progress: 0, message: `waits for its server: ${reason}` });
  }, SLOW_START_MS);
  return connection.waitForSession(deadline.signal, request).finally(() => clearTimeout(slow));
}

async function sendUntilTaken(call: Call): Promise<ToolCallOutcome> {
  const { connection, deadline } = call;
  for (let isRepeat = false; ; isRepeat = true) {
    const session = connection.session() ?? (await startedSession(call));
    const list = connection.tools();
    if (session === null || list === null || deadline.ending() !== null) return notSent(call);
    const tool = list.find(call.request.tool);
    const refusal = tool === undefined || isRepeat || !call.announced ? await refusalOf(call, list) : null;
    if (tool === undefined || refusal !== null || deadline.ending() !== null) return refusal ?? notSent(call);
    const holds = await mayBegin(call);
    // @guard flow-last-look
    if (holds === null || deadline.ending() !== null) return notSent(call);
    const asked = holds === undefined ? null : noted(holds);
    const outcome = await whileItHolds(asked?.holds, async () => exchange(call, session, tool));
    if (outcome.kind === 'failed' && asked?.isHeldBack()) return { ...outcome, sent: false };
    if (outcome.kind !== 'refused') return outcome;
    connection.giveUp(session, outcome.failed.error.message);
    if (isRepeat) return outcome.failed;
  }
}

/** Redis may be away meanwhile: the idle time of the call does not begin before it may be sent. */
async function mayBegin({ deadline, request }: Call): Promise<Holds | null | undefined> {
  if (request.mayBegin === undefined) return undefined;
  deadline.pause();
  return request.mayBegin().finally(() => deadline.resume());
}

/** Records whether a held message was never written: then it has not reached the server. */
function noted(holds: Holds): { holds: Holds; isHeldBack: () => boolean } {
  let isHeldBack = false;
  return { holds: () => !(isHeldBack = !holds()), isHeldBack: () => isHeldBack };
}

type Exchange = ToolCallOutcome | { readonly kind: 'refused'; readonly failed: Failed };

async function exchange(call: Call, session: Session, tool: ListedTool): Promise<Exchange> {
  const { request, deadline } = call;
  const declined = session.era === 'legacy' ? declinedPage(request) : null;
  if (declined !== null) return declined;
  const gate = createProgressGate((progress) => request.onProgress?.(progress));
  if (!call.announced) request.onSent?.(session.described());
  call.announced = true;
  try {
    const onProgress = (progress: ToolProgress): void => {
      deadline.touch();
      gate.offer(progress);
    };
    const listeners = { onProgress, ...questionListeners(call) } as CallListeners;
    for (;;) {
      const params = { ...call.params, ...askedTask(session, tool, request) };
      const answer = await session.call(params, deadline.signal, listeners);
      if (answer.kind !== 'asks') gate.close();
      if (answer.kind === 'task') {
        const { onQuestion, onSampling } = listeners;
        setAside(call);
        return await createdTask({ ...call, onQuestion, onSampling }, session, answer.task);
      }
      if (answer.kind === 'result' && isAboutItsTool(answer.result)) void call.connection.toolsDoubted();
      if (answer.kind === 'result') return await checkedResult(call, tool, answer.result);
      const outcome = await goOn(call, answer.required);
      if (outcome !== null) return outcome;
    }
  } catch (error) {
    gate.close();
    const ending = deadline.ending();
    if (ending === 'timed_out' || ending === 'total_timed_out') session.doubt();
    if (ending !== null) return { kind: 'failed', error: endedCall(ending, request), sent: true };
    const pages = session.era === 'legacy' ? pagesRequired(request, error) : null;
    if (pages !== null) return pages;
    const failure = await failedOnSession(error, session, { server: request.server, grant: call.grant });
    if (isAboutTools(failure.error)) void call.connection.toolsDoubted();
    const failed: Failed = { kind: 'failed', error: failure.error, sent: failure.sent };
    return failure.refused ? { kind: 'refused', failed } : failed;
  }
}

/** The server knows another list of tools than this process. The call is not repeated: another tool may have its name. */
function isAboutTools({ type }: ErrorEnvelope): boolean {
  return type === 'unknown_tool' || type === 'validation_error';
}

const ABOUT_TOOL = /unknown tool|\btool\b[^]{0,200}\bnot found|-32602/i;

/** The same as the text of a result, as the frameworks of servers write it. */
function isAboutItsTool({ isError, content = [] }: RawToolResult): boolean {
  if (isError !== true) return false;
  const [first] = content;
  return isObject(first) && typeof first['text'] === 'string' && ABOUT_TOOL.test(first['text'].slice(0, 500));
}

/** From its first question on a legacy server has one call at a time: its questions do not name their call. */
function questionListeners(call: Call): Pick<CallListeners, 'onQuestion' | 'onSampling' | 'onAsked'> {
  const { request, slots } = call;
  const { onQuestion, onSampling } = request;
  if (onQuestion === undefined && onSampling === undefined) return {};
  return {
    onAsked: () => slots.narrow(),
    ...(onQuestion === undefined ? {} : { onQuestion: paused(call, onQuestion) }),
    ...(onSampling === undefined ? {} : { onSampling: paused(call, onSampling) }),
  };
}

/** Pauses the idle time of the call while an answer is awaited. */
function paused<Asked, Answer>(
  { deadline, over }: Call,
  answer: (asked: Asked, withdrawn: AbortSignal) => Promise<Answer>,
): (asked: Asked, withdrawn: AbortSignal) => Promise<Answer> {
  return async (asked, withdrawn) => {
    deadline.pause();
    try {
      return await answer(asked, AbortSignal.any([withdrawn, deadline.signal, over]));
    } finally {
      deadline.resume();
    }
  };
}

/** null: the server has this tool, and the arguments fit it. */
async function refusalOf(call: Call, list: ToolList): Promise<Failed | null> {
  const { server, tool: name } = call.request;
  const tool = list.find(name);
  if (tool === undefined) {
    const names = list.definitions.map((definition) => definition.name);
    const details = { server, tool: name, close_names: closeNames(name, names) };
    const reason = list.leftOut(name);
    if (reason !== null) {
      const message = `The tool "${name}" of the MCP server "${server}" is left out: it ${reason}`;
      return unsent('unknown_tool', message, { ...details, reason });
    }
    return unsent('unknown_tool', `The MCP server "${server}" has no tool "${name}"`, details);
  }
  const { deadline, request } = call;
  const { tenant } = request;
  const options = { tenant, signal: deadline.signal, mayBeRefused: true };
  const verdict = await tool.input.check(request.arguments, 'arguments', options);
  switch (verdict.kind) {
    case 'faults': {
      const { faults: errors } = verdict;
      return unsent('validation_error', messageOf(errors), { server, tool: name, errors });
    }
    case 'unchecked':
      return deadline.ending() === null ? uncheckedArguments(call, verdict.reason) : notSent(call);
    case 'refused':
      return unsent('rate_limited', `The arguments were not checked: ${verdict.reason}`, {
        server,
        tool: name,
      });
    // An unusable schema refuses nothing: the server checks for itself.
    case 'passed':
    case 'unusable':
      return null;
  }
}

function uncheckedArguments({ request: { server, tool } }: Call, reason: string): Failed {
  const message = `The arguments could not be checked against the input schema of the tool: ${reason}`;
  return unsent('validation_error', message, { server, tool, reason });
}

function messageOf(errors: readonly SchemaFault[]): string {
  const [first] = errors;
  const more = errors.length > 1 ? ` (and ${errors.length - 1} more)` : '';
  return first === undefined ? 'The arguments are not valid' : `${fieldSentence(first)}${more}`;
}

function unsent(type: string, message: string, details: Record<string, unknown>): Failed {
  return { kind: 'failed', error: errorEnvelope(type, message, details), sent: false };
}

/** The call ended while it waited for a connection or a slot. */
function notSent({ request, connection, deadline }: Call): Failed {
  const ending = deadline.ending();
  const { server } = request;
  const fault = connection.fault();
  const isAway = connection.session() === null;
  if (ending === 'cancelled' || (ending !== null && !isAway)) {
    return { kind: 'failed', error: endedCall(ending, request), sent: false };
  }
  const reason = connection.awayReason();
  const message = `The MCP server "${server}" is not available: ${reason}`;
  return unsent(fault?.type ?? 'network', message, { server, reason });
}

/** The same for a call that goes on as a task: its end was not requested, which the next attempt does. */
function notAsked(call: Call): ToolCallOutcome {
  return { ...notSent(call), task: { end: 'kept', polls: 0 } };
}

const BURST = 50;
const PER_SECOND = 20;

interface ProgressGate {
  offer(progress: ToolProgress): void;
  /** Passes on the note that is held back; nothing passes afterwards. */
  close(): void;
}

export function createProgressGate(
  pass: (progress: ToolProgress) => void,
  now: () => number = () => performance.now(),
): ProgressGate {
  let tokens = BURST;
  let refilledAt = now();
  let held: ToolProgress | null = null;
  let open = true;
  return {
    offer(progress) {
      if (!open) return;
      const time = now();
      tokens = Math.min(BURST, tokens + ((time - refilledAt) * PER_SECOND) / 1_000);
      refilledAt = time;
      held = progress;
      if (tokens < 1) return;
      tokens -= 1;
      held = null;
      pass(progress);
    },
    close() {
      open = false;
      if (held !== null) pass(held);
      held = null;
    },
  };
}
