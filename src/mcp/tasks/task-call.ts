/** A call that its server has made a task of: written down first, then waited for, then read like any other result.
 *  It must never call a tool, nor report an unknown outcome of a task as a failure. */
import { isCallToolResult, ProtocolError } from '@modelcontextprotocol/client';
import { type ErrorEnvelope, errorEnvelope } from '../../contract/error-envelope.ts';
import { isObject } from '../../contract/json/json-object.ts';
import { contentExcess } from '../transport/answer-guard.ts';
import { endedCall, failedCall } from '../call-failure.ts';
import { checkedResult, type CheckedCall } from '../call-result.ts';
import type { Connection } from '../connection.ts';
import { elicitResult, readInputRequired } from '../questions/questions.ts';
import { readMessage } from '../transport/read-message.ts';
import { sampledResponses } from '../questions/sampled-responses.ts';
import type { OnSampling } from '../questions/sampling.ts';
import type { CallParams, OnQuestion, Session } from '../session.ts';
import { decodeTask, encodeTask, type TaskReport } from './task.ts';
import { taskEnd, type TaskEnd, type TaskWait } from './task-wait.ts';
import type { RawToolResult, TaskUse, ToolCallOutcome, ToolCallRequest } from '../tools/tool-call.ts';
import type { ListedTool } from '../tools/tool-list.ts';

export interface TaskCall extends CheckedCall {
  readonly connection: Connection;
  /** Answers the questions that a server of the older protocol asks while it holds a result back. */
  readonly onQuestion?: OnQuestion | undefined;
  /** The same of what it asks models. */
  readonly onSampling?: OnSampling | undefined;
  announced: boolean;
}

type Ended = TaskUse['end'];

const NO_ERROR = { code: -32_603, message: 'The task has failed', data: undefined };

/** How long a server is asked to keep a task beyond the call's own time: so that another worker still finds its end. Milliseconds. */
const KEPT_AFTERWARDS_MS = 60_000;

/**
 * In the older protocol the client decides. A task of a process dies with it, so that it is of use only over HTTP, if the
 * tool does not insist on it.
 */
export function askedTask(
  session: Session,
  { tasks }: ListedTool,
  { maxTotalMs }: ToolCallRequest,
): Pick<CallParams, 'task'> {
  const isOfUse = tasks === 'required' || (tasks === 'optional' && session.transportKind !== 'stdio');
  return session.makesTasks && isOfUse ? { task: { ttl: Math.ceil(maxTotalMs) + KEPT_AFTERWARDS_MS } } : {};
}

/** `report` null: a task that cannot be asked for. */
export async function createdTask(
  call: TaskCall,
  session: Session,
  report: TaskReport | null,
): Promise<ToolCallOutcome> {
  const { server, tool } = call.request;
  if (report === null) {
    const message = 'The MCP server answered with a task that names no id or status that can be used';
    return failed(errorEnvelope('invalid_result', message, { server, tool }), 'lost', 0);
  }
  const { id, createdAt } = report;
  const task = { id, createdAt, begunAt: Date.now(), endpoint: call.request.endpoint ?? null };
  call.deadline.hold();
  // A task of a process dies with it, and the next process may give its id to another one.
  const only = session.transportKind === 'stdio' ? session : null;
  const isKept = only === null && (await kept(call, encodeTask(task)));
  return outcomeOf(call, { task, report, knowing: session, only, isKept });
}

/** A task that is not written down is waited for all the same: only the death of this process loses it. */
async function kept({ request }: TaskCall, task: string): Promise<boolean> {
  return (await request.keepTask?.(task).catch(() => false)) ?? false;
}

/** `text`: as an earlier attempt wrote it down. */
export async function resumedTask(call: TaskCall, text: string): Promise<ToolCallOutcome> {
  const task = decodeTask(text);
  if (task === null) return forgotten(call, 'it was written down in a form that this version cannot read', 0);
  // Its id may be all that protects its result, and means another task or none at another server.
  if (task.endpoint !== (call.request.endpoint ?? null))
    return forgotten(
      call,
      'the server was at another place when the call was made, and is not asked here',
      0,
    );
  call.deadline.hold();
  return outcomeOf(call, { task, report: null, knowing: null, only: null, isKept: true });
}

interface Awaited extends Pick<TaskWait, 'task' | 'report' | 'knowing'> {
  readonly only: Session | null;
  /** The next attempt can ask for it. */
  readonly isKept: boolean;
}

