/** The end of a task in the older protocol: a request of its own, which the server holds back until then, and asks meanwhile.
 *  It must never be all that a call waits for: a connection that is cut loses the request, and not the task. */
import { isCallToolResult, ProtocolError } from '@modelcontextprotocol/client';
import { isObject } from '../../contract/json/json-object.ts';
import { ANSWER_REFUSED } from '../transport/message-delivery.ts';
import { NO_TIMEOUT_MS, type OnQuestion, type Session } from '../session.ts';
import type { OnSampling } from '../questions/sampling.ts';
import type { TaskRef, TaskReport } from './task.ts';

/** A request for the result that the server holds back. */
export interface HeldResult {
  /** null: there is none to be had in this way. */
  readonly result: Promise<unknown>;
}

interface Held {
  readonly session: Session;
  readonly task: TaskRef;
  readonly signal: AbortSignal;
  readonly onQuestion: OnQuestion | undefined;
  readonly onSampling: OnSampling | undefined;
}

export function holdResult({ session, task, signal, onQuestion, onSampling }: Held): HeldResult {
  const request = { method: 'tasks/result', taskId: task.id, timeoutMs: NO_TIMEOUT_MS } as const;
  const answer = session.task({ ...request, signal, onQuestion, onSampling });
  return {
    // What is no result may be a server's way to say that it does not wait: it is asked for the status then.
    result: answer.then(
      (result) => (isCallToolResult(result) ? result : null),
      () => null,
    ),
  };
}

/** Interprets a report of the older protocol. Rejects as the question for the result does. */
export async function olderReport(
  session: Session,
  report: TaskReport,
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<TaskReport> {
  const { status } = report;
  const known = { ...report, result: undefined, error: undefined, inputRequests: undefined };
  // Its questions come by themselves, to whoever waits for the result.
  if (status === 'working' || status === 'input_required') return { ...known, status: 'working' };
  if (status === 'cancelled') return known;
  const request = { method: 'tasks/result', taskId: report.id, timeoutMs, signal } as const;
  try {
    return { ...known, status: 'completed', result: await session.task(request) };
  } catch (error) {
    if (status === 'completed' || !isAnswer(error)) throw error;
    return { ...known, error: failureIn(error, report.message) };
  }
}

function isAnswer(error: unknown): error is ProtocolError {
  return error instanceof ProtocolError && error.code !== ANSWER_REFUSED;
}

const ABOUT_THE_TASK: ReadonlySet<number> = new Set([-32_602, -32_603]);

/** Some servers keep no error of a failed task, and say so in an error about the question. */
function failureIn({ code, message, data }: ProtocolError, said: string | null): Record<string, unknown> {
  if (said !== null && ABOUT_THE_TASK.has(code)) return { code: -32_603, message: said };
  return isObject(data) ? { code, message, data } : { code, message };
}
