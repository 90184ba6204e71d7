/** Calls as tasks of the extension `io.modelcontextprotocol/tasks`: any connection may fetch one later, by its sealed id.
 *  It must never keep a task itself: the journal does. */
import { ProtocolError, type Server, type ServerContext } from '@modelcontextprotocol/server';
import * as z from 'zod';
import type { DirectiveClient } from '../contract/directive-client.ts';
import { isObject } from '../contract/json-object.ts';
import type { DirectiveView } from '../contract/request-view.ts';
import { isTerminalSignal } from '../contract/signal.ts';
import type { ListedTool } from '../contract/tool-listing.ts';
import type { HeldCall, Seals } from './held-call.ts';
import { invalidParams, whileAvailable } from './refusal.ts';
import { answered } from './tool-call.ts';
import type { ToolSource } from './tool-source.ts';

export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';

/** A client that declares tasks gets one when its call has not ended by then. */
export const TASK_AFTER_MS = 1_000;

const POLL_MS = 1_000;
const MISSING_CAPABILITY = -32_021;
const CAPABILITIES_META = 'io.modelcontextprotocol/clientCapabilities';
const ANY_RESULT = z.looseObject({});
const TASK_PARAMS = z.looseObject({ taskId: z.string().max(4_096) });

export interface TaskParts {
  readonly client: DirectiveClient;
  readonly seals: Seals;
  readonly tools: ToolSource;
}

type TaskStatus = 'working' | 'completed' | 'cancelled';

/** Whether this request says that its client knows tasks. */
export function knowsTasks({ mcpReq }: ServerContext): boolean {
  const capabilities = (mcpReq.envelope as Readonly<Record<string, unknown>> | undefined)?.[
    CAPABILITIES_META
  ];
  const extensions = isObject(capabilities) ? capabilities['extensions'] : undefined;
  return isObject(extensions) && isObject(extensions[TASKS_EXTENSION]);
}

/** In place of the result of a call. */
export async function createdTask({ client, seals }: TaskParts, call: HeldCall): Promise<object> {
  const view = await viewOf(client, call);
  return { resultType: 'task', ...taskOf(await seals.seal(call), view) };
}

export function serveTasks(server: Server, parts: TaskParts): void {
  const schemas = { params: TASK_PARAMS, result: ANY_RESULT };
  server.setRequestHandler('tasks/get', schemas, async ({ taskId }, context) =>
    whileAvailable(async () => {
      const call = await opened(parts, taskId, context);
      const view = await viewOf(parts.client, call);
      const task = taskOf(taskId, view);
      const { result: end } = view;
      if (end === null || !isTerminalSignal(end) || task.status !== 'completed') return task;
      const tool: Pick<ListedTool, 'output_schema'> = (await parts.tools.find(call.tool)) ?? {};
      const result = server.projectCallToolResult(
        await answered(parts.client, end, call, tool),
        tool.output_schema,
      );
      return { ...task, result };
    }),
  );
  server.setRequestHandler('tasks/cancel', schemas, async ({ taskId }, context) =>
    whileAvailable(async () => {
      const { requestId, id } = await opened(parts, taskId, context);
      await parts.client.cancel(requestId, id, { reason: 'the MCP client cancelled the task' });
      return {};
    }),
  );
}

async function opened({ seals }: TaskParts, taskId: string, context: ServerContext): Promise<HeldCall> {
  if (!knowsTasks(context))
    throw new ProtocolError(MISSING_CAPABILITY, `The client does not declare ${TASKS_EXTENSION}`, {
      requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } },
    });
  try {
    return await seals.open(taskId, context);
  } catch {
    throw unknownTask();
  }
}

async function viewOf(client: DirectiveClient, { requestId, id }: HeldCall): Promise<DirectiveView> {
  const view = await client.directive(requestId, id);
  if (view === null) throw unknownTask();
  return view;
}

/** Forgotten, expired and made up are one: nobody may find out which. */
function unknownTask() {
  return invalidParams('Unknown task');
}

function taskOf(taskId: string, view: DirectiveView) {
  const { accepted_at, started_at, ended_at, deadline_at } = view;
  return {
    taskId,
    status: statusOf(view),
    createdAt: accepted_at,
    lastUpdatedAt: ended_at ?? started_at ?? accepted_at,
    ttlMs: Math.max(0, Date.parse(deadline_at) - Date.parse(accepted_at)),
    pollIntervalMs: POLL_MS,
  };
}

function statusOf({ result }: DirectiveView): TaskStatus {
  if (result === null || !('result' in result.data)) return 'working';
  const { result: end } = result.data as { result: { ok: boolean; error?: { type: string } } };
  return end.error?.type === 'cancelled' ? 'cancelled' : 'completed';
}