async function outcomeOf(call: TaskCall, { isKept, only, ...asked }: Awaited): Promise<ToolCallOutcome> {
  const { request, connection, deadline } = call;
  let progress = 0;
  const goesOn = (): boolean =>
    deadline.ending() === 'stopped' || (deadline.ending() === 'cancelled' && request.goesOn?.() === true);
  const { end, polls } = await taskEnd({
    ...asked,
    server: {
      name: request.server,
      connection,
      only,
      onQuestion: call.onQuestion,
      onSampling: call.onSampling,
    },
    deadline,
    goesOn,
    onMessage: (message) => request.onProgress?.({ progress: ++progress, message }),
    onAnswered: (session) => announce(call, session),
    onQuestions: (inputRequests) => answersTo(call, inputRequests),
  });
  const lost = 'isTold' in end && !end.isTold && isKept ? 'left' : 'lost';
  if (end.kind === 'asks') return failed(notOffered(call, lost), lost, polls);
  if (end.kind !== 'stopped') return outcomeOfEnd(call, end, polls);
  return failed(endedError(call), isKept && goesOn() ? 'kept' : lost, polls);
}

function notOffered({ request: { server } }: TaskCall, end: Ended): ErrorEnvelope {
  const became = end === 'left' ? 'is still to be cancelled' : 'was cancelled';
  const message = `The tool asks for something that this client does not support; its task ${became}`;
  return errorEnvelope('executor', message, { server });
}

/** The worker holds the task while a person is asked; if it dies, the next one asks again. Null: no one can answer. */
async function answersTo(
  { request, deadline }: TaskCall,
  inputRequests: unknown,
): Promise<Readonly<Record<string, unknown>> | null> {
  const { onQuestion } = request;
  const read = readInputRequired({ inputRequests });
  if (!read.ok) return null;
  const { questions, samplings } = read.value;
  if (questions.length + samplings.length === 0) return null;
  if (questions.length > 0 && onQuestion === undefined) return null;
  const sampled = await sampledResponses({ request, deadline }, samplings);
  if (!sampled.ok) return null;
  const answers: [string, unknown][] = Object.entries(sampled.given);
  for (const { key, question } of questions)
    if (onQuestion !== undefined)
      answers.push([key, elicitResult(await onQuestion(question, deadline.signal))]);
  return Object.fromEntries(answers);
}

function announce(call: TaskCall, session: Session): void {
  if (!call.announced) call.request.onSent?.(session.described());
  call.announced = true;
}

async function outcomeOfEnd(
  call: TaskCall,
  end: Exclude<TaskEnd, { kind: 'stopped' | 'asks' }>,
  polls: number,
): Promise<ToolCallOutcome> {
  switch (end.kind) {
    case 'over':
      return { ...(await outcomeOfReport(call, end.report)), task: { end: 'ended', polls } };
    case 'refused':
      return failed(end.error, 'ended', polls);
    case 'forgotten':
      return forgotten(call, end.reason, polls);
  }
}

async function outcomeOfReport(call: TaskCall, report: TaskReport): Promise<ToolCallOutcome> {
  if (report.status === 'completed') return outcomeOfResult(call, report.result);
  const isCancelled = report.status === 'cancelled';
  const error = isCancelled ? endedError(call, report.message) : protocolError(call, report.error);
  return failed(error, 'ended', 0);
}

/** It has not passed the checks that an answer to a call passes on its way. */
async function outcomeOfResult(call: TaskCall, given: unknown): Promise<ToolCallOutcome> {
  const { server, tool } = call.request;
  const answer = readMessage({ jsonrpc: '2.0', id: 0, result: given });
  const result = answer !== null && 'result' in answer ? answer.result : null;
  const excess = result === null ? 'holds no result' : contentExcess(result);
  if (result !== null && excess === null && isCallToolResult(result)) {
    const listed = call.connection.tools()?.find(tool) ?? null;
    return checkedResult(call, listed, result as RawToolResult);
  }
  const message = `The completed task of the MCP server ${excess ?? 'holds a result that does not follow the protocol'}`;
  return failed(errorEnvelope('invalid_result', message, { server, tool }), 'ended', 0);
}

/** The JSON-RPC error of a task that has failed. */
function protocolError({ request: { server } }: TaskCall, given: unknown): ErrorEnvelope {
  const answer = readMessage({ jsonrpc: '2.0', id: 0, error: isObject(given) ? given : {} });
  const { code, message, data } = answer !== null && 'error' in answer ? answer.error : NO_ERROR;
  return failedCall(new ProtocolError(code, message, data), { server, holdsSessionId: false }).error;
}

/** Ended by this side, or cancelled by the server itself. */
function endedError({ request, deadline }: TaskCall, message: string | null = null): ErrorEnvelope {
  const ending = deadline.ending();
  if (ending !== null) return endedCall(ending, request);
  const details = { server: request.server, ...(message === null ? {} : { status_message: message }) };
  return errorEnvelope('tool_error', 'The MCP server has cancelled the task', details);
}

function forgotten({ request: { server } }: TaskCall, reason: string, polls: number): ToolCallOutcome {
  const message = `The MCP server can no longer say how the task of the call ended: ${reason}`;
  const error = errorEnvelope('network', message, { server });
  return failed(error, 'forgotten', polls);
}

function failed(error: ErrorEnvelope, end: Ended, polls: number): ToolCallOutcome {
  return { kind: 'failed', error, sent: true, task: { end, polls } };
}
