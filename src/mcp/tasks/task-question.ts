/** One question about a task to its server, and what its answer means.
 *  It must never take silence for an end: only the server knows how a task ended. */
import { ProtocolError, ProtocolErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import type { ErrorEnvelope } from '../../contract/error-envelope.ts';
import { isObject } from '../../contract/json/json-object.ts';
import { type FailedCall, failedOnSession } from '../call-failure.ts';
import { describe } from '../connect-fault.ts';
import type { Connection } from '../connection.ts';
import { ANSWER_REFUSED } from '../transport/message-delivery.ts';
import { errorCodeIn } from '../transport/read-message.ts';
import type { OnQuestion, Session } from '../session.ts';
import type { OnSampling } from '../questions/sampling.ts';
import { decodeTask, isAbout, readTask, type TaskRef, type TaskReport, type Withdrawal } from './task.ts';
import { holdResult, type HeldResult, olderReport } from './task-result.ts';

/** Where a task can be asked for. */
export interface TaskServer {
  readonly name: string;
  readonly connection: Connection;
  /** The only session that knows it, since a task of a process dies with it; null: any. */
  readonly only: Session | null;
  /** Answers questions of a server of the older protocol before its result. Default: none. */
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
  if (session === null) return unreached(server);
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
    const failed = await failedQuestion(server, session, error);
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

/** Never rejects. A server that has forgotten the session is asked by the next call of this, over a new one. */
export async function cancelTask(
  server: TaskServer,
  task: TaskRef,
  signal: AbortSignal,
): Promise<Withdrawal> {
  const session = await sessionOf(server, signal);
  if (session === null) return unreached(server);
  const request = { method: 'tasks/cancel', taskId: task.id, timeoutMs: ANSWER_MS, signal } as const;
  return session.task(request).then(
    () => ({ kind: 'cancelled' }) as const,
    (error: unknown) => notCancelled(server, session, error),
  );
}

/** `text`: as it was written down. */
export async function withdrawnTask(server: TaskServer, text: string, endpoint: string): Promise<Withdrawal> {
  const task = decodeTask(text);
  // A worker of a later version reads it.
  if (task === null) return { kind: 'away', reason: 'this version cannot read what was written down' };
  // At another place its id means another task, or none.
  if (task.endpoint !== endpoint)
    return { kind: 'moot', reason: 'its server was at another place, and is not asked here' };
  return cancelTask(server, task, AbortSignal.timeout(2 * CONNECT_MS));
}

async function notCancelled(server: TaskServer, session: Session, error: unknown): Promise<Withdrawal> {
  const code = isOwnAnswer(error, session) ? codeOf(error) : null;
  if (code === ProtocolErrorCode.InvalidParams)
    return { kind: 'moot', reason: 'its server does not know it, or has ended it' };
  if (code === ProtocolErrorCode.MethodNotFound)
    return { kind: 'moot', reason: 'its server cancels no tasks' };
  const { error: envelope, refused } = await failureOf(server, session, error);
  if (refused) server.connection.giveUp(session, envelope.message);
  return { kind: 'away', reason: describe(error) };
}

/** Not of a gateway before it, nor about its session: in the older protocol that is what HTTP 404 means. */
function isOwnAnswer(error: unknown, { era }: Session): boolean {
  if (!(error instanceof SdkHttpError)) return true;
  return error.status === 400 || (error.status === 404 && era === 'modern');
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

function unreached({ connection }: TaskServer): { kind: 'away'; reason: string } {
  return { kind: 'away', reason: connection.awayReason() };
}

async function failureOf(
  { name: server }: TaskServer,
  session: Session,
  error: unknown,
): Promise<FailedCall> {
  return failedOnSession(error, session, { server });
}

async function failedQuestion(server: TaskServer, session: Session, error: unknown): Promise<TaskAnswer> {
  const { connection, only } = server;
  const code = codeOf(error);
  const { error: envelope, refused } = await failureOf(server, session, error);
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

/** Code of the JSON-RPC error, which an HTTP refusal may hold. */
function codeOf(error: unknown): number | null {
  if (error instanceof ProtocolError) return error.code;
  const text = error instanceof SdkHttpError ? error.data['text'] : undefined;
  return typeof text === 'string' ? errorCodeIn(text) : null;
}
