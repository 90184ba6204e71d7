/** One question about a task to its server, and what its answer means.
 *  It must never take silence for an end: only the server knows how a task ended. */
import { ProtocolError, ProtocolErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import type { ErrorEnvelope } from '../contract/error-envelope.ts';
import { isObject } from '../contract/json-object.ts';
import { failedCall } from './call-failure.ts';
import { describe } from './connect-fault.ts';
import type { Connection } from './connection.ts';
import { ANSWER_REFUSED } from './message-delivery.ts';
import { errorCodeIn } from './read-message.ts';
import type { OnQuestion, Session } from './session.ts';
import type { OnSampling } from './sampling.ts';
import { decodeTask, isAbout, readTask, type TaskRef, type TaskReport } from './task.ts';
import { holdResult, type HeldResult, olderReport } from './task-result.ts';

/** Where a task can be asked for. */
export interface TaskServer {
  readonly name: string;
  readonly connection: Connection;
  /** The only session that knows it, since a task of a process dies with it; null: any. */
  readonly only: Session | null;
  /** Answers what a server of the older protocol asks while it holds a result back. Default: nobody does. */
  readonly onQuestion?: OnQuestion | undefined;
  readonly onSampling?: OnSampling | undefined;
}

export type TaskAnswer =
  | { readonly kind: 'report'; readonly report: TaskReport; readonly session: Session }
  /** It has ended, but its end cannot be taken. */
  | { readonly kind: 'refused'; readonly error: ErrorEnvelope }
  | { readonly kind: 'forgotten'; readonly reason: string }
  /** Another question may help. */
  | { readonly kind: 'away'; readonly reason: string };

/** How long a server may take to answer, and how long a connection to it is waited for. Milliseconds. */
const ANSWER_MS = 15_000;
const CONNECT_MS = 5_000;

/** `early`: what the server has said without being asked. It counts unless the server knows another task by this id now. */
export async function askTask(
  server: TaskServer,
  task: TaskRef,
  signal: AbortSignal,
  early: TaskReport | null = null,
): Promise<TaskAnswer> {
  const session = await sessionOf(server, signal);
  if (session === null) {
    const reason = server.connection.fault()?.message ?? 'it is not ready';
    return { kind: 'away', reason };
  }
  try {
    const request = { method: 'tasks/get', taskId: task.id, timeoutMs: ANSWER_MS, signal } as const;
    const answer = await session.task(request);
    const report = readTask(isObject(answer) ? { taskId: task.id, ...answer } : null);
    if (report !== null && isAbout(task, report)) {
      const asking = { timeoutMs: ANSWER_MS, signal };
      const isOlder = early === null && session.era === 'legacy';
      const said = isOlder ? await olderReport(session, report, asking) : (early ?? report);
      return { kind: 'report', report: said, session };
    }
    const what = report === null ? 'something that is not a task' : 'another task';
    return { kind: 'forgotten', reason: `it answered with ${what}` };
  } catch (error) {
    const failed = failedQuestion(server, session, error);
    // A server may forget a task as soon as its result is fetched.
    return failed.kind === 'forgotten' && early !== null
      ? { kind: 'report', report: early, session }
      : failed;
  }
}

/** `knowing`: the session that has just reported the task: in another one the id may be a stranger's.
 *  null: the server is away, or says how a task ended without being asked for it. */
export function heldResult(
  server: TaskServer,
  task: TaskRef,
  knowing: Session | null,
  signal: AbortSignal,
): HeldResult | null {
  const session = server.only ?? server.connection.session();
  if (session === null || session !== knowing || session.era === 'modern') return null;
  return holdResult({ session, task, signal, onQuestion: server.onQuestion, onSampling: server.onSampling });
}

/** Asks the server to cancel it. Whether it does so, only another question tells. */
export async function cancelTask(server: TaskServer, task: TaskRef, timeoutMs: number): Promise<void> {
  const session = server.only ?? server.connection.session();
  await session?.task({ method: 'tasks/cancel', taskId: task.id, timeoutMs }).catch(() => {});
}

/** `text`: as it was written down. False: the server has not answered, and may be asked again. */
export async function withdrawnTask(server: TaskServer, text: string, endpoint: string): Promise<boolean> {
  const task = decodeTask(text);
  // At another place its id means another task, or none.
  if (task === null || task.endpoint !== endpoint) return true;
  const session = await sessionOf(server, AbortSignal.timeout(CONNECT_MS));
  if (session === null) return false;
  const request = { method: 'tasks/cancel', taskId: task.id, timeoutMs: CONNECT_MS } as const;
  return session.task(request).then(
    () => true,
    (error: unknown) => codeOf(error) !== null,
  );
}

/** Whether the server has the answers. Sent twice they count once: it ignores what it does not wait for. */
export async function answerTask(
  server: TaskServer,
  task: TaskRef,
  inputResponses: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<boolean> {
  const session = await sessionOf(server, signal);
  if (session === null) return false;
  const request = { method: 'tasks/update', taskId: task.id, more: { inputResponses } } as const;
  return session.task({ ...request, timeoutMs: ANSWER_MS, signal }).then(
    () => true,
    () => false,
  );
}

async function sessionOf({ connection, only }: TaskServer, signal: AbortSignal): Promise<Session | null> {
  if (only !== null) return only;
  const within = AbortSignal.any([signal, AbortSignal.timeout(CONNECT_MS)]);
  return connection.session() ?? connection.waitForSession(within);
}

function failedQuestion(
  { name, connection, only }: TaskServer,
  session: Session,
  error: unknown,
): TaskAnswer {
  const code = codeOf(error);
  const { error: envelope, refused } = failedCall(error, {
    server: name,
    holdsSessionId: session.holdsSessionId(),
  });
  if (code === ANSWER_REFUSED) return { kind: 'refused', error: envelope };
  if (code === ProtocolErrorCode.InvalidParams)
    return { kind: 'forgotten', reason: 'it does not know the task' };
  if (code === ProtocolErrorCode.MethodNotFound)
    return { kind: 'forgotten', reason: 'it does not answer questions about tasks' };
  if (only !== null && only !== connection.session())
    return { kind: 'forgotten', reason: 'its process has ended' };
  if (refused) connection.giveUp(session, envelope.message);
  return { kind: 'away', reason: describe(error) };
}

/** Of the JSON-RPC error, which an HTTP refusal may hold. */
function codeOf(error: unknown): number | null {
  if (error instanceof ProtocolError) return error.code;
  const text = error instanceof SdkHttpError ? error.data['text'] : undefined;
  return typeof text === 'string' ? errorCodeIn(text) : null;
}
