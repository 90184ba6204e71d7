/** Calls as tasks of the extension `io.modelcontextprotocol/tasks`: any connection may fetch one later, by its sealed id.
 *  It must never keep a task itself: the journal does. */
import {
  type CallToolResult,
  ProtocolError,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import * as z from 'zod';
import { isObject } from '../../../contract/json/json-object.ts';
import type { DirectiveView } from '../../../contract/request/request-view.ts';
import type { ListedTool } from '../../../contract/tool/tool-listing.ts';
import { TERMINAL_RUN_STATUSES } from '../../../contract/run/run.ts';
import { isTerminalSignal } from '../../../contract/signal/signal.ts';
import { ableToShow, MOST_UNFIT, NOTICES_META, notTaken, requestsOf, shownTo } from './asked-leg.ts';
import { cancelPlace, runAnswer, waitsForApproval } from './agent-call.ts';
import { calledTool } from '../questions/elicitation.ts';
import type { HeldCall, Seals } from './held-call.ts';
import { type AnswerParts, recordAnswer } from '../questions/host-answers.ts';
import { canAsk, declaredBy, modernHost } from '../host.ts';
import { guarded, invalidParams } from '../refusal.ts';
import { asksPerson } from '../questions/question-feed.ts';
import { answered } from './tool-call.ts';
import { type GivenParts, noteGiven } from './run-call.ts';

export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

/** A client that declares tasks gets one when its call has not ended by then. */
export const TASK_AFTER_MS = 1_000;

const POLL_MS = 1_000;
/** Maximum number of answers in one `tasks/update`. */
const MOST_ANSWERS = 64;
const MAX_ECHO_CHARACTERS = 200;
const MISSING_CAPABILITY = -32_021;
const ANY_RESULT = z.looseObject({});
const TASK_PARAMS = z.looseObject({ taskId: z.string().max(4_096) });

export interface TaskParts extends AnswerParts, GivenParts {
  readonly seals: Seals;
}

type TaskStatus = 'working' | 'completed' | 'cancelled';

/** Whether this request says that its client knows tasks. */
export function knowsTasks(context: ServerContext): boolean {
  const capabilities = declaredBy(context);
  const extensions = isObject(capabilities) ? capabilities['extensions'] : undefined;
  return isObject(extensions) && isObject(extensions[TASKS_EXTENSION]);
}

/** In place of the result of a call. */
export async function createdTask(parts: TaskParts, call: HeldCall): Promise<object> {
  const taskId = await parts.seals.seal(call);
  const view = await taskView(parts, call).catch(begun);
  return { resultType: 'task', ...taskOf(taskId, view) };
}

/** The call is accepted and its client must learn its id, whatever cannot be read of it at this moment. */
function begun(): TaskView {
  const now = new Date().toISOString();
  return {
    status: 'working',
    asks: false,
    createdAt: now,
    updatedAt: now,
    deadlineAt: null,
    answer: null,
    outputSchema: undefined,
  };
}

export function serveTasks(server: Server, parts: TaskParts): void {
  const schemas = { params: TASK_PARAMS, result: ANY_RESULT };
  server.setRequestHandler(
    'tasks/get',
    schemas,
    guarded(parts, async ({ taskId }, context) => {
      const call = await opened(parts, taskId, context);
      const view = await taskView(parts, call);
      const task = { ...taskOf(taskId, view), ...(view.asks ? await askedBy(parts, call, context) : {}) };
      if (task.status !== 'completed' || view.answer === null) return task;
      const result = server.projectCallToolResult(await view.answer(), view.outputSchema);
      await noteGiven(parts, call, context);
      return { ...task, result };
    }),
  );
  server.setRequestHandler(
    'tasks/update',
    schemas,
    guarded(parts, async ({ taskId }, context) => {
      const call = await opened(parts, taskId, context);
      await taskView(parts, call);
      return updated(parts, call, context);
    }),
  );
  server.setRequestHandler(
    'tasks/cancel',
    schemas,
    guarded(parts, async ({ taskId }, context) => {
      const call = await opened(parts, taskId, context);
      await cancelPlace(parts.client, call, 'the MCP client cancelled the task');
      return {};
    }),
  );
}

async function opened({ seals }: TaskParts, taskId: string, context: ServerContext): Promise<HeldCall> {
  if (!knowsTasks(context))
    throw new ProtocolError(MISSING_CAPABILITY, `The client does not declare ${TASKS_EXTENSION}`, {
      requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } },
    });
  const call = await seals.open(taskId, context);
  if (call === null) throw unknownTask();
  return call;
}

/** The questions to its client; none where the client cannot ask a person. */
async function askedBy({ questions }: TaskParts, call: HeldCall, context: ServerContext): Promise<object> {
  const host = modernHost(context);
  if (!canAsk(host)) return {};
  const open = (await questions.read(call)).open();
  const shown = shownTo(host, open, { tool: calledTool(call, call.tool) });
  // The names are good for as long as the task is there: those of a tool may come twice.
  if (shown.length === 0) return {};
  return { status: 'input_required', inputRequests: requestsOf(shown, 'ref').inputRequests };
}

/** An answer to a question that is not open, or that this client cannot show, is not taken, and said so, as the extension has it no error. */
async function updated(
  parts: TaskParts,
  call: HeldCall,
  context: ServerContext,
): Promise<Record<string, unknown>> {
  const responses = Object.entries(context.mcpReq.inputResponses ?? {});
  if (responses.length > MOST_ANSWERS) throw invalidParams(`At most ${MOST_ANSWERS} answers at once`);
  const host = modernHost(context);
  // Whole: an answer to what is long over is told who was first.
  const asked = await parts.questions.read(call, { whole: true });
  const shown = new Set(
    ableToShow(host, asked.open(), { tool: calledTool(call, call.tool) }).map(({ question }) => question.ref),
  );
  const notices: string[] = [];
  const faults: string[] = [];
  for (const [ref, result] of responses) {
    // What is over takes no answer, and says who was first; the same answer again is the same.
    if (!shown.has(ref) && asked.endOf(ref) === null) {
      notices.push(notTaken(ref.slice(0, MAX_ECHO_CHARACTERS), 'this call does not ask that'));
      continue;
    }
    if (faults.length >= MOST_UNFIT) break;
    const recorded = await recordAnswer(parts, call, { ref, result, by: host.by });
    if (recorded.kind === 'unfit') faults.push(`${ref}: ${recorded.why}`);
    if (recorded.kind === 'refused') notices.push(notTaken(ref, recorded.why));
  }
  if (faults.length > 0) throw invalidParams(`An answer does not fit: ${faults.join('; ')}`);
  return notices.length === 0 ? {} : { _meta: { [NOTICES_META]: notices } };
}

/** The fields of a task that shows a directive or a run. */
interface TaskView {
  readonly status: TaskStatus;
  readonly createdAt: string;
  readonly updatedAt: string;
  /** Its wait, if that is known. */
  readonly statusMessage?: string | undefined;
  /** Whether it waits for a person. */
  readonly asks: boolean;
  /** When it is given up, if that is known. */
  readonly deadlineAt: string | null;
  /** null: it has not ended. */
  readonly answer: (() => Promise<CallToolResult>) | null;
  readonly outputSchema: Readonly<Record<string, unknown>> | undefined;
}

async function taskView(parts: TaskParts, call: HeldCall): Promise<TaskView> {
  const view = await callView(parts, call);
  if (view === null) throw unknownTask();
  return view;
}

/** null: the call is not kept, or was never accepted. */
export async function callView(parts: TaskParts, call: HeldCall): Promise<TaskView | null> {
  return call.id === '' ? runView(parts, call) : directiveView(parts, call);
}

async function directiveView({ client, tools }: TaskParts, call: HeldCall): Promise<TaskView | null> {
  const view = await client.directive(call.requestId, call.id);
  if (view === null) return null;
  const { result: end, accepted_at, started_at, ended_at, deadline_at } = view;
  const offer = await tools.find(call.tool);
  const tool: Pick<ListedTool, 'output_schema'> = offer === undefined || offer.server === null ? {} : offer;
  return {
    status: statusOf(view),
    asks: view.inputs !== undefined,
    statusMessage: view.inputs === undefined ? view.waiting?.message : asksPerson(call.requestId),
    createdAt: accepted_at,
    updatedAt: ended_at ?? started_at ?? accepted_at,
    deadlineAt: deadline_at,
    answer: end && isTerminalSignal(end) ? async () => answered(client, end, call, tool) : null,
    outputSchema: tool.output_schema,
  };
}

async function runView({ client }: TaskParts, call: HeldCall): Promise<TaskView | null> {
  const view = await client.request(call.requestId);
  if (view?.run === undefined) return null;
  const { run, created_at: createdAt } = view;
  const hasEnded = TERMINAL_RUN_STATUSES.has(run.status as never);
  const asked = run.waiting_for.find(({ kind }) => kind === 'approval' || kind === 'budget');
  const isToolAsking = view.directives.some(({ inputs }) => inputs !== undefined);
  return {
    statusMessage: asked
      ? waitsForApproval(call.requestId, asked.id, asked.name ?? asked.id)
      : isToolAsking
        ? asksPerson(call.requestId)
        : undefined,
    asks: !hasEnded && (asked !== undefined || isToolAsking),
    status: !hasEnded ? 'working' : run.status === 'cancelled' ? 'cancelled' : 'completed',
    createdAt,
    updatedAt: run.ended_at ?? run.started_at ?? createdAt,
    deadlineAt: run.deadline_at,
    answer: hasEnded ? async () => runAnswer(run, call) : null,
    outputSchema: undefined,
  };
}

/** Forgotten, expired and invented ids have one answer: a client cannot find out which. */
function unknownTask() {
  return invalidParams('Unknown task');
}

function taskOf(taskId: string, view: TaskView) {
  const { status, statusMessage, createdAt, updatedAt, deadlineAt } = view;
  const message = statusMessage === undefined ? {} : { statusMessage };
  const ttlMs = deadlineAt === null ? null : Math.max(0, Date.parse(deadlineAt) - Date.parse(createdAt));
  return { taskId, status, ...message, createdAt, lastUpdatedAt: updatedAt, ttlMs, pollIntervalMs: POLL_MS };
}

function statusOf({ result }: DirectiveView): TaskStatus {
  if (result === null || !('result' in result.data)) return 'working';
  const { result: end } = result.data as { result: { ok: boolean; error?: { type: string } } };
  return end.error?.type === 'cancelled' ? 'cancelled' : 'completed';
}
